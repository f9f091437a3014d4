"""What `build-corpus` does."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from .base import FORMATS, FREE, Config
from .choice import ChoiceConfig
from .filters import FilterConfig

__all__ = ["CorpusConfig"]


@dataclass(frozen=True, kw_only=True)
class CorpusConfig(Config):
    """Documents from dumps, books and other text.

    `inline_templates` tells whether templates that carry words give them; `templates` are the user's tables of them, by the
    file's name its text; their digests are in the identity.  `exclude` are files of evaluation sets: name, path and SHA-256.
    `task_bytes` is the compressed input of one task and so of one shard; plain XML counts four times as much; 0 stands for a
    32nd of the input, but from 4 to 16 MB, and more where that gives over 40,000 tasks.  `max_documents` bounds what is read, for
    a trial; 0 is all.  `max_page_bytes` bounds a page, line or book in memory.  `max_rejects` is a share of the records.
    `text_documents` tells what of a plain file of text is a document, and `book_sentences` into documents of how many sentences a
    file is cut that holds books without a border between them.
    `verse` and `encoding` tell how books are read, as in `bertdata.sources.books.Reading`; `encoding` holds for plain text too.
    `sentence_splitter` names who splits sentences, as in `bertdata.sentences.choose`.
    """

    definition_lists: str = "drop"
    variant: str = ""
    inline_templates: bool = True
    templates: tuple[tuple[str, str], ...] = ()
    drop_disambiguation: bool = False
    text_column: str = "text"
    title_column: str = "title"
    id_column: str = ""
    text_documents: str = "file"
    book_sentences: int = 1000
    verse: str = "auto"
    encoding: str = ""
    language: str = ""
    sentence_splitter: str = "sentencex"
    filters: FilterConfig = FilterConfig()
    exclude: tuple[tuple[str, str, str], ...] = ()
    choice: ChoiceConfig = ChoiceConfig()
    max_documents: int = 0
    task_bytes: int = 0
    max_page_bytes: int = 16 << 20
    format: str = "arrow-stream"
    max_rejects: float = field(default=0.1, metadata=FREE)

    def __post_init__(self) -> None:
        self._require(self.format in FORMATS, f"--format {self.format}: use one of {', '.join(FORMATS)}")
        self._require(self.definition_lists in ("drop", "keep"), "--definition-lists: use drop or keep")
        self._require(self.text_documents in ("file", "blank-lines"), "--text-documents: use file or blank-lines")
        self._require(self.verse in ("auto", "keep", "drop"), "--verse: use auto, keep or drop")
        self._require(_is_encoding(self.encoding), f"--encoding {self.encoding}: no such encoding; gb18030 or koi8-r is one")
        self._require(self.book_sentences >= 2, "--book-sentences: use at least 2")
        self._require(self.task_bytes == 0 or self.task_bytes >= 1 << 16, "--task-bytes: use 65536 or more, or 0 for the default")
        self._require(self.max_documents >= 0, "--max-documents: use at least 1, or 0 for all")
        self._require(self.max_page_bytes >= 1 << 10, "--max-page-bytes: use at least 1024")
        self._require(0 <= self.max_rejects <= 1, "--max-rejects: use a share between 0 and 1")
        self._require(self.inline_templates or not self.templates, "--templates does nothing with --no-inline-templates")

    def identity(self) -> dict[str, Any]:
        """Return the fields that the output's bytes depend on; of files of the user their digests."""
        tables = [{"name": name, "sha256": hashlib.sha256(text.encode()).hexdigest()} for name, text in self.templates]
        excluded = [{"name": name, "sha256": sha256} for name, _, sha256 in self.exclude]
        return {**super().identity(), "templates": tables, "exclude": excluded}


def _is_encoding(name: str) -> bool:
    try:
        " ".encode(name or "utf-8")  # an empty text would be taken by any name
    except (LookupError, ValueError):
        return False
    return True
