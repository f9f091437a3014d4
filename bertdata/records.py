"""Define the records that stages pass to each other: tasks, file ranges, pages, documents, drops and rejects."""

# No `from __future__ import annotations`: Beam makes schemas of these types, and reads no annotations as strings.
from typing import NamedTuple

PARAGRAPH = "\n\n"  # between the paragraphs of a document's text
UNSPACED = ("。", "！", "？", "｡", "」", "』", "）")  # ends of sentences after which a document's text has no space


class FileRange(NamedTuple):
    """A range of a file that a task reads.

    Attributes:
        name: Path below the common parent of all inputs of its kind, which is the same on every machine.
        path: Path on this machine.
        start: First byte. In a shard of a corpus: first record batch.
        end: Byte after the last one. In a shard of a corpus: record batch after the last one.
    """

    name: str
    path: str
    start: int
    end: int


class Task(NamedTuple):
    """The unit of work of a worker: the file ranges in `parts` become the output number `number`."""

    number: int
    kind: str
    parts: tuple[FileRange, ...]

    def names(self) -> list[list[str | int]]:
        """Return name, start and end of each file range. They identify the task on any machine."""
        return [[part.name, part.start, part.end] for part in self.parts]

    def paths(self) -> dict[str, str]:
        """Return the path on this machine of each file, by name."""
        return {part.name: part.path for part in self.parts}


class Page(NamedTuple):
    """A page of a MediaWiki dump.

    Attributes:
        id: Number of the page.
        title: Title of the page.
        namespace: Number of its namespace; 0 for articles.
        model: Content model, such as wikitext.
        redirect: Whether the page has a ``<redirect>`` tag.
        text: The wikitext.
        revised: Timestamp of the revision.
        revision: Number of the revision.
    """

    id: str
    title: str
    namespace: int
    model: str
    redirect: bool
    text: str
    revised: str = ""
    revision: str = ""


class Article(NamedTuple):
    """A page of an encyclopedia, as wikitext.

    Attributes:
        id: The wiki's name and the page's number, such as ``enwiki:12``.
        language: Language code of the wiki.
        title: Title of the page.
        url: Address of the page's revision.
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
        id: Unique id of the document.
        source: Kind of input: wikipedia or a sister project, books, text or a reader function.
        language: Language code, or an empty string to detect it.
        title: Title of the document.
        url: Address of the document.
        paragraphs: The text, one paragraph per string.
        as_of: As in `Article`.
        is_split: Whether the paragraphs are the sentences of one paragraph.
        licence: License of the text.
    """

    id: str
    source: str
    language: str
    title: str
    url: str
    paragraphs: list[str]
    as_of: int = 0
    is_split: bool = False
    licence: str = ""


class Document(NamedTuple):
    """A document: sentences in order; paragraph i is ``sentences[paragraph_starts[i]:paragraph_starts[i + 1]]``.

    `as_of` is the date of a page's copy in seconds since 1970, 0 if unknown. It is not stored in shards. `licence` is the
    license of the text.

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
    licence: str = ""

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
    lost: int = 0  # bytes of the input that could not be read, in addition to the record
