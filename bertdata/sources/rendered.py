"""Read pages that MediaWiki has rendered: "Enterprise HTML" dumps, and directories of pages from Wikimedia's REST API.

    enwiki-NS0-20260101-ENTERPRISE-HTML.json.tar.gz    a tar file of NDJSON files, a page a line
    pages.ndjson, pages.ndjson.gz                      such an NDJSON file alone
    pages/Tea.html                                     a page of the REST API; its head says which wiki and page it is

A tar file can only be read from its start. One above `MAX_TAR_BYTES` is first unpacked by `unpack`, so that many workers can
read pieces of about `PIECE_BYTES`, and a killed run loses little.
"""

from __future__ import annotations

import codecs
import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
from lxml import etree

from ..config.input_kinds import PROJECTS
from ..errors import StorageError
from ..records import Article, FileRange, Reject
from ..storage.files import open_file, replacing_directory, size
from .archives import each_tar_member
from .dumps import Site, as_of
from .lines import read_lines, split_lines
from .packed import PACKED, BrokenFile, lines_of

MAX_TAR_BYTES = 1 << 30  # of a tar file that one task reads
PIECE_BYTES = 256 << 20  # unpacked, of a task of a larger one
RATIO = 10  # unpacked bytes per byte of a .tar.gz, at most; usual ones have 5 to 8, and their last pieces are empty
_TAR = re.compile(r"\.(?:tar(?:\.\w+)?|tgz)\Z", re.IGNORECASE)
_HTML = (".html", ".htm")  # pages of the REST API
_HOST = re.compile(rf"(?:https?:)?//([a-z0-9-]{{1,40}})\.(?:m\.)?({'|'.join(PROJECTS)})\.org(?:[:/]|\Z)")


class _Part(msgspec.Struct):
    identifier: int | str = ""
    html: str = ""


class _Page(msgspec.Struct):
    """A line of an Enterprise HTML dump."""

    name: str
    identifier: Annotated[int, msgspec.Meta(ge=0, lt=1 << 60)]
    url: str
    is_part_of: _Part  # of the wiki, the name of its database
    in_language: _Part | None = None
    namespace: _Part | None = None
    version: _Part | None = None
    article_body: _Part | None = None
    date_modified: str | None = None


def is_rendered(name: str) -> bool:
    """Return True unless a file is, by its name, a dump of wikitext, such as ``.xml``, ``.xml.bz2`` or ``.xml-p1p9.bz2``."""
    return not re.search(r"\.xml(?:-p\d+p\d+)?(?:\.\w+)?$", name.lower())


def read_site(path: str) -> Site:
    """Return the wiki of a file's first page, or an empty one for a file without pages."""
    found = read_pages(FileRange(Path(path).name, path, 0, size(path)), 64 << 20, None)
    page = next((page[1] for page in found if not isinstance(page, Reject)), None)
    return Site(page.id.partition(":")[0], page.language, "", {}, page.project) if page else Site("", "", "", {})


def split(path: str, size: int, target: int) -> list[tuple[int, int]]:
    """Cut a file into the byte ranges that are read on their own: an NDJSON file at lines, a large tar file into pieces."""
    if not _TAR.search(path):
        return [(0, size)] if path.lower().endswith((*PACKED, *_HTML)) else split_lines(path, size, target)
    step = PIECE_BYTES // RATIO if size > MAX_TAR_BYTES else size + 1
    return [(at, min(at + step, size)) for at in range(0, size, step)]


def is_piece(part: FileRange) -> bool:
    """Return True if a file range is a piece of a tar file that has to be unpacked."""
    return _TAR.search(part.path) is not None and part.end - part.start < size(part.path)


def unpack(path: str, directory: Path) -> None:
    """Unpack the lines of a tar file of which tasks read pieces, unless that is done.

    Raise StorageError before anything is written if the disk lacks space.
    """
    if (done := _unpacked(directory, path)).exists():
        return
    with replacing_directory(done) as temporary, open(temporary / "pages.ndjson", "wb") as file:
        needed, free = (size(path) * RATIO >> 30) + 1, shutil.disk_usage(temporary).free >> 30  # GB
        if free < needed:
            problem = f"{path} takes about {needed} GB to unpack in the output directory, but the disk has {free} GB free"
            raise StorageError(f"{problem}. Free some space, or use an output on another disk")

        def write(archive: Any, info: Any) -> Iterator[Reject]:
            file.write(b"\n")
            if info.isreg() and (member := archive.extractfile(info)):
                shutil.copyfileobj(member, file)
            return iter(())

        damage = [*each_tar_member(FileRange(Path(path).name, path, 0, size(path)), PROJECTS[0], write)]
        (temporary / "damage.json").write_bytes(msgspec.json.encode(damage))


def _unpacked(directory: Path, path: str) -> Path:
    return directory / f"html-{hashlib.sha256(path.encode()).hexdigest()[:16]}"


