"""The values that travel between stages: parts of input files, documents, drops, rejects and references."""

# No `from __future__ import annotations`: `bertdata.beam` makes schemas of these types, and Beam reads no annotations as strings.
from typing import NamedTuple

__all__ = [
    "PARAGRAPH",
    "UNSPACED",
    "Article",
    "Document",
    "Drop",
    "FileRange",
    "Page",
    "Prose",
    "Reject",
    "Report",
    "Task",
]

PARAGRAPH = "\n\n"  # between the paragraphs of a document's text
UNSPACED = ("。", "！", "？", "｡", "」", "』", "）")  # ends of sentences after which a document's text has no space


class FileRange(NamedTuple):
    """The bytes ``[start, end)`` of an input file; of a corpus' shard the record batches ``[start, end)``.

    `name` is the file's path below the common parent of all inputs of its kind, so that it is the same on every machine;
    `path` is where the file is on this one.
    """

    name: str
    path: str
    start: int
    end: int


class Task(NamedTuple):
    """What one call of a worker does: `number` names the output, `parts` are the ranges of files that it reads."""

    number: int
    kind: str
    parts: tuple[FileRange, ...]

    def names(self) -> list[list[str | int]]:
        """Return name, start and end of each part of a file: what the task is, wherever its files are."""
        return [[part.name, part.start, part.end] for part in self.parts]

    def paths(self) -> dict[str, str]:
        """Return where each of its files is on this machine."""
        return {part.name: part.path for part in self.parts}


class Report(NamedTuple):
    """Where a finished task's report is: in its records of these `steps`, the later one over the earlier; and its digest."""

    number: int
    steps: tuple[str, ...]
    digest: int


class Page(NamedTuple):
    """A page of a MediaWiki dump. `redirect`: whether it has a ``<redirect>`` tag. `revised`: the time of its revision."""

    id: str
    title: str
    namespace: int
    model: str
    redirect: bool
    text: str
    revised: str = ""


class Article(NamedTuple):
    """A page of an encyclopedia, as wikitext.

    Attributes:
        id: The wiki's name and the page's number, such as ``enwiki:12``.
        language: Language code of the wiki.
        title: Title of the page.
        url: Address of the page.
        wikitext: The text of the page, with its markup.
        namespaces: Numbers of the wiki's namespaces, by lower-case name.
        file: Name of the dump, for messages.
        as_of: Time of this copy of the page, in seconds since 1970, or 0 if unknown.
        project: Project of the wiki, such as wikipedia or wikivoyage.
    """

    id: str
    language: str
    title: str
    url: str
    wikitext: str
    namespaces: dict[str, int]
    file: str = ""
    as_of: int = 0
    project: str = "wikipedia"


class Prose(NamedTuple):
    """The paragraphs of a document before they are split into sentences.

    Attributes:
        id: Name of the document, which no other document has.
        source: Kind of input: wikipedia or a sister project, books, text or a reader function.
        language: Language code, or an empty string to detect it.
        title: Title of the document.
        url: Address of the document.
        paragraphs: The text, one paragraph per string.
        as_of: As in `Article`.
        is_split: Whether the paragraphs are the sentences of one paragraph.
    """

    id: str
    source: str
    language: str
    title: str
    url: str
    paragraphs: list[str]
    as_of: int = 0
    is_split: bool = False


class Document(NamedTuple):
    """A document: sentences in order; paragraph i is ``sentences[paragraph_starts[i]:paragraph_starts[i + 1]]``.

    `as_of` is the date of a page's copy in seconds since 1970, 0 if unknown. It is not stored in shards.

    >>> Document("enwiki:12", "wikipedia", "en", "Tea", "", ["One.", "Two.", "Three."], [0, 2]).paragraphs()
    [['One.', 'Two.'], ['Three.']]
    """

    id: str
    source: str
    language: str
    title: str
    url: str
    sentences: list[str]
    paragraph_starts: list[int]
    as_of: int = 0

    def paragraphs(self) -> list[list[str]]:
        """Return the sentences, paragraph by paragraph."""
        ends = [*self.paragraph_starts, len(self.sentences)][1:]
        return [self.sentences[start:end] for start, end in zip(self.paragraph_starts, ends, strict=True)]


class Drop(NamedTuple):
    """A record filtered out on purpose. It is counted by reason, and listed with the deciding value if it has an `id`."""

    reason: str
    id: str = ""
    detail: str = ""


class Reject(NamedTuple):
    """A malformed record. It is counted by reason and listed with its place in the input."""

    id: str
    reason: str
    where: str
    lost: int = 0  # bytes of the input, more than the record's own, that could not be read
