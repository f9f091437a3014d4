"""Configure `build-corpus`: how to read the inputs and which text to drop."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from .base import FILES, FREE, Config, Count, Share, option
from .choice import ChoiceConfig
from .filters import DROPPED, FilterConfig
from .languages import problem_of

_READ, _WIKIPEDIA, _BOOKS, _OUTPUT = "Input", "Wikipedia", "Books and text", "Output"  # the sections of `--help`


@dataclass(frozen=True, kw_only=True)
class CorpusConfig(Config):
    """Settings for extracting documents from dumps, books and other text.

    Attributes:
        templates: Your template tables, as (file name, text). The identity stores their digests.
        learned: What a run learned from template pages, as (wiki, JSON). The run's identity stores the digests.
        unpacked: The directory with the pieces of large archives of rendered pages, which a run sets.
        filters: Bounds that each document must meet.
        exclude: Files of evaluation sets, as (name, path, SHA-256). The identity stores their digests.
        exclude_ids: Files of document ids to drop, in the same form as `exclude`.
        choice: Deduplication and sampling, which look at all documents together.
        map_functions: Your functions that edit or drop documents, as ``module:function``.
        functions: SHA-256 of the source code of all your functions, by name.
    """

    variant: str = option("", "Language variant of the wiki, such as zh-cn or zh-tw.", section=_WIKIPEDIA, metavar="CODE")
    templates: tuple[tuple[str, str], ...] = option(
        (), "TOML file with your own templates. They override the built-in ones.", section=_WIKIPEDIA, metavar="FILE", files=True
    )
    learn_templates: bool = option(
        True, "For templates missing from the tables, read their text from the dump's template pages.", section=_WIKIPEDIA
    )
    learned: tuple[tuple[str, str], ...] = field(default=(), metadata={**FILES, **FREE})
    unpacked: str = field(default="", metadata={**FILES, **FREE})
    math: Literal["text", "tex", "drop"] = option(
        "text",
        "How to handle formulas. text: convert simple ones to plain text, and drop the sentences of the others. tex: keep TeX. "
        "drop: drop only the formulas.",
        section=_WIKIPEDIA,
    )
    namespaces: tuple[str, ...] = option(
        (),
        "Namespaces whose pages become documents, by name or number, such as 0,Cookbook.",
        section=_WIKIPEDIA,
        metavar="NAMES",
        unset="0; for Wikibooks also Cookbook and Wikijunior",
    )
    text_column: str = option("text", "Column with the text.", section=_BOOKS)
    title_column: str = option("title", "Column with the title.", section=_BOOKS)
    id_column: str = option("", "Column with the document id.", section=_BOOKS, unset="its position in the file")
    text_documents: Literal["file", "blank-lines", "lines"] = option(
        "file",
        "How to split plain `text` files into documents. file: one document per file. blank-lines: split at blank lines. "
        "lines: split every `text_lines` lines, and before each line of the form = = = Title = = =.",
        section=_BOOKS,
    )
    text_lines: Annotated[int, Meta(ge=1, le=1_000_000)] = option(
        1000, "Maximum number of lines per document, with `text_documents` lines.", section=_BOOKS
    )
    verse: Literal["auto", "keep", "drop"] = option(
        "auto",
        "How to handle verse in books. auto keeps poems and plays but drops verse quoted in prose.",
        section=_BOOKS,
    )
    footnotes: Literal["keep", "drop"] = option(
        "keep",
        "Keep footnotes of .txt books as paragraphs, without their marks, or drop them. Notes of EPUB books are always dropped.",
        section=_BOOKS,
    )
    encoding: str = option(
        "",
        "Character encoding of books, plain text, .csv and .tsv, such as gb18030.",
        section=_BOOKS,
        metavar="NAME",
        unset="detected",
    )
    language: str = option("", "Language of the input.", section=_READ, metavar="CODE", unset="detected", first=True)
    sentence_splitter: str = option(
        "sentencex",
        "Sentence splitter: sentencex, or your function, module:function.",
        section=_READ,
        metavar="NAME",
    )
    filters: FilterConfig = FilterConfig()
    exclude: tuple[tuple[str, str, str], ...] = option(
        (),
        "Drop documents that overlap with this evaluation set: 13 consecutive words. File: .txt (one example per line), .jsonl.",
        section=DROPPED,
        metavar="FILE",
        first=True,
        files=True,
    )
    exclude_ids: tuple[tuple[str, str, str], ...] = option(
        (),
        "Drop the documents whose ids are in this file, such as take-down requests. One id per line.",
        section=DROPPED,
        metavar="FILE",
        first=True,
        files=True,
    )
    choice: ChoiceConfig = ChoiceConfig()
    map_functions: tuple[str, ...] = ()
    functions: tuple[tuple[str, str], ...] = field(default=(), metadata=FILES)
    max_documents: Count = option(
        0,
        "Maximum number of documents, taken evenly from the start of every task, for a quick trial.",
        section=_READ,
        unset="all",
        first=True,
    )
    task_bytes: Count = option(
        0,
        "Input bytes per task, at least 65,536; each task writes one shard. Uncompressed XML counts as a quarter of its size.",
        section=_OUTPUT,
        unset="1/64 of the input, from 2 to 16 MB; larger if that makes more than 40,000 tasks",
    )
    max_page_bytes: Annotated[int, Meta(ge=1 << 10, le=1 << 31)] = option(
        16 << 20, "Maximum size in bytes of a page, line or book. Larger ones are rejected.", section=_OUTPUT
    )
    max_rejects: Share = option(
        0.1,
        "Maximum share of rejected records, and of damaged bytes. The run fails above it.",
        section=_OUTPUT,
        identity=False,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(
            not 0 < self.task_bytes < 1 << 16, f"`task_bytes` is {self.task_bytes}: use 65,536 or more", field="task_bytes"
        )
        self._require(
            _is_encoding(self.encoding),
            f"`encoding` {self.encoding}: no such encoding; gb18030 or koi8-r is one",
            field="encoding",
        )
        self._require(bool(self.text_column), "`text_column`: empty. Use the name of a column", field="text_column")
        problem = problem_of(self.language) if self.language else ""
        self._require(not problem, f"`language`: {problem}", field="language")

    def identity(self) -> dict[str, object]:
        """Return the fields that affect the output's bytes. User files are represented by their digests."""
        files = {name: [(file, sha256) for file, _, sha256 in getattr(self, name)] for name in ("exclude", "exclude_ids")}
        files["templates"] = [(name, hashlib.sha256(text.encode()).hexdigest()) for name, text in self.templates]
        files["functions"] = [*self.functions]
        digests = {key: [{"name": name, "sha256": sha256} for name, sha256 in pairs] for key, pairs in files.items()}
        return {**super().identity(), **digests}


def _is_encoding(name: str) -> bool:
    try:
        " ".encode(name or "utf-8")  # an empty string encodes without a lookup of the name
    except (LookupError, ValueError):
        return False
    return True
