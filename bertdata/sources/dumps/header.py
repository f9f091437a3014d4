"""Read the header of a MediaWiki dump: its wiki, language and namespace names."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...config.input_kinds import PROJECTS
from ...credentials import hide
from ...errors import UsageError, did_you_mean
from ..compressed import Damage, blocks
from .pages import BEGIN

__all__ = ["Site", "read_site"]

_PROJECT = re.compile(rf"({'|'.join(PROJECTS)})\.org")
_DOCUMENTS = {"wikibooks": ("cookbook", "wikijunior")}  # further namespaces with documents
_MAX_HEADER_BYTES = 1 << 20  # a dump's header is a few kilobytes; a file without one in its first megabyte is not a dump
_MAX_DBNAME_CHARACTERS = 64  # MySQL's limit for database names, and a dbname is one


class Site(NamedTuple):
    """A wiki as described in a dump's header; `namespaces` maps lowercase names to numbers.

    `project` is wikipedia, wikivoyage, wikisource and so on, by the host of the wiki; wikipedia for other hosts.
    """

    dbname: str
    language: str
    base: str
    namespaces: dict[str, int]
    project: str = "wikipedia"

    def namespace_numbers(self, names: Sequence[str]) -> frozenset[int]:
        """Return the numbers of namespaces by name or number; raise UsageError if the wiki has no such namespace.

        Without names, return those of the project's documents: the main namespace, and the Cookbook and Wikijunior of Wikibooks.
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
    """Read a dump's header; raise UsageError if the file is not a MediaWiki export or declares entities."""
    head = b""
    for block in blocks(path):
        if isinstance(block, Damage):
            raise UsageError(f"{path} is damaged at its beginning, where its header should be ({block.reason}): fetch it again")
        head += block.data
        if b"</siteinfo>" in head or BEGIN.search(head) or len(head) > _MAX_HEADER_BYTES:
            break
    head = BEGIN.split(head, maxsplit=1)[0]
    if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
        raise UsageError(f"{path} declares a document type or entities, which no MediaWiki export does: it is not read")
    text = head.decode("utf-8", "replace")
    if "<mediawiki" not in text:
        raise UsageError(f"{path} is not a MediaWiki export (no <mediawiki> in its first megabyte): use a pages-articles dump")
    names = re.findall(r'<namespace key="(-?\d{1,9})"[^<>]*>([^<]*)</namespace>', text)
    namespaces = {_unescape(name).strip().lower(): int(number) for number, name in names if name.strip()}
    base = hide(_element(text, "base"))  # part of every document's url
    language = next(iter(re.findall(r'<mediawiki[^<>]*\sxml:lang="([^"<>]{1,35})"', text)), "") or _host_language(base)
    project = _PROJECT.search(base)
    return Site(
        _dbname(text, base, path), language, base[: base.rfind("/") + 1], namespaces, project[1] if project else PROJECTS[0]
    )


def _element(text: str, name: str) -> str:
    match = re.search(f"<{name}>([^<]*)</{name}>", text)
    return _unescape(match.group(1)).strip() if match else ""


def _unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


def _host_language(base: str) -> str:
    """Return ``de`` for ``https://de.wikipedia.org/…``, "" for other addresses."""
    try:
        name, dot, _ = (urllib.parse.urlsplit(base).hostname or "").partition(".")
    except ValueError:  # such as ``http://[``
        return ""
    return name if dot else ""


def _dbname(text: str, base: str, path: str) -> str:
    """Return the wiki's name from its header or else its file, in characters allowed in ids: every page id begins with it."""
    file = re.split(r"[-.]", Path(path).name, maxsplit=1)[0]
    language = _host_language(base)
    return _plain(_element(text, "dbname") or (f"{language}wiki" if language else file)) or _plain(file) or "wiki"


def _plain(name: str) -> str:
    """Keep the ASCII letters, digits and ``_.-`` of a name; return "" if the result is not a name or is too long."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "", name)
    return name if len(name) <= _MAX_DBNAME_CHARACTERS and re.search("[A-Za-z0-9]", name) else ""
