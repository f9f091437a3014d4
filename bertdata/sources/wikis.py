"""Read the header of a MediaWiki dump: its wiki, language and namespace names. Determine the age of a page."""

from __future__ import annotations

import html
import re
import urllib.parse
from collections.abc import Sequence
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ..config.input_kinds import PROJECTS
from ..credentials import hide
from ..errors import UsageError, did_you_mean
from ..storage.stamp import stamp
from .bzip2 import Damage
from .packed import blocks

_OPEN = b"<page>"
_MAX_HEADER_BYTES = 1 << 20  # a header has a few kilobytes: a file without one in its first megabyte is not a dump
_MAX_DBNAME_CHARACTERS = 64  # a dbname is the name of a MySQL database, which has at most 64 characters
_PROJECT = re.compile(rf"({'|'.join(PROJECTS)})\.org")
_DOCUMENTS = {"wikibooks": ("cookbook", "wikijunior")}  # namespaces with documents besides the main one
_DATE = re.compile(r"(?<!\d)((?:19|20)\d{6})(?!\d)")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_MAX_TIME_S = (1 << 32) - 2  # maximum of the 32-bit field in a run's files, in seconds: year 2106


class Site(NamedTuple):
    """A wiki as described in a dump's header.

    Attributes:
        dbname: Name of the wiki's database, such as ``enwiki``. Every page id begins with it.
        language: Language code.
        base: Address of the wiki's pages, to which a title is appended.
        namespaces: Number of each namespace, by its name in lower case.
        project: Wikimedia project, such as ``wikisource``, from the host of `base`; ``wikipedia`` for an unknown host.
    """

    dbname: str
    language: str
    base: str
    namespaces: dict[str, int]
    project: str = "wikipedia"

    def namespace_numbers(self, names: Sequence[str]) -> frozenset[int]:
        """Return the numbers of namespaces, which are given by name or number. Raise UsageError if the wiki lacks one.

        By default, return the main namespace and, for Wikibooks, Cookbook and Wikijunior.
        """
        if not names:
            found = (self.namespaces.get(name) for name in _DOCUMENTS.get(self.project, ()))
            return frozenset([0, *(number for number in found if number is not None)])
        known = {**{str(number): number for number in self.namespaces.values()}, **self.namespaces, "0": 0, "main": 0}
        for name in names:
            if name.strip().lower() not in known:
                raise UsageError(
                    f"`namespaces` {name}: {self.dbname} has no such namespace{did_you_mean(name.lower(), known)}",
                    field="namespaces",
                    value=name,
                )
        return frozenset(known[name.strip().lower()] for name in names)

    def url(self, title: str, revision: str) -> str:
        """Return the permanent address of a page's revision, or the address of the page if `revision` is not a number."""
        if not self.base:
            return ""
        suffix = f"?oldid={revision}" if re.fullmatch("[0-9]{1,18}", revision) else ""
        return self.base + urllib.parse.quote(title.replace(" ", "_"), safe="/:,()'!*") + suffix

    def namespace(self, title: str) -> int:
        """Return a page's namespace from its title, for dumps before export-0.6."""
        prefix, colon, _ = title.partition(":")
        return self.namespaces.get(prefix.replace("_", " ").strip().lower(), 0) if colon else 0


def read_site(path: str) -> Site:
    """Read a dump's header, once per process and version of the file: it takes a block, as much as a tenth of a small task.

    Raise UsageError if the file is not a MediaWiki export or declares entities.
    """
    return _read_site(str(path), stamp(path))


