"""Functions for template bodies, in place of Lua modules whose work wikitext cannot express.

A template body in `tables/` calls them as ``{{#convert:{{{...}}}}}``, where ``{{{...}}}`` passes on all arguments of the call.
Arguments are expanded before the function is called.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from ....config import read_toml
from ..convert import convert
from ..formulas import chemical_parts, root
from ..marks import HOLE, shield
from ..tex import tex_to_text
from .dates import write_date
from .numbers import format_number

_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<!\d)\d+\.\d+")
_MAX_CACHED_CHARACTERS = 200  # maximum characters of a call whose result is cached
# (positional arguments, named arguments, language) -> wikitext. None drops the call and counts it; "" only shows nothing.
Module = Callable[[Sequence[str], Mapping[str, str], str], str | None]


def _convert(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    return _convert_measure(tuple(arguments), tuple(options.items()), False)


def _cvt(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Convert with symbols, which are the same in most languages; write numbers in the wiki's language.

    >>> _cvt(["1,234.5", "km", "mi"], {}, "de").replace("\\xa0", " ")
    '1.234,5 km (767,1 mi)'
    """
    shown = _convert_measure(tuple(arguments), tuple(options.items()), True)
    return shown and _NUMBER.sub(lambda number: format_number(number[0].replace(",", ""), language), shown)


def _convert_measure(arguments: tuple[str, ...], options: tuple[tuple[str, str], ...], abbreviate: bool) -> str | None:
    """Convert a measurement. Cache the results of short calls, because pages repeat them."""
    if sum(map(len, arguments)) + sum(len(value) for _, value in options) > _MAX_CACHED_CHARACTERS:
        return convert(arguments, dict(options), abbreviate=abbreviate)
    return _convert_cached(arguments, options, abbreviate)


@lru_cache(maxsize=1 << 12)
def _convert_cached(arguments: tuple[str, ...], options: tuple[tuple[str, str], ...], abbreviate: bool) -> str | None:
    return convert(arguments, dict(options), abbreviate=abbreviate)


def _join(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Join the nonblank arguments after the first, which is the separator.

    >>> _join([", ", "a", " ", "b "], {}, "en")
    'a, b'
    """
    separator, *items = arguments or [""]
    return separator.join(item.strip() for item in items if item.strip())


def _date(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Write a date in the order of the wiki's language.

    >>> _date(["1981", "7", "16"], {}, "de")
    '16. Juli 1981'
    """
    year, month, day, *_ = (*(argument.strip() for argument in arguments), "", "", "")
    return write_date(year, month, day, language) or None


_TABLES = read_toml(Path(__file__).with_name("modules.toml"))
_SOUNDS: dict[str, str] = _TABLES["sounds"]
_BEFORE: dict[str, str] = _TABLES["labels"]


def _ipac(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Join English sounds into a transcription.

    >>> _ipac(["lang", "ˈ", "æ", "l", "b", "@"], {}, "en")
    'English: /ˈælbə/'
    """
    sounds = [sound.strip() for sound in arguments]
    before = ""
    while sounds and sounds[0].lower() in _BEFORE:
        before += _BEFORE[sounds.pop(0).lower()]
    shown = "".join(_SOUNDS.get(sound, sound) for sound in sounds if not sound.lower().endswith((".ogg", ".oga", ".wav")))
    return f"{before}/{shown}/" if shown else None


_STATE_SIGNS: dict[str, str] = _TABLES["roads"]
_HYPHENS = frozenset(["I", "AK", "A", "H", "K", "M", "N", "NE", "KS", "MI"])  # I-90, M-28
_BANNERS = {"Alt": "Alt.", "Bus": "Bus.", "Byp": "Byp.", "Conn": "Conn."}


def _road(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Write the roads of a junction as on their signs.

    >>> _road(["I", "90", "US-Alt", "20", "NY", "17"], {"state": "NY", "dir1": "east", "city1": "Troy"}, "en")
    'I-90 east / US 20 Alt. / NY 17 – Troy'
    """
    roads: list[str] = []
    for number, (kind, route) in enumerate(zip(arguments[::2], [*arguments[1::2], ""], strict=False), 1):
        name, _, banner = kind.strip().partition("-")
        sign = {"NE": "N", "KS": "K", "MI": "M"}.get(name, _STATE_SIGNS.get(name, name))
        words = [
            f"{sign}-{route.strip()}" if name in _HYPHENS else f"{sign} {route.strip()}".strip(),
            _BANNERS.get(banner, banner),
        ]
        words += [options.get(f"dir{number}", ""), f"({label})" if (label := options.get(f"name{number}", "")) else ""]
        roads.append(" ".join(filter(None, ["to" if options.get(f"to{number}") else "", *words])))
    cities = ", ".join(filter(None, (options.get(f"city{number}", "") for number in range(1, 5))))
    place = options.get("location1", "")
    return " / ".join(filter(None, roads)) + (f" – {cities}" if cities else "") + (f" in {place}" if place else "") or None


def _section(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Write a link to sections of a page.

    >>> _section(["Tea", "Uses"], {}, "en"), _section(["", "A", "B", "C"], {}, "en")
    ('Tea § Uses', '§§ A, B, and C')
    """
    page, *names = [argument.strip() for argument in arguments] or [""]
    names = list(filter(None, names))
    listed = " and ".join(names) if len(names) < 3 else ", ".join(names[:-1]) + f", and {names[-1]}"
    return " ".join(filter(None, [page, ("§§" if len(names) > 1 else "§") * bool(names), listed])) or None


def _decimal(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Write a number with a decimal comma or point in the wiki's language: ``{{#decimal:12345,6}}``."""
    number = "".join(arguments[0].split()).replace("−", "-") if arguments else ""
    return format_number(number.replace(",", "."), language) if number else None


def _title_case(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    return arguments[0].title() if arguments else None


def _lost(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Stand for words that are not known and without which a sentence makes no sense, so the sentence is dropped."""
    return HOLE


def _chem(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    return chemical_parts(arguments)


def _sqrt(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    return root(*arguments[:2]) if arguments else None


def _tex(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Write TeX as text. A formula without a text form becomes HOLE, so its sentence is dropped."""
    shown = tex_to_text("|".join(arguments))
    return HOLE if shown is None else shield(shown)


MODULES: dict[str, Module] = {
    "#road": _road,
    "#section": _section,
    "#decimal": _decimal,
    "#titlecase": _title_case,
    "#lost": _lost,
    "#convert": _convert,
    "#cvt": _cvt,
    "#join": _join,
    "#date": _date,
    "#ipac": _ipac,
    "#chem": _chem,
    "#sqrt": _sqrt,
    "#tex": _tex,
}
