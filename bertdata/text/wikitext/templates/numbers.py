"""Number formats by language: the thousands separator and the decimal sign.

>>> format_number("30031.5", "de"), parse_number("30.031,5", "de")
('30.031,5', '30031.5')
"""

import re

# The thousands separator and the decimal sign of each language, from MediaWiki; all others: 1,234.5.
_POINT_COMMA = """
    ast az bs ca da de el eu fo gl hr id is jv lmo mk nap nds nl pt-br ro scn sh sl sr su tr vec vi
"""
_SPACE_COMMA = """
    be be-tarask bg br cs eo es et fi fr hu hy io it ka kk la lt ltg lv nb nn no oc pl pt ru sk sv uk
"""
_SIGNS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(_POINT_COMMA.split(), (".", ",")),
    **dict.fromkeys(_SPACE_COMMA.split(), ("\u00a0", ",")),
}
_PERSIAN = str.maketrans("0123456789,.", "۰۱۲۳۴۵۶۷۸۹٬٫")
_LATIN = str.maketrans("۰۱۲۳۴۵۶۷۸۹٬٫", "0123456789,.")
# Languages that do not group four-digit numbers.
_FROM_FIVE_DIGITS = frozenset(["bg", "es", "hu", "ka", "lv", "pl", "pt"])
_NUMBER = re.compile(r"([-−]?)(\d+)(?:\.(\d+))?")


def format_number(number: str, language: str) -> str:
    """Format ``number`` like ``{{formatnum:}}`` in ``language``; return anything that is not a number unchanged.

    >>> format_number("1234567.891", "en"), format_number("1234", "es"), format_number("1234", "fa"), format_number("many", "en")
    ('1,234,567.891', '1234', '۱٬۲۳۴', 'many')
    """
    match = _NUMBER.fullmatch(number)
    if match is None:
        return number
    sign, whole, part = match.groups()
    separator, point = _SIGNS.get(language, (",", "."))
    if len(whole) > 4 or language not in _FROM_FIVE_DIGITS:
        whole = _group(whole, separator)
    shown = sign + whole + (point + part if part else "")
    return shown.translate(_PERSIAN) if language == "fa" else shown


def parse_number(number: str, language: str) -> str:
    """Return ``number`` without separators and with a decimal point: ``{{formatnum:…|R}}``.

    >>> parse_number("1,234.5", "en")
    '1234.5'
    """
    separator, point = _SIGNS.get(language, (",", "."))
    number = number.translate(_LATIN) if language == "fa" else number
    return number.replace(separator, "").replace(point, ".").replace("−", "-")


def _group(digits: str, separator: str) -> str:
    """Put ``separator`` between groups of three digits.

    >>> _group("1234567", ".")
    '1.234.567'
    """
    first = len(digits) % 3
    groups = [digits[start : start + 3] for start in range(first, len(digits), 3)]
    return separator.join([digits[:first], *groups] if first else groups)
