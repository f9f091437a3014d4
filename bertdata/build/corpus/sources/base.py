"""Describe a kind of input: how its files are found, cut into tasks and read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ....config import CorpusConfig
from ....records import Document, Drop, FileRange, Prose, Reject
from ....text import language
from ....text.sentences import splitter

__all__ = ["CHECKSUM", "INDEX", "Check", "Counts", "Record", "Source", "document"]

Record = Prose | Drop | Reject
CHECKSUM, INDEX = "checksum", "index"  # kinds of the tasks that check a file; what it should be follows ``checksum``
_CODE = re.compile(r"[A-Za-z]{2,8}(?:[_-][A-Za-z0-9]{1,8}){0,3}")  # of a language, with script, region and variant
_SPACE = re.compile(r"\s")
_LONGEST_PARAGRAPH = 1 << 20  # characters that are split into sentences at a time
_MOST_SENTENCES = 500_000  # of a document; a book has ten thousand


class Counts(NamedTuple):
    """What a task left out of its documents: calls of templates without words, an example of each, and formulas, marks
    of transcripts and subtitles (see `bertdata.sources.text.drop_marks`), and what stands beside the text of books (see
    `bertdata.sources.books.account`); and the licences that documents tell, by file (see `bertdata.sources.licences`)."""

    templates: Counter[str]
    examples: dict[str, str]
    formulas: Counter[str]
    marks: Counter[str]
    apparatus: Counter[str]
    licences: dict[str, Counter[str]]

    @classmethod
    def none(cls) -> Counts:
        """Return counts of nothing."""
        return cls(Counter(), {}, Counter(), Counter(), Counter(), {})


class Check(NamedTuple):
    """A task that checks a file: what its entry in the manifest says of it, the task's kind, and what it reads."""

    entry: dict[str, str]
    kind: str
    parts: list[FileRange]


@dataclass(frozen=True)
class Source:
    """What `build-corpus` has to know of a kind of input.

    name: as in ``--books``, in the manifest and in `mix`.  stage: what the manifest counts, in words.  licence: what the data
    card says where the input does not.  suffixes: of the files that a directory or a glob stands for; "" is that of any.

    ranges(path, size, target, config): byte ranges of about `target` bytes that a task can read by itself.
    read(parts, config, counts): the prose, drops and rejects of parts, in order; what is left out of them is counted.
    describe(parts, config): what the manifest says of a file beside its name and size.
    checks(parts): tasks that compare a file with what lies beside it and says what it should be.
    grouped: whether small files are put together in one task.
    """

    name: str
    stage: str
    licence: str
    suffixes: tuple[str, ...]
    ranges: Callable[[str, int, int, CorpusConfig], list[tuple[int, int]]]
    read: Callable[[list[FileRange], CorpusConfig, Counts], Iterator[Record]]
    describe: Callable[[list[FileRange], CorpusConfig], dict[str, Any]] = lambda parts, config: {}
    checks: Callable[[list[FileRange]], Iterator[Check]] = lambda parts: iter(())
    grouped: bool = True


def document(prose: Prose, config: CorpusConfig) -> Document | Drop | Reject:
    """Split paragraphs into sentences, and detect the language if the prose has no valid language code."""
    id, source, code, title, url, paragraphs, as_of, is_split = prose
    code = config.language or code
    if not _CODE.fullmatch(code):
        code = language.guess("\n".join(paragraphs))
    if is_split:
        return Document(id, source, code, title, url, paragraphs, [0], as_of)
    sentences: list[str] = []
    starts: list[int] = []
    for paragraph in paragraphs:
        begin = len(sentences)
        for part in _parts(paragraph):
            sentences += split_sentences(part, code, config.sentence_splitter)
            if len(sentences) > _MOST_SENTENCES:
                return Reject(id, "too-large", f"{id}: more than {_MOST_SENTENCES} sentences")
        if len(sentences) > begin:
            starts.append(begin)
    return Document(id, source, code, title, url, sentences, starts, as_of) if sentences else Drop("no prose", id)


def _parts(paragraph: str) -> Iterator[str]:
    """Cut a paragraph of over a million characters where a word ends: splitting it whole takes many times its memory."""
    start = 0
    while len(paragraph) - start > _LONGEST_PARAGRAPH:
        space = _SPACE.search(paragraph, start + _LONGEST_PARAGRAPH)
        end = space.start() if space else len(paragraph)
        yield paragraph[start:end]
        start = end
    yield paragraph[start:] if start else paragraph


def split_sentences(paragraph: str, code: str, names: str) -> list[str]:
    """Split a paragraph by the splitter of these names."""
    return splitter(names)(paragraph, code)