@lru_cache(maxsize=64)
def _read_site(path: str, version: tuple[Any, ...]) -> Site:
    head = b""
    for block in blocks(path):
        if isinstance(block, Damage):
            raise UsageError(f"{path} is damaged at its beginning, where its header should be ({block.reason}): fetch it again")
        head += block.data
        if b"</siteinfo>" in head or _OPEN in head or len(head) > _MAX_HEADER_BYTES:
            break
    head = head.partition(_OPEN)[0]
    if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
        raise UsageError(f"{path} declares a document type or entities, which MediaWiki never does: use an unchanged dump")
    text = head.decode("utf-8", "replace")
    if "<mediawiki" not in text:
        raise UsageError(f"{path} is not a MediaWiki export (no <mediawiki> in its first megabyte): use a pages-articles dump")
    names = re.findall(r'<namespace key="(-?\d{1,9})"[^<>]*>([^<]*)</namespace>', text)
    namespaces = {html.unescape(name).strip().lower(): int(number) for number, name in names if name.strip()}
    base = hide(_element(text, "base"))  # part of every document's url
    language = next(iter(re.findall(r'<mediawiki[^<>]*\sxml:lang="([^"<>]{1,35})"', text)), "") or _host_language(base)
    project = _PROJECT.search(base)
    dbname = _dbname(text, base, project[1] if project else "", path)
    return Site(dbname, language, base[: base.rfind("/") + 1], namespaces, project[1] if project else PROJECTS[0])


def _element(text: str, name: str) -> str:
    match = re.search(f"<{name}>([^<]*)</{name}>", text)
    return html.unescape(match.group(1)).strip() if match else ""


def _host_language(base: str) -> str:
    """Return ``de`` for ``https://de.wikipedia.org/…``, "" for other addresses."""
    try:
        name, dot, _ = (urllib.parse.urlsplit(base).hostname or "").partition(".")
    except ValueError:  # such as ``http://[``
        return ""
    return name if dot else ""


def _dbname(text: str, base: str, project: str, path: str) -> str:
    """Return the wiki's database name: from its header, otherwise from its host, otherwise from the name of the file.

    Every page id begins with it, so it has only characters that are allowed in ids.
    """
    # Old headers have no <dbname>. Wikimedia's database names are the language and the project, as in
    # dewikisource, but Wikipedia's end in wiki. A host such as www.wikisource.org has no language.
    file, language = re.split(r"[-.]", Path(path).name, maxsplit=1)[0], _host_language(base)
    from_host = language + project.replace("wikipedia", "wiki") if project and language not in ("www", project) else file
    return _plain_name(_element(text, "dbname") or from_host) or _plain_name(file) or "wiki"


def _plain_name(name: str) -> str:
    """Keep the ASCII letters, digits and ``_.-`` of a name. Return "" if no letter or digit is left, or if it is too long."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "", name)
    return name if len(name) <= _MAX_DBNAME_CHARACTERS and re.search("[A-Za-z0-9]", name) else ""


def dump_date(name: str) -> str:
    """Return the first date in a file's name, or "".

    >>> dump_date("enwiki-20220720-pages-articles.xml.bz2"), dump_date("20221399.xml"), dump_date("dump.xml")
    ('20220720', '', '')
    """
    return next((digits for digits in _DATE.findall(name) if _timestamp(digits) is not None), "")


def as_of(name: str, revised: str) -> int:
    """Return the date of a page in seconds since 1970, from its dump's name or its revision's time; 0 if neither has a date.

    >>> as_of("enwiki-20220720.xml", "2001-01-01T00:00:00Z"), as_of("dump.xml", "2022-07-20T00:00:01Z"), as_of("dump.xml", "")
    (1658275200, 1658275201, 0)
    """
    time = dump_date(name) or (revised[:-1] if _TIME.fullmatch(revised) else "")
    return min(_MAX_TIME_S, max(0, _timestamp(time) or 0))


def _timestamp(time: str) -> int | None:
    """Return a time, or a date such as 20220720, as seconds since 1970; None if it is invalid, such as a thirteenth month."""
    if "-" not in time:
        time = f"{time[:4]}-{time[4:6]}-{time[6:]}"
    try:
        return int(datetime.fromisoformat(time).replace(tzinfo=timezone.utc).timestamp())
    except ValueError:
        return None
