"""List the kinds of input that `build-corpus` reads, with their option names, help and file suffixes.

To add a kind, add an entry here and one in `bertdata/stages/corpus/sources.py` that splits its files into tasks and reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

Paths = str | Path | Sequence[str | Path]  # of an argument
_COMPRESSED_SUFFIXES = (".bz2", ".gz", ".xz", ".zst")
_JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")  # .json: only files whose first line is an object
DELIMITED = tuple(f"{suffix}{packer}" for suffix in (".csv", ".tsv") for packer in ("", *_COMPRESSED_SUFFIXES))
JSON_LINES = tuple(f"{suffix}{packer}" for suffix in _JSON_SUFFIXES for packer in ("", *_COMPRESSED_SUFFIXES))
TABLES = (*JSON_LINES, ".parquet", ".arrow", *DELIMITED)  # one text per row
ARCHIVES = (".tar", ".tgz", *(f".tar{packer}" for packer in _COMPRESSED_SUFFIXES), ".zip")  # one book or text per member
MARKDOWN = (".md", ".markdown")
PLAIN = (".txt", *MARKDOWN, ".train", ".dev", ".test")  # plain text; BabyLM names its splits .train, .dev and .test
WIKI_LICENCE = "CC BY-SA, as the wiki states"  # marks wiki text for the data card, also if it was read from a table

PROJECTS = (  # sources of documents from dumps, by the address in a dump's header
    "wikipedia",
    "wikibooks",
    "wikinews",
    "wikiquote",
    "wikisource",
    "wikiversity",
    "wikivoyage",
    "wiktionary",
)


class Input(NamedTuple):
    """A kind of input: the file suffixes to read from a directory or glob, and the help of its option."""

    suffixes: tuple[str, ...]
    help: str
    metavar: str = "PATH"


INPUTS = {  # by option name, in the order in which a corpus stores them
    "wikipedia": Input(
        (".xml", *(f".xml{packer}" for packer in _COMPRESSED_SUFFIXES)),
        "MediaWiki dump: file, glob, directory or URL. Formats: .xml, optionally compressed (.bz2, .gz, .xz, .zst).",
        "DUMP",
    ),
    "wikipedia_html": Input(
        (".tar.gz", ".tgz", ".tar", ".html", *(f".ndjson{packer}" for packer in ("", *_COMPRESSED_SUFFIXES))),
        "Pages as HTML: file, glob or directory. Formats: Enterprise HTML dumps (.json.tar.gz), their .ndjson files, and .html "
        "pages of the REST API.",
    ),
    "books": Input(
        (".txt", ".epub", *ARCHIVES, *TABLES),
        "Books: file, glob, directory or URL. Formats: .txt and .epub, .zip or .tar archives of them, and tables with one book "
        "per row (.jsonl, .csv, .tsv, .parquet, .arrow). .tar, .jsonl, .csv and .tsv may be compressed (.gz, .bz2, .xz, .zst).",
    ),
    "text": Input(
        (*PLAIN, *ARCHIVES, *TABLES),
        "Other text: file, glob, directory or URL. Formats: .txt and .md files, .zip or .tar archives of them, and tables with "
        "one text per row (.jsonl, .csv, .tsv, .parquet, .arrow). .tar, .jsonl, .csv and .tsv may be compressed (.gz, .bz2, .xz, "
        ".zst).",
    ),
}


def formats(suffixes: tuple[str, ...]) -> str:
    """Return the formats with these suffixes for a message, as the help of their option names them.

    >>> formats(INPUTS["wikipedia"].suffixes), formats((".txt", ".md"))
    ('.xml, optionally compressed (.bz2, .gz, .xz, .zst)', '.txt, .md')
    """
    named = (kind.help.partition("Formats: ")[2].rstrip(".") for kind in INPUTS.values() if kind.suffixes == suffixes)
    return next(named, ", ".join(suffixes))


def paths_of(paths: Paths) -> tuple[str, ...]:
    """Return one path, or several, as strings.

    >>> paths_of("dumps/*.bz2"), paths_of([Path("a"), "b"])
    (('dumps/*.bz2',), ('a', 'b'))
    """
    return (str(paths),) if isinstance(paths, str | Path) else tuple(map(str, paths))
