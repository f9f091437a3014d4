"""Numbers and dates in a wiki's language; a format that depends on today's date is not supported.

>>> format_number("30031.5", "de"), parse_number("30.031,5", "de")
('30.031,5', '30031.5')

>>> format_date("j F Y", "2012-03-05 14:30", "en"), format_date("d.m.y", "March 5, 2012", "de")
('5 March 2012', '05.03.12')
"""

import re
from datetime import date
from pathlib import Path

from ....config import read_toml

_TABLES = read_toml(Path(__file__).with_name("formats.toml"))
_MONTHS: list[str] = _TABLES["alone"]["en"].split()
_NAME = "(?P<name>" + "|".join(rf"{month[:3]}(?:{month[3:]})?" for month in _MONTHS) + r")\.?"
_YEAR, _DAY = r"(?P<year>[0-9]{4})", r"(?P<day>[0-9]{1,2})"
_TIME = r"(?:[ T,]+[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?(?:Z|UTC))?)?"  # which is not shown
_DATES = [
    re.compile(form + _TIME, re.IGNORECASE)
    for form in (
        rf"{_YEAR}-(?P<month>[0-9]{{1,2}})(?:-{_DAY})?",
        rf"{_YEAR}(?P<month>[0-9]{{2}})(?P<day>[0-9]{{2}})",
        rf"(?:{_DAY} )?{_NAME},? {_YEAR}",
        rf"{_NAME} {_DAY},? {_YEAR}",
        rf"{_YEAR} {_NAME}(?: {_DAY})?",
    )
]
_FIELD = re.compile(r'"([^"]*)"|\\(.)|x[a-z]+|.', re.DOTALL)
# The letters of dates, as those of `strftime`; the names of days and short names of months are English.
_LETTERS = {"y": "%y", "m": "%m", "d": "%d"}
_ENGLISH = {"M": "%b", "l": "%A", "D": "%a"}
_MAX_CHARACTERS = 100  # of a format or a date

_ORDERS: dict[str, str] = _TABLES["orders"]
# The names of the months by language: alone, and in a date.
_NAMES_OF: dict[str, tuple[list[str], list[str]]] = {"simple": (_MONTHS, _MONTHS)}
_NAMES_OF |= {code: ([form.format(month) for month in range(1, 13)],) * 2 for code, form in _TABLES["numbered"].items()}
_NAMES_OF |= {code: (months.split(), _TABLES["dated"].get(code, months).split()) for code, months in _TABLES["alone"].items()}
_SIGNS: dict[str, list[str]] = {code: row["signs"] for row in _TABLES["numbers"] for code in row["languages"].split()}
_PERSIAN = str.maketrans("0123456789,.", "۰۱۲۳۴۵۶۷۸۹٬٫")
_LATIN = str.maketrans("۰۱۲۳۴۵۶۷۸۹٬٫", "0123456789,.")
_NUMBER = re.compile(r"([-−]?)(\d+)(?:\.(\d+))?")


def write_date(year: str, month: str, day: str, language: str) -> str:
    """Write the given parts of a date in the usual order of a language; the month may be a number or a name."""
    names = _NAMES_OF.get(language, ([], []))[bool(day)]
    if month.isdecimal() and 1 <= int(month[:4]) <= len(names):
        month = names[int(month[:4]) - 1]
    day = day.lstrip("0") if day.isdecimal() else day
    if language in ("en", "simple"):
        return ", ".join(filter(None, (f"{month} {day}", year))) if day else " ".join(filter(None, (month, year)))
    if language == "fr" and day == "1":
        day = "1<sup>er</sup>"
    if language == "he" and day and month:
        month = f"ב{month}"
    separator, *order = _ORDERS.get(language, " :D:M:Y").split(":")
    parts = {"D": day, "M": month, "Y": year}
    used = ((text, next(filter(parts.get, parts.keys() & set(text)), "")) for text in order)
    return separator.join(text.replace(key, parts[key]) for text, key in used if key)


def format_date(form: str, text: str, language: str) -> str | None:
    """Write a date in MediaWiki's format letters; names of days and short names of months are in English only.

    Return None for a missing or unreadable date and for unknown letters.
    """
    moment = _read_date(" ".join(text.split())) if len(text) + len(form) < _MAX_CHARACTERS else None
    if moment is None:
        return None
    letters = _LETTERS | _ENGLISH if language in ("en", "simple") else _LETTERS
    fields = {letter: moment.strftime(sign) for letter, sign in letters.items()}
    fields |= {"Y": f"{moment.year:04d}", "n": str(moment.month), "j": str(moment.day)}
    if language in _NAMES_OF:
        fields["F"], fields["xg"] = (names[moment.month - 1] for names in _NAMES_OF[language])
    shown = ""
    for field in _FIELD.finditer(form):
        quoted = field[1] if field[1] is not None else field[2]
        if quoted is None and field[0].isalpha() and field[0].isascii() and field[0] not in fields:
            return None
        shown += fields.get(field[0], field[0]) if quoted is None else quoted
    return shown


def _read_date(text: str) -> date | None:
    """Read a date in the common formats, with or without a time."""
    for form in _DATES:
        if match := form.fullmatch(text):
            groups = match.groupdict()
            month = groups.get("month") or 1 + [name[:3] for name in _MONTHS].index(groups["name"][:3].capitalize())
            try:
                return date(int(groups["year"]), int(month), int(groups.get("day") or 1))
            except ValueError:  # 30 February
                return None
    return None


def format_number(number: str, language: str) -> str:
    """Format ``number`` like ``{{formatnum:}}`` in ``language``; return anything that is not a number unchanged."""
    match = _NUMBER.fullmatch(number)
    if match is None:
        return number
    sign, whole, part = match.groups()
    separator, point = _SIGNS.get(language, [",", "."])
    if len(whole) > 4 or language not in _TABLES["from_five_digits"]:
        first = len(whole) % 3 or 3
        whole = separator.join([whole[:first], *(whole[start : start + 3] for start in range(first, len(whole), 3))])
    shown = sign + whole + (point + part if part else "")
    return shown.translate(_PERSIAN) if language == "fa" else shown


def parse_number(number: str, language: str) -> str:
    """Return ``number`` without separators and with a decimal point: ``{{formatnum:…|R}}``."""
    separator, point = _SIGNS.get(language, [",", "."])
    number = number.translate(_LATIN) if language == "fa" else number
    return number.replace(separator, "").replace(point, ".").replace("−", "-")
