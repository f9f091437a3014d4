"""Read pages that MediaWiki has rendered: "Enterprise HTML" dumps, and directories of pages from Wikimedia's REST API.

    enwiki-NS0-20260101-ENTERPRISE-HTML.json.tar.gz    a tar file of NDJSON files, a page a line
    pages.ndjson, pages.ndjson.gz                      such an NDJSON file alone
    pages/Tea.html                                     a page of the REST API; its head says which wiki and page it is

A tar file can only be read from its start. One above `MAX_TAR_BYTES` is first unpacked into NDJSON files of about
`PIECE_BYTES` by `unpack`, so that many workers can read it and a killed run loses little.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
import shutil
import sys
import tarfile
from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from ..config.input_kinds import PROJECTS
from ..errors import StorageError, UsageError
from ..records import FileRange, Reject
from ..storage.files import open_file, replacing_directory, size
from .archives import each_tar_member
from .dumps import Site, as_of
from .lines import read_lines, split_lines
from .packed import PACKED, BrokenFile, lines_of

MAX_TAR_BYTES = 1 << 30  # of a tar file that one task reads
PIECE_BYTES = 256 << 20  # unpacked, of a task of a larger one
RATIO = 10  # unpacked bytes per byte of a .tar.gz, at most; usual ones have 5 to 8, and their last pieces are empty
_TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")
_PAGES = (".html", ".htm")  # of the REST API
_MARK = b"\0"  # begins a reject in a piece; JSON never begins with it
_NUMBER = re.compile("[0-9]{1,18}")
_SPARE_BYTES = 1 << 30  # disk left over when a tar file is unpacked
_HEAD_BYTES = 1 << 14  # of a page of the REST API that names its wiki
_HOST = re.compile(rf"(?:https?:)?//([a-z0-9-]{{1,40}})\.(?:m\.)?({'|'.join(PROJECTS)})\.org(?:[:/]|\Z)")
_DBNAME = re.compile(rf"([a-z0-9_]{{1,40}}?)({'|'.join(name for name in PROJECTS if name != 'wikipedia')}|wiki)\Z")


class RenderedPage(NamedTuple):
    """A page in Parsoid's HTML."""

    id: str  # of its document, such as ``enwiki:12``
    site: Site  # without namespaces
    title: str
    url: str  # of its revision
    html: str
    namespace: int  # its number
    as_of: int  # time of its revision, in seconds
    where: str  # file and place, for messages


def is_rendered(name: str) -> bool:
    """Return True unless a file is, by its name, a dump of wikitext, such as ``.xml``, ``.xml.bz2`` or ``.xml-p1p9.bz2``."""
    return not re.search(r"\.xml(?:-p\d+p\d+)?(?:\.\w+)?$", name.lower())


def read_site(path: str) -> Site:
    """Read the wiki of a file's first page. Raise UsageError if it has none, except for .html pages, which are rejected."""
    with closing(_read(FileRange(Path(path).name, path, 0, size(path)), 64 << 20)) as pages:
        page = next(pages, None)
    if isinstance(page, RenderedPage):
        return page.site
    if path.lower().endswith(_PAGES):
        return Site("", "", "", {})
    why = f" ({page.reason}: {page.where})" if page else ""
    raise UsageError(f"{path} does not begin with a rendered page{why}: pass an Enterprise HTML dump, or .html pages")


