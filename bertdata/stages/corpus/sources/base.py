"""Define a kind of input: how to find its files, split them into tasks and read them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from ....config import CorpusConfig
from ....records import Document, Drop, FileRange, Prose, Reject
from ....text import language
from ....text.sentences import is_lower_cased, split_sentences, splitter

Record = Prose | Drop | Reject
_CODE = re.compile(r"[A-Za-z]{2,8}(?:[_-][A-Za-z0-9]{1,8}){0,3}")  # language code with optional script, region, variant
_SPACE = re.compile(r"\s")
_MAX_PARAGRAPH_CHARACTERS = 1 << 20  # characters split into sentences in one call
_MAX_SENTENCES = 500_000  # sentences per document; a book has ten thousand


class Counts(NamedTuple):
    """What a task counts besides its records: text and markup left out, by name.

    `bertdata.stages.corpus_report` describes the names.
    """

    numbers: Counter[str]

    def add(self, group: str, counts: Mapping[str, int]) -> None:
        """Add counts below the name of a group."""
        self.numbers.update({f"{group}/{name}": count for name, count in counts.items()})


@dataclass(frozen=True)
class Source:
    """A kind of input, as `build-corpus` uses it.

    name: the name used in ``--books``, in the manifest and in `mix`.
    stage: the stage name under which the manifest counts it.
    licence: the licence on the data card if the input declares none.
    suffixes: file suffixes that a directory or a glob matches; "" matches any.
    ranges(path, size, target, config): byte ranges of about `target` bytes that a task can read independently.
    read(parts, config, counts): the prose, drops and rejects of file ranges, in order; `counts` receives the omitted text.
    describe(parts, config): manifest fields of a file other than its name and size.
    grouped: whether small files share a task.
    """

    name: str
    stage: str
    licence: str
    suffixes: tuple[str, ...]
    ranges: Callable[[str, int, int, CorpusConfig], list[tuple[int, int]]]
    read: Callable[[list[FileRange], CorpusConfig, Counts], Iterator[Record]]
    describe: Callable[[list[FileRange], CorpusConfig], dict[str, str]] = lambda parts, config: {}
    grouped: bool = True


def document(prose: Prose, config: CorpusConfig) -> Document | Drop | Reject:
    """Split paragraphs into sentences, and detect the language if the prose has no valid language code."""
    id, source, code, title, url, paragraphs, as_of, is_split, licence = prose
    code = config.language or code
    if not _CODE.fullmatch(code):
        code = language.guess("\n".join(paragraphs))
    if is_split:
        return Document(id, source, code, title, url, paragraphs, [0], as_of, licence)
    sentences: list[str] = []
    starts: list[int] = []
    split = splitter(config.sentence_splitter)
    if split is split_sentences and is_lower_cased("\n".join(paragraphs), len(paragraphs)):
        split = partial(split_sentences, lower_cased=True)
    for paragraph in paragraphs:
        begin = len(sentences)
        for part in _parts(paragraph):
            sentences += split(part, code)
            if len(sentences) > _MAX_SENTENCES:
                return Reject(id, "too-large", f"{id}: more than {_MAX_SENTENCES} sentences")
        if len(sentences) > begin:
            starts.append(begin)
    if not sentences:
        return Drop("no prose", id)
    return Document(id, source, code, title, url, sentences, starts, as_of, licence)


def _parts(paragraph: str) -> Iterator[str]:
    """Cut a paragraph of over a million characters at word ends. Splitting it in one call takes many times its size in memory."""
    start = 0
    while len(paragraph) - start > _MAX_PARAGRAPH_CHARACTERS:
        space = _SPACE.search(paragraph, start + _MAX_PARAGRAPH_CHARACTERS)
        end = space.start() if space else len(paragraph)
        yield paragraph[start:end]
        start = end
    yield paragraph[start:] if start else paragraph
