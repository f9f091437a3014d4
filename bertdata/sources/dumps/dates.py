"""Tell how new the copy of a page is that a dump holds: by the date in the dump's name, else by that of the page's revision."""

from __future__ import annotations

import re
from datetime import datetime, timezone

__all__ = ["as_of", "dump_date"]

_DATE = re.compile(r"(?<!\d)((?:19|20)\d{6})(?!\d)")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_LAST = (1 << 32) - 2  # seconds that the files of a run have room for: until 2106


def dump_date(name: str) -> str:
    """Return the date in a file's name; nothing where there is none.

    >>> dump_date("enwiki-20220720-pages-articles.xml.bz2"), dump_date("dump.xml")
    ('20220720', '')
    """
    match = _DATE.search(name)
    return match.group(1) if match else ""


def as_of(name: str, revised: str) -> int:
    """Return how new a page is, in seconds since 1970, from its dump's name and its revision's time; 0 where neither tells.

    >>> as_of("enwiki-20220720.xml", "2001-01-01T00:00:00Z"), as_of("dump.xml", "2022-07-20T00:00:01Z"), as_of("dump.xml", "")
    (1658275200, 1658275201, 0)
    """
    date = dump_date(name)
    written = f"{date[:4]}-{date[4:6]}-{date[6:]}" if date else revised[:-1] if _TIME.fullmatch(revised) else ""
    try:
        time = datetime.fromisoformat(written)
    except ValueError:  # a thirteenth month, or nothing
        return 0
    return min(_LAST, max(0, int(time.replace(tzinfo=timezone.utc).timestamp())))