def split(path: str, size: int, target: int) -> list[tuple[int, int]]:
    """Cut a file into the byte ranges that are read on their own: an NDJSON file at lines, a large tar file into pieces."""
    if _is_tar(path):
        count = -(-size * RATIO // PIECE_BYTES) if size > MAX_TAR_BYTES else 1
        return [(size * number // count, size * (number + 1) // count) for number in range(count)]
    return [(0, size)] if path.lower().endswith((*PACKED, *_PAGES)) else split_lines(path, size, target)


def read_pages(part: FileRange, max_bytes: int, pieces: Path | None) -> Iterator[RenderedPage | Reject]:
    """Read the pages of a file range. `pieces` is the directory where large tar files were unpacked."""
    return _read(part, max_bytes, _piece(pieces, part.path, part.start) if pieces and is_piece(part) else None)


def is_piece(part: FileRange) -> bool:
    """Return True if a file range is a piece of a tar file that has to be unpacked."""
    return _is_tar(part.path) and part.end - part.start < size(part.path)


def unpack(path: str, starts: list[int], directory: Path, max_bytes: int) -> None:
    """Unpack a tar file into pieces, one for each range of the tar file that begins at `starts`. Finished ones are kept.

    A piece has the lines that begin in a share of `PIECE_BYTES` of the unpacked archive, so a repeated run makes the same ones.
    Raise StorageError before anything is written if the disk lacks space.
    """
    done = _piece(directory, path, 0).parent
    if done.exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    total, free = size(path), shutil.disk_usage(directory).free
    if free < (needed := total * RATIO + _SPARE_BYTES):
        problem = f"{path} takes about {needed >> 30} GB to unpack beside the output, but the disk has {free >> 30} GB free"
        advice = "Free some space, use an output on another disk, or unpack the file yourself and pass its .ndjson files"
        raise StorageError(f"{problem}. {advice}")
    lines = _tar_lines(FileRange(Path(path).name, path, 0, total), max_bytes)
    with replacing_directory(done) as temporary:
        pieces = [temporary / _piece(directory, path, start).name for start in starts]
        for piece in pieces:
            piece.touch()
        for piece, group in groupby(lines, lambda found: pieces[min(found[0] // PIECE_BYTES, len(pieces) - 1)]):
            with open(piece, "wb") as file:
                for _, line in group:  # the task of a piece reports its rejects
                    data = _MARK + json.dumps(line).encode() if isinstance(line, Reject) else line.lstrip(_MARK)
                    file.write(data + b"\n")


def _is_tar(path: str) -> bool:
    return path.lower().endswith(_TARS)


def _piece(directory: Path, path: str, start: int) -> Path:
    return directory / f"html-{hashlib.sha256(path.encode()).hexdigest()[:16]}" / f"{start:015d}.ndjson"


def _read(part: FileRange, max_bytes: int, piece: Path | None = None) -> Generator[RenderedPage | Reject, None, None]:
    """Read the pages of a file range from the file itself, or from a piece of it."""
    if part.path.lower().endswith(_PAGES):
        with open_file(part.path) as file:
            html = file.read(max_bytes + 1)
        yield _too_large(part, 0, max_bytes) if len(html) > max_bytes else _from_head(html, part)
        return
    is_tar = _is_tar(part.path) and piece is None
    for at, line in _tar_lines(part, max_bytes) if is_tar else _file_lines(part, max_bytes, piece):
        yield line if isinstance(line, Reject) else _from_line(line, part, f"{part.name}: byte {at}")


def _tar_lines(part: FileRange, max_bytes: int) -> Iterator[tuple[int, bytes | Reject]]:
    """Read the lines of all files of a tar file, each with its place in the unpacked archive."""

    def lines(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[tuple[int, bytes | Reject]]:
        file = archive.extractfile(info) if info.isreg() else None
        for at, line in read_lines(file, None, max_bytes) if file else ():
            if line is None or line.strip():
                yield info.offset_data + at, _too_large(part, at, max_bytes) if line is None else line

    for found in each_tar_member(part, PROJECTS[0], lines):
        yield (sys.maxsize, found) if isinstance(found, Reject) else found  # what follows damage is lost


def _file_lines(part: FileRange, max_bytes: int, piece: Path | None) -> Iterator[tuple[int, bytes | Reject]]:
    """Read the lines of a range of an NDJSON file, or of a piece of a tar file."""
    try:
        for at, line in lines_of(part, max_bytes, open_file(str(piece)) if piece else None):
            if line is None:
                yield at, _too_large(part, at, max_bytes)
            elif piece and line.startswith(_MARK):
                yield at, Reject(*json.loads(line[1:]))
            elif line.removeprefix(codecs.BOM_UTF8).strip():
                yield at, line
    except BrokenFile as error:
        yield 0, error.as_reject(f"{PROJECTS[0]}:{part.name}")


def _too_large(part: FileRange, at: int, max_bytes: int) -> Reject:
    where = f"{part.name}: byte {at}: a page of more than {max_bytes} bytes"
    return Reject(f"{PROJECTS[0]}:{part.name}", "too-large", where)


def _from_line(line: bytes, part: FileRange, where: str) -> RenderedPage | Reject:
    """Read a page of an Enterprise HTML dump."""
    try:
        page = json.loads(line)
        dbname, number = page["is_part_of"]["identifier"], int(page["identifier"])
        if not re.fullmatch(r"[\w.-]{1,64}", dbname, re.ASCII) or number < 0:
            raise ValueError("it names no wiki, or has no number")
        namespace, title = int((page.get("namespace") or {}).get("identifier") or 0), str(page["name"])
        url, language = str(page["url"]), str((page.get("in_language") or {}).get("identifier") or "")
        html = str((page.get("article_body") or {}).get("html") or "")
        revision = str((page.get("version") or {}).get("identifier", ""))
        "".join((dbname, title, url, language, html)).encode()  # JSON can contain half a character
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        reason = "bad-utf-8" if isinstance(error, UnicodeError) else "malformed-json"
        problem = f"{where}: {type(error).__name__}: {str(error)[:100]}"
        return Reject(f"{PROJECTS[0]}:{part.name}", reason, problem, len(line))
    known = _DBNAME.fullmatch(dbname)
    project = known[2] if known and known[2] != "wiki" else PROJECTS[0]
    site = Site(dbname, language, url[: url.rfind("/") + 1], {}, project)
    revised = as_of(part.name, str(page.get("date_modified") or ""))
    return RenderedPage(f"{dbname}:{number}", site, title, site.url(title, revision), html, namespace, revised, where)


def _from_head(html: bytes, part: FileRange) -> RenderedPage | Reject:
    """Read a page of the REST API, whose head names its wiki, number and revision."""
    head = etree.HTML(html[:_HEAD_BYTES] + b"<p>", etree.HTMLParser(encoding="utf-8"))  # never empty, which is an error
    found = {
        tag.get("property") or tag.get("rel") or tag.tag: tag.get("content") or tag.get("href") or tag.text or ""
        for tag in head.iter("base", "meta", "link", "title")
    }
    host, number = _HOST.match(found.get("dc:isVersionOf") or found.get("base") or ""), found.get("mw:pageId", "")
    if host is None or not _NUMBER.fullmatch(number):
        problem = "its head does not name a wiki and the number of the page, as pages of the REST API do"
        return Reject(f"{PROJECTS[0]}:{part.name}", "no-id", f"{part.name}: {problem}", len(html))
    title = found.get("title", "").strip() or Path(part.name).stem
    language, project = host[1], host[2]
    dbname = language.replace("-", "_") + ("wiki" if project == PROJECTS[0] else project)
    site = Site(dbname, language, f"https://{language}.{project}.org/wiki/", {}, project)
    namespace = int(found["mw:pageNamespace"]) if _NUMBER.fullmatch(found.get("mw:pageNamespace", "")) else 0
    url = site.url(title, head.get("about", "").rpartition("/")[2])
    revised = as_of(part.name, found.get("dc:modified", ""))
    text = html.decode("utf-8", "replace")
    return RenderedPage(f"{dbname}:{number}", site, title, url, text, namespace, revised, part.name)
