"""Configure `build-corpus`: what is read, how, and what is left out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from .base import FILES, FORMATS, Config, option
from .choice import ChoiceConfig
from .filters import FilterConfig
from .languages import problem_of

__all__ = ["CorpusConfig"]

_READ, _WIKIPEDIA, _BOOKS, _OUTPUT = "What to read", "Wikipedia", "Books and text", "Output"  # the sections of `--help`


@dataclass(frozen=True, kw_only=True)
class CorpusConfig(Config):
    """Documents from dumps, books and other text.

    `templates` are the user's tables of templates, by the file's name its text, and `exclude` files of evaluation sets: name,
    path and SHA-256; of both the digests are in the identity.  `exclude_ids` are files of ids to drop, and `depends_on` files
    that the user's own functions read, in the same form.  `filters` bound a document, `choice` looks at all of them together.
    `verse`, `footnotes` and `encoding` say how books are read, as in `bertdata.sources.books.Reading`; `encoding` is that of
    plain text too.
    `sentence_splitter` names who splits sentences, as in `bertdata.text.sentences.choose`.  `filter_functions` are filters of the
    user's own, ``module:function``, and `functions` the SHA-256 of the sources of all such functions, by name.
    """

    definition_lists: str = option(
        "drop",
        "Lines that begin with : or ; in a page: drop them as lists, or keep them as prose.",
        section=_WIKIPEDIA,
        choices=("drop", "keep"),
    )
    variant: str = option("", "Variant of a wiki with several, such as zh-cn or zh-tw.", section=_WIKIPEDIA, metavar="CODE")
    inline_templates: bool = option(
        True, "Keep the words of templates in running prose: measures, dates, foreign words.", section=_WIKIPEDIA
    )
    templates: tuple[tuple[str, str], ...] = field(default=(), metadata=FILES)
    math: str = option(
        "text",
        "Formulas: as text, where text can hold them, or else drop the sentence; as TeX; or drop them all, with the sentence or "
        "without it.",
        section=_WIKIPEDIA,
        choices=("text", "tex", "drop-sentence", "drop"),
    )
    drop_disambiguation: bool = option(False, "Drop disambiguation pages.", section=_WIKIPEDIA)
    text_column: str = option("text", "Column that holds the text.", section=_BOOKS)
    title_column: str = option("title", "Column that holds the title.", section=_BOOKS)
    id_column: str = option("", "Column that identifies a document.", section=_BOOKS, unset="its position in the file")
    text_documents: str = option(
        "file",
        "What is a document of a plain file of `text`: the file, what stands between blank lines, or so many lines "
        "(`text_lines`), or fewer up to a line = = = Title = = =.",
        section=_BOOKS,
        choices=("file", "blank-lines", "lines"),
    )
    text_lines: int = option(
        1000, "Lines of a document, at the most, with `text_documents` lines.", section=_BOOKS, least=1, most=1_000_000
    )
    text_marks: str = option(
        "keep",
        "Marks of speakers, music and italics at the lines of transcripts and subtitles in plain files of `text`, such as *MOT: "
        "or a dash: keep or drop them.",
        section=_BOOKS,
        choices=("keep", "drop"),
    )
    book_sentences: int = option(
        1000,
        "Sentences of a document of books_large_p1.txt and its like, where nothing tells where a book ends.",
        section=_BOOKS,
        least=2,
    )
    verse: str = option(
        "auto",
        "Verse in books: keep it, drop it, or keep poems and plays and drop what is quoted in prose (auto).",
        section=_BOOKS,
        choices=("auto", "keep", "drop"),
    )
    footnotes: str = option(
        "drop",
        "Footnotes in books, and the marks that lead to them: drop or keep them.",
        section=_BOOKS,
        choices=("drop", "keep"),
    )
    encoding: str = option(
        "",
        "Encoding of books, plain text, .csv and .tsv, such as gb18030.",
        section=_BOOKS,
        metavar="NAME",
        unset="as its bytes look",
    )
    language: str = option(
        "", "Language of the input.", section=_READ, metavar="CODE", unset="as the input says, or as its words look"
    )
    sentence_splitter: str = option(
        "sentencex",
        "Who splits sentences: sentencex, blingfire, regex or module:function; for one language too: blingfire,zh=sentencex.",
        section=_READ,
        metavar="NAME",
    )
    filters: FilterConfig = FilterConfig()
    exclude: tuple[tuple[str, str, str], ...] = field(default=(), metadata=FILES)
    exclude_ids: tuple[tuple[str, str, str], ...] = field(default=(), metadata=FILES)
    depends_on: tuple[tuple[str, str, str], ...] = field(default=(), metadata=FILES)
    choice: ChoiceConfig = ChoiceConfig()
    filter_functions: tuple[str, ...] = ()
    functions: tuple[tuple[str, str], ...] = field(default=(), metadata=FILES)
    max_documents: int = option(
        0,
        "Stop after so many documents, an equal part from the beginning of each task: for a quick trial.",
        section=_READ,
        least=1,
        unset="all",
    )
    task_bytes: int = option(
        0,
        "Input of one task, and so of one shard; plain XML counts a fourth.",
        section=_OUTPUT,
        least=1 << 16,
        unset="a 64th of the input, from 2 to 16 MB, and more where that gives over 40,000 tasks",
    )
    max_page_bytes: int = option(16 << 20, "Reject larger pages, lines and books.", section=_OUTPUT, least=1 << 10, most=1 << 31)
    format: str = option("arrow-stream", "Format of the shards.", section=_OUTPUT, choices=FORMATS)
    max_rejects: float = option(
        0.1, "Fail if a larger share of the input is broken.", section=_OUTPUT, least=0, most=1, identity=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(
            _is_encoding(self.encoding),
            f"`encoding` {self.encoding}: no such encoding; gb18030 or koi8-r is one",
            field="encoding",
        )
        self._require(bool(self.text_column), "`text_column`: give the name of a column", field="text_column")
        problem = problem_of(self.language) if self.language else ""
        self._require(not problem, f"`language`: {problem}", field="language")
        self._require(
            self.inline_templates or not self.templates, "`templates` does nothing without `inline_templates`", field="templates"
        )

    def identity(self) -> dict[str, Any]:
        """Return the fields that the output's bytes depend on; of files of the user their digests."""
        tables = [{"name": name, "sha256": hashlib.sha256(text.encode()).hexdigest()} for name, text in self.templates]
        values = {**super().identity(), "templates": tables}
        for name in ("exclude", "exclude_ids", "depends_on"):
            values[name] = [{"name": file, "sha256": sha256} for file, _, sha256 in getattr(self, name)]
        values["functions"] = [{"name": name, "sha256": sha256} for name, sha256 in self.functions]
        optional = ("filter_functions", "functions", "exclude_ids", "depends_on")
        return {name: value for name, value in values.items() if value or name not in optional}


def _is_encoding(name: str) -> bool:
    try:
        " ".encode(name or "utf-8")  # an empty text would be taken by any name
    except (LookupError, ValueError):
        return False
    return True
