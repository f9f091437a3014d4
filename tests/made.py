"""Books and tables as other programs write them, made small from our own words."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bertdata.records import Drop, FileRange, Prose, Reject
from bertdata.sources import books, text
from bertdata.sources.books import read_books
from bertdata.sources.tables import Columns
from bertdata.sources.text import read_text

SENTENCES = [
    "The kettle began to sing a little after four, as it had done every day.",
    "Nobody in the harbour office had seen the grey ferry come in.",
    "She counted the lamps on the long bridge, and there were seven of them.",
]
CONTAINER = (
    '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
XHTML = "application/xhtml+xml"


def page(body: str, *, head: str = "<title>A page</title>", body_type: str = "") -> str:
    """A page of a book as converters write it."""
    kind = f' epub:type="{body_type}"' if body_type else ""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" '
        f'xmlns:epub="http://www.idpf.org/2007/ops">\n<head>{head}</head>\n<body{kind}>\n{body}\n</body>\n</html>\n'
    )


def package(
    pages: Iterable[str], *, title: str = "The Kettle", language: str = "en-GB", items: str = "", spine: str = "", guide: str = ""
) -> str:
    """A package that lists pages of the folder ``text`` in order."""
    names = list(pages)
    manifest = "".join(f'<item id="p{n}" href="text/{name}" media-type="{XHTML}"/>' for n, name in enumerate(names))
    refs = "".join(f'<itemref idref="p{n}"/>' for n in range(len(names)))
    return (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title><dc:language>{language}</dc:language></metadata>'
        f"<manifest>{manifest}{items}</manifest><spine>{refs}{spine}</spine>{guide}</package>"
    )


def epub(pages: dict[str, str | bytes], *, opf: str | None = None, more: dict[str, str | bytes] | None = None) -> bytes:
    """An EPUB of these pages, in this order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("OEBPS/content.opf", package(pages) if opf is None else opf)
        for name, text in pages.items():
            archive.writestr(f"OEBPS/text/{name}", text)
        for name, text in (more or {}).items():
            archive.writestr(name, text)
    return buffer.getvalue()


def plain_epub(*paragraphs: str) -> bytes:
    """An EPUB with one chapter."""
    return epub({"one.xhtml": page("<h1>One</h1>" + "".join(f"<p>{text}</p>" for text in paragraphs or SENTENCES))})


def tar(members: Iterable[tuple[str | tarfile.TarInfo, bytes]], *, form: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar file; a member is a name or, for what is no plain file, a header."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for head, data in members:
            info = head if isinstance(head, tarfile.TarInfo) else tarfile.TarInfo(head)
            if info.isreg():
                info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def book(number: int = 0) -> bytes:
    """The text of a book that is long enough to be none of the title page."""
    text = "\n\n".join(f"{sentence} It was the year {1900 + number}." for sentence in SENTENCES * 2)
    return f"Chapter One\n\n\n{text}\n".encode()


def write_arrow(path: Path, table: pa.Table, rows: int, *, stream: bool = True, end: bool = True) -> Path:
    """Write an Arrow file in batches of so many rows, as a stream or as a file."""
    buffer = io.BytesIO()
    writer = (pa.ipc.new_stream if stream else pa.ipc.new_file)(buffer, table.schema)
    for batch in table.to_batches(max_chunksize=rows):
        writer.write_batch(batch)
    if end:
        writer.close()
    path.write_bytes(buffer.getvalue())
    return path


def write_parquet(path: Path, table: pa.Table, rows: int, **options: Any) -> Path:
    """Write a Parquet file in row groups of so many rows."""
    pq.write_table(table, path, row_group_size=rows, **options)
    return path


def table(count: int = 20, **more: Any) -> pa.Table:
    """A table of short texts."""
    return pa.table(
        {
            "title": [f"Story {n}" for n in range(count)],
            "text": [f"{SENTENCES[n % 3]}\n\nIt was the day {n}." for n in range(count)],
            "key": [f"k{n}" for n in range(count)],
            **more,
        }
    )


def books_of(parts: list[FileRange], max_bytes: int = 1 << 20, columns: Columns | None = None) -> list[Prose | Drop | Reject]:
    return [record for part in parts for record in read_books(part, columns or Columns(), books.Reading(), max_bytes)]


def texts_of(parts: list[FileRange], max_bytes: int = 1 << 20, **options: Any) -> list[Prose | Drop | Reject]:
    return [record for part in parts for record in read_text(part, text.Reading(max_bytes=max_bytes, **options))]