def read_pages(part: FileRange, max_bytes: int, pieces: Path | None) -> Iterator[tuple[int, Article] | Reject]:
    """Read the pages of a file range, each with its namespace. `pieces` is the directory where large tar files were unpacked."""
    is_html, id = part.path.lower().endswith(_HTML), f"{PROJECTS[0]}:{part.name}"
    for found in _lines(part, max_bytes, pieces):
        if isinstance(found, Reject):
            yield found
            continue
        at, line = found[0], found[1] and found[1].removeprefix(codecs.BOM_UTF8)
        where = f"{part.name}: byte {at}"
        if line is None or len(line) > max_bytes:
            yield Reject(id, "too-large", f"{where}: a page of more than {max_bytes} bytes")
        elif is_html or line.strip():
            try:
                page = _from_head(line) if is_html else msgspec.json.decode(line, type=_Page, strict=False)
                yield _article(page, part.name, where)
            except (ValueError, RecursionError) as error:
                yield Reject(id, "no-id" if is_html else "malformed-json", f"{where}: {str(error)[:100]}", len(line))


def _lines(part: FileRange, max_bytes: int, pieces: Path | None) -> Iterator[tuple[int, bytes | None] | Reject]:
    """Yield the lines of a file range with their places, None for too long ones, and a reject where damage ends the file."""

    def of_member(archive: Any, info: Any) -> Iterator[tuple[int, bytes | None]]:
        if info.isreg() and (member := archive.extractfile(info)):
            yield from ((info.offset_data + at, line) for at, line in read_lines(member, None, max_bytes))

    if part.path.lower().endswith(_HTML):
        with open_file(part.path) as file:
            yield 0, file.read(max_bytes + 1)
    elif pieces and is_piece(part):  # the lines after the line ends in a range `RATIO` times that of the tar file
        if part.start == 0:
            yield from msgspec.json.decode((_unpacked(pieces, part.path) / "damage.json").read_bytes(), type=list[Reject])
        with open(_unpacked(pieces, part.path) / "pages.ndjson", "rb") as file:
            file.seek(part.start * RATIO)
            next(read_lines(file, None, 0), None)  # the rest of a line, which the range before reads
            begin = file.tell()
            length = part.end * RATIO + 1 - begin if part.end < size(part.path) else None
            yield from ((begin + at, line) for at, line in read_lines(file, length, max_bytes))
    elif _TAR.search(part.path):
        yield from each_tar_member(part, PROJECTS[0], of_member)
    else:
        try:
            yield from lines_of(part, max_bytes)
        except BrokenFile as error:
            yield error.as_reject(f"{PROJECTS[0]}:{part.name}")


def _from_head(html: bytes) -> _Page:
    """Return a page of the REST API, whose head names its wiki, number and revision. Raise ValueError if it does not."""
    head = etree.HTML(html[: 1 << 14] + b"<p>", etree.HTMLParser(encoding="utf-8"))  # never empty, which is an error
    found = {
        tag.get("property") or tag.get("rel") or tag.tag: tag.get("content") or tag.get("href") or tag.text or ""
        for tag in head.iter("base", "meta", "link", "title")
    }
    host, number = _HOST.match(found.get("dc:isVersionOf") or found.get("base") or ""), found.get("mw:pageId", "")
    if host is None or not number.isdecimal():
        raise ValueError("its head does not name a wiki and the number of the page, as pages of the REST API do")
    title, url, language = found.get("title", "").strip(), f"https://{host[1]}.{host[2]}.org/wiki/", _Part(host[1])
    wiki = _Part(host[1].replace("-", "_") + host[2].replace("wikipedia", "wiki"))
    namespace, version = _Part(found.get("mw:pageNamespace", "")), _Part(head.get("about", "").rpartition("/")[2])
    body, modified = _Part(html=html.decode("utf-8", "replace")), found.get("dc:modified")
    return _Page(title, int(number), url, wiki, language, namespace, version, body, modified)


def _article(page: _Page, name: str, where: str) -> tuple[int, Article]:
    """Return the number of a page's namespace, and the page."""
    parts = (page.is_part_of, page.in_language, page.namespace, page.version, page.article_body)
    wiki, language, namespace, version, body = (part or _Part() for part in parts)
    if not re.fullmatch("[A-Za-z0-9_.-]{1,64}", dbname := str(wiki.identifier)):
        raise ValueError(f"{dbname[:64]!r} is not the name of a wiki")
    project = next((project for project in PROJECTS if dbname.endswith(project)), PROJECTS[0])
    site = Site(dbname, str(language.identifier), page.url[: page.url.rfind("/") + 1], {}, project)
    # Of a page that a dump repeats, the newest copy stays, so the time of its revision comes before the date of the dump.
    revised = as_of("", (page.date_modified or "")[:19] + "Z") or as_of(name, "")
    id, url = f"{dbname}:{page.identifier}", site.url(page.name, str(version.identifier))
    return int(namespace.identifier or 0), Article(id, site.language, page.name, url, body.html, {}, where, revised, project)
