"""Determine the age of a page: the date in the dump's name, or else the date of the page's revision."""

from __future__ import annotations

import re
from datetime import datetime, timezone

__all__ = ["as_of", "dump_date"]

_DATE = re.compile(r"(?<!\d)((?:19|20)\d{6})(?!\d)")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_MAX_TIME_S = (1 << 32) - 2  # maximum of the 32-bit field in a run's files, in seconds: year 2106


def dump_date(name: str) -> str:
    """Return the first date in a file's name, or "".

    >>> dump_date("enwiki-20220720-pages-articles.xml.bz2"), dump_date("20221399.xml"), dump_date("dump.xml")
    ('20220720', '', '')
    """
    return next((digits for digits in _DATE.findall(name) if _seconds(_iso(digits)) is not None), "")


def as_of(name: str, revised: str) -> int:
    """Return the date of a page in seconds since 1970, from its dump's name or its revision's time; 0 if neither has a date.

    >>> as_of("enwiki-20220720.xml", "2001-01-01T00:00:00Z"), as_of("dump.xml", "2022-07-20T00:00:01Z"), as_of("dump.xml", "")
    (1658275200, 1658275201, 0)
    """
    date = dump_date(name)
    time = _iso(date) if date else revised[:-1] if _TIME.fullmatch(revised) else ""
    return min(_MAX_TIME_S, max(0, _seconds(time) or 0))


def _iso(digits: str) -> str:
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"


def _seconds(time: str) -> int | None:
    """Return a time as seconds since 1970; None if it is invalid, such as a thirteenth month."""
    try:
        return int(datetime.fromisoformat(time).replace(tzinfo=timezone.utc).timestamp())
    except ValueError:
        return None
