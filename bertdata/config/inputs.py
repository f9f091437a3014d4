"""List the kinds of input that `build-corpus` reads: the names of their options and arguments, their help, and their files.

A kind is an entry here and a file in `bertdata/build/corpus/sources/`, which says how such files are cut into tasks and read.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ARCHIVES", "DELIMITED", "INPUTS", "ONE_OF", "PLAIN", "TABLES", "WIKI_LICENCE", "Input"]

_PACKED = (".bz2", ".gz", ".xz", ".zst")
DELIMITED = tuple(f"{suffix}{packer}" for suffix in (".csv", ".tsv") for packer in ("", *_PACKED))
TABLES = (".jsonl", *(f".jsonl{packer}" for packer in _PACKED), ".parquet", ".arrow", *DELIMITED)  # a text a row
ARCHIVES = (".tar", *(f".tar{packer}" for packer in _PACKED), ".zip")  # a book or text a member
PLAIN = (".txt", ".train", ".dev", ".test")  # plain text; the last three are of the splits of a dataset, as BabyLM names them
ONE_OF = "one of: "  # begins the licences of documents that a manifest does not tell apart; "; " stands between them
WIKI_LICENCE = "CC BY-SA, as the wiki states"  # by which a data card knows text of wikis, also where it came by way of a table


class Input(NamedTuple):
    """A kind of input: the suffixes of the files that a directory or a glob stands for, and what `--help` says."""

    suffixes: tuple[str, ...]
    help: str
    metavar: str = "PATH"


INPUTS = {  # by the name of the option; in the order in which a corpus has them
    "wikipedia": Input(
        (".xml", *(f".xml{packer}" for packer in _PACKED)),
        "MediaWiki dump: .xml, plain or with .bz2, .gz, .xz, .zst; file, glob or directory.",
        "DUMP",
    ),
    "books": Input(
        (".txt", ".epub", *ARCHIVES, *TABLES),
        "Books: .txt, .epub, or .zip or .tar of them; tables with a book per row (.jsonl, .csv, .tsv, .parquet, "
        ".arrow). .tar, .jsonl, .csv and .tsv may be compressed (.gz, .bz2, .xz, .zst). File, glob or directory.",
    ),
    "text": Input(
        (*PLAIN, *ARCHIVES, *TABLES),
        "Other text: .txt files, or .zip or .tar archives of them; tables with a text per row (.jsonl, .csv, .tsv, .parquet, "
        ".arrow). .tar, .jsonl, .csv and .tsv may be compressed (.gz, .bz2, .xz, .zst). File, glob or directory.",
    ),
}
