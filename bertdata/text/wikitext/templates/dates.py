"""Dates in a wiki's language, and ``{{#time:format|date}}``; a format that depends on today's date is not supported.

>>> format_date("j F Y, H:i", "2012-03-05 14:30", "en"), format_date("d.m.y", "March 5, 2012", "de")
('5 March 2012, 14:30', '05.03.12')
"""

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from ....config import read_toml

_NAMES = """
    January February March April May June July August September October November December
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday
"""
_MONTHS, _DAYS = _NAMES.split()[:12], _NAMES.split()[12:]
_NAME = "(?P<name>" + "|".join(rf"{month[:3]}(?:{month[3:]})?" for month in _MONTHS) + r")\.?"
_YEAR, _DAY = r"(?P<year>[0-9]{4})", r"(?P<day>[0-9]{1,2})"
_TIME = r"(?:[ T,]+(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?(?: ?(?:Z|UTC))?)?"
_DATES = [
    re.compile(date + _TIME, re.IGNORECASE)
    for date in (
        rf"{_YEAR}-(?P<month>[0-9]{{1,2}})(?:-{_DAY})?",
        rf"{_YEAR}(?P<month>[0-9]{{2}})(?P<day>[0-9]{{2}})",
        rf"(?:{_DAY} )?{_NAME},? {_YEAR}",
        rf"{_NAME} {_DAY},? {_YEAR}",
        rf"{_YEAR} {_NAME}(?: {_DAY})?",
    )
]
_FIELD = re.compile(r'"([^"]*)"|\\(.)|x[a-z]+|.', re.DOTALL)
_FIELDS: dict[str, Callable[[datetime], str]] = {
    "Y": lambda date: f"{date.year:04d}",
    "y": lambda date: f"{date.year % 100:02d}",
    "L": lambda date: str(int(date.year % 4 == 0 and (date.year % 100 != 0 or date.year % 400 == 0))),
    "n": lambda date: str(date.month),
    "m": lambda date: f"{date.month:02d}",
    "j": lambda date: str(date.day),
    "d": lambda date: f"{date.day:02d}",
    "z": lambda date: str(date.timetuple().tm_yday - 1),
    "W": lambda date: f"{date.isocalendar()[1]:02d}",
    "N": lambda date: str(date.isoweekday()),
    "w": lambda date: str(date.isoweekday() % 7),
    "G": lambda date: str(date.hour),
    "H": lambda date: f"{date.hour:02d}",
    "g": lambda date: str(date.hour % 12 or 12),
    "h": lambda date: f"{date.hour % 12 or 12:02d}",
    "i": lambda date: f"{date.minute:02d}",
    "s": lambda date: f"{date.second:02d}",
    "a": lambda date: "pm" if date.hour > 11 else "am",
    "A": lambda date: "PM" if date.hour > 11 else "AM",
}
_ENGLISH: dict[str, Callable[[datetime], str]] = {
    "F": lambda date: _MONTHS[date.month - 1],
    "M": lambda date: _MONTHS[date.month - 1][:3],
    "l": lambda date: _DAYS[date.weekday()],
    "D": lambda date: _DAYS[date.weekday()][:3],
}
_MAX_CHARACTERS = 100  # characters of a format or a date

_TABLES = read_toml(Path(__file__).with_name("dates.toml"))
_ORDERS: dict[str, str] = _TABLES["orders"]


def _local_names() -> dict[str, tuple[list[str], list[str]]]:
    """Return the names of the months by language: alone, and in a date."""
    names: dict[str, tuple[list[str], list[str]]] = {"en": (_MONTHS, _MONTHS), "simple": (_MONTHS, _MONTHS)}
    for language, form in _TABLES["numbered"].items():
        names[language] = ([form.format(number) for number in range(1, 13)],) * 2
    for language, months in _TABLES["alone"].items():
        names[language] = months.split(), _TABLES["dated"].get(language, months).split()
    return names


_NAMES_OF = _local_names()


def write_date(year: str, month: str, day: str, language: str) -> str:
    """Write the given parts of a date in the usual order of a language; the month may be a number or a name.

    >>> write_date("1981", "7", "16", "es"), write_date("1981", "07", "", "ja"), write_date("1950", "3", "1", "en")
    ('16 de julio de 1981', '1981年7月', 'March 1, 1950')
    """
    alone, dated = _NAMES_OF.get(language, ([], []))
    names = dated if day else alone
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


def format_date(form: str, date: str, language: str) -> str | None:
    """Write a date in MediaWiki's format letters; names of days and short names of months are in English only.

    Return None for a missing or unreadable date and for unknown letters.

    >>> format_date('"on" l', "1 May 2020", "en"), format_date("j F", "1 May 2020", "fr"), format_date("D", "1 May 2020", "fr")
    ('on Friday', '1 mai', None)
    """
    moment = _read_date(" ".join(date.split())) if len(date) + len(form) < _MAX_CHARACTERS else None
    if moment is None:
        return None
    fields = {**_FIELDS, **(_ENGLISH if language in ("en", "simple") else {})}
    if language in _NAMES_OF:
        alone, dated = (names[moment.month - 1] for names in _NAMES_OF[language])
        fields |= {"F": lambda _: alone, "xg": lambda _: dated}
    shown = ""
    for field in _FIELD.finditer(form):
        quoted = field[1] if field[1] is not None else field[2]
        if quoted is None and field[0].isalpha() and field[0].isascii() and field[0] not in fields:
            return None
        shown += quoted if quoted is not None else fields[field[0]](moment) if field[0] in fields else field[0]
    return shown


def _read_date(text: str) -> datetime | None:
    """Read a date in the common formats, with or without a time."""
    for form in _DATES:
        if match := form.fullmatch(text):
            groups = match.groupdict()
            month = groups.get("month") or 1 + [name[:3] for name in _MONTHS].index(groups["name"][:3].capitalize())
            parts = [groups["year"], month, *(groups.get(name) or fill for name, fill in _PART_DEFAULTS)]
            try:
                return datetime(*map(int, parts))  # type: ignore[arg-type]
            except ValueError:  # 30 February
                return None
    return None


_PART_DEFAULTS = (("day", 1), ("hour", 0), ("minute", 0), ("second", 0))  # defaults of the omitted parts
