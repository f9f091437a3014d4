"""Functions for template bodies, in place of Lua modules whose work wikitext cannot express.

A template body in `tables/` calls them as ``{{#convert:{{{...}}}}}``, where ``{{{...}}}`` passes on all arguments of the call.
Arguments are expanded before the function is called.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ....config import read_toml
from ..convert.measurement import convert
from ..formulas import chemical
from ..marks import HOLE, shield
from ..tex import bracketed, tex_to_text
from .formats import format_number, write_date

_TABLES: dict[str, dict[str, str]] = read_toml(Path(__file__).with_name("modules.toml"))
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<!\d)\d+\.\d+")
# (positional arguments, named arguments, language) -> wikitext. None drops the call and counts it; "" only shows nothing.
Module = Callable[[Sequence[str], Mapping[str, str], str], str | None]


def _cvt(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Convert with symbols, which are the same in most languages; write numbers in the wiki's language."""
    shown = convert(arguments, options, abbreviate=True)
    return shown and _NUMBER.sub(lambda number: format_number(number[0].replace(",", ""), language), shown)


def _join(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Join the nonblank arguments after the first, which is the separator."""
    separator, *items = arguments or [""]
    return separator.join(item.strip() for item in items if item.strip())


def _date(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Write a date in the order of the wiki's language."""
    year, month, day, *_ = (*(argument.strip() for argument in arguments), "", "", "")
    return write_date(year, month, day, language) or None


def _ipac(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Join English sounds into a transcription."""
    sounds = [sound.strip() for sound in arguments]
    before = ""
    while sounds and sounds[0].lower() in _TABLES["labels"]:
        before += _TABLES["labels"][sounds.pop(0).lower()]
    shown = "".join(
        _TABLES["sounds"].get(sound, sound) for sound in sounds if not sound.lower().endswith((".ogg", ".oga", ".wav"))
    )
    return f"{before}/{shown}/" if shown else None


def _road(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Write the roads of a junction as on their signs.

    >>> _road(["I", "90", "US-Alt", "20", "NY", "17"], {"state": "NY", "dir1": "east", "city1": "Troy"}, "en")
    'I-90 east / US 20 Alt. / NY 17 – Troy'
    """
    roads: list[str] = []
    for number, (kind, route) in enumerate(zip(arguments[::2], [*arguments[1::2], ""], strict=False), 1):
        name, _, banner = kind.strip().partition("-")
        sign, label = _TABLES["roads"].get(name, f"{name} "), options.get(f"name{number}", "")
        words = [
            "to" if options.get(f"to{number}") else "",
            f"{sign}{route.strip()}".strip(),
            _TABLES["banners"].get(banner, banner),
        ]
        words += [options.get(f"dir{number}", ""), f"({label})" if label else ""]
        roads.append(" ".join(filter(None, words)))
    cities = ", ".join(filter(None, (options.get(f"city{number}", "") for number in range(1, 5))))
    place = options.get("location1", "")
    return " / ".join(filter(None, roads)) + (f" – {cities}" if cities else "") + (f" in {place}" if place else "") or None


def _section(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Write a link to sections of a page."""
    page, *names = [argument.strip() for argument in arguments] or [""]
    names = list(filter(None, names))
    listed = " and ".join(names) if len(names) < 3 else ", ".join(names[:-1]) + f", and {names[-1]}"
    return " ".join(filter(None, [page, ("§§" if len(names) > 1 else "§") * bool(names), listed])) or None


def _decimal(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Write a number with a decimal comma or point in the wiki's language: ``{{#decimal:12345,6}}``."""
    number = "".join(arguments[0].split()).replace("−", "-") if arguments else ""
    return format_number(number.replace(",", "."), language) if number else None


def _root(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Write a root with its degree: ``{{#sqrt:2|3}}`` is ``<sup>3</sup>√2``."""
    content, degree, *_ = (*arguments, "", "")
    return (f"<sup>{degree}</sup>" if degree else "") + "√" + bracketed(content.replace("&nbsp;", " ").strip(), False)


def _tex(arguments: Sequence[str], options: Mapping[str, str], language: str) -> str | None:
    """Write TeX as text. A formula without a text form becomes HOLE, so its sentence is dropped."""
    shown = tex_to_text("|".join(arguments))
    return HOLE if shown is None else shield(shown)


MODULES: dict[str, Module] = {
    "#road": _road,
    "#section": _section,
    "#decimal": _decimal,
    "#titlecase": lambda arguments, options, language: arguments[0].title() if arguments else None,
    "#lost": lambda arguments, options, language: HOLE,  # unknown words that the sentence needs, so the sentence is dropped
    "#convert": lambda arguments, options, language: convert(arguments, options),
    "#cvt": _cvt,
    "#join": _join,
    "#date": _date,
    "#ipac": _ipac,
    "#chem": lambda arguments, options, language: chemical(arguments),
    "#sqrt": _root,
    "#tex": _tex,
}
