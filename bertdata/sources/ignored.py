"""Count the files that no source reads, by suffix, and suggest how to convert the common ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from ..config.input_kinds import INPUTS
from ..errors import few
from .checksums import is_sums
from .multistream import is_index

__all__ = ["NO_SUFFIX", "by_suffix", "conversions", "describe"]

NO_SUFFIX = "no suffix"
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9_]{0,11}")  # anything else is part of the name, such as "v1.2"
_PACKERS = {".gz": "gunzip", ".bz2": "bunzip2", ".xz": "unxz", ".zst": "unzstd", ".lz4": "lz4 -d", ".br": "brotli -d"}
_PANDOC = "pandoc --to plain --wrap none --output FILE.txt FILE{suffix}"
_CONVERT = {
    **dict.fromkeys((".html", ".htm", ".docx", ".odt", ".rtf", ".md", ".rst", ".tex", ".fb2", ".ipynb"), _PANDOC),
    ".pdf": "pdftotext FILE.pdf FILE.txt",
    ".doc": "soffice --headless --convert-to txt FILE.doc",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "soffice --headless --convert-to csv FILE{suffix}"),
    **dict.fromkeys((".mobi", ".azw3"), "ebook-convert FILE{suffix} FILE.epub"),
    ".json": "jq --compact-output '.[]' FILE.json > FILE.jsonl",
    ".7z": "7z x FILE.7z",
    ".rar": "unrar x FILE.rar",
}
_CODE = (".py", ".pyc")
_MAX_NAMED = 8  # suffixes per line


def by_suffix(paths: Iterable[str]) -> dict[str, int]:
    """Count files by suffix, the most frequent first.

    Indexes and checksum files of dumps are excluded because a run uses them, and so is Python code, because readers and
    filters may be in the same folder as their input.

    >>> by_suffix(["a.pdf", "b.PDF", "notes.txt.gz", "LICENSE", "x-md5sums.txt"])
    {'.pdf': 2, '.txt.gz': 1, 'no suffix': 1}
    """
    names = (path.rpartition("/")[2] for path in paths)
    counts = Counter(_suffix(name) for name in names if not (is_sums(name) or is_index(name) or name.endswith(_CODE)))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0] == NO_SUFFIX, item[0])))


def _suffix(name: str) -> str:
    stem, dot, last = name.lower().rpartition(".")
    suffix = f".{last}"
    if not (stem and dot and _SUFFIX.fullmatch(suffix)):
        return NO_SUFFIX
    inner = f".{stem.rpartition('.')[2]}" if suffix in _PACKERS and "." in stem else ""
    return f"{inner}{suffix}" if _SUFFIX.fullmatch(inner) else suffix


def describe(counts: Mapping[str, int]) -> str:
    """Format counts by suffix as text.

    >>> describe({".pdf": 2, "no suffix": 1})
    '2 .pdf, 1 with no suffix'
    """
    return few([f"{n} with {suffix}" if suffix == NO_SUFFIX else f"{n} {suffix}" for suffix, n in counts.items()], _MAX_NAMED)


def conversions(suffixes: Iterable[str], kind: str) -> list[str]:
    """Return instructions to convert files with suffixes that `kind` does not read, one line per known suffix.

    >>> conversions([".docx", ".epub", ".exe"], "text")
    ['.docx: pandoc --to plain --wrap none --output FILE.txt FILE.docx', '.epub: use --books']
    """
    lines = []
    for suffix in suffixes:
        other = next((name for name, each in INPUTS.items() if name != kind and suffix in each.suffixes), "")
        how = f"use --{other}" if other else _CONVERT.get(suffix, "")
        packer = next((packer for packer in _PACKERS if suffix.endswith(packer)), "")
        if not how and packer and kind and suffix.removesuffix(packer) in INPUTS[kind].suffixes:
            how = f"{_PACKERS[packer]} FILE{suffix}"
        if how:
            lines.append(f"{suffix}: {how.format(suffix=suffix)}")
    return lines[:_MAX_NAMED]
