"""Define the records inside a manifest: entries of files and inputs, and counts of sources, formulas, words and rows.

The order of the fields is their order in manifest.json. A field that is None is omitted. See docs/reference/manifest.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..codec import Count, Number, Record
from ..tally import StageCounts


class File(Record, frozen=True, kw_only=True):
    """A file of a dataset."""

    name: str
    bytes: Count
    sha256: str


class RowFile(File, frozen=True, kw_only=True):
    """A file with rows: a shard, or a list of rejects or drops. Arrow files have `batches`, and documents have `text_bytes`."""

    rows: Count
    batches: Count = 0
    text_bytes: Count = 0


class Input(Record, frozen=True, kw_only=True):
    """An input file of a corpus, or a shard of the dataset from which another one was made.

    Only dumps have a `cut` and `date`. A trial run has no digest. The manifest of rows names the inputs of its corpus
    without sizes.
    """

    name: str
    source: str
    licence: str
    bytes: Count = 0
    sha256: str = ""
    pieces: Count = 0
    cut: str = ""
    documents: str = ""
    date: str = ""


class Amounts(Record, frozen=True, kw_only=True):
    """The text of one language."""

    documents: Count
    words: Count
    characters: Count


class SourceEntry(Record, frozen=True, kw_only=True):
    """The documents and text of a source, and the text removed from it."""

    documents: Count
    text_bytes: Count
    removed_words: Count | None = None
    trimmed_documents: Count | None = None
    removed_paragraphs: Count | None = None
    unsplit_documents: Count | None = None
    """Documents that are one sentence of more than 1,000 characters."""
    words: Count
    characters: Count
    share: Number
    languages: dict[str, Amounts]
    dropped_marks: dict[str, Count] | None = None
    edits: dict[str, Count] | None = None


class DroppedTemplates(Record, frozen=True, kw_only=True):
    """Templates that are in no table: number of calls, and the most frequent names."""

    calls: Count
    most_frequent: Sequence[tuple[str, Count]]


class TemplateRevision(Record, frozen=True, kw_only=True):
    """A template page of a dump: the time of its revision, and the digest of its text."""

    revised: str
    sha256: str


class LearnedTemplates(Record, frozen=True, kw_only=True):
    """Templates learned from a wiki's dump, the digest of all of them, and the reason for each template that was not learned."""

    wiki: str
    sha256: str
    templates: dict[str, TemplateRevision]
    unknown: dict[str, str]


class Formulas(Record, frozen=True, kw_only=True):
    """Counts of formulas by tag or template, and of sentences dropped with a formula."""

    found: dict[str, Count]
    written: dict[str, Count]
    dropped: dict[str, Count]
    left_out: dict[str, Count]
    dropped_sentences: Count


class Sample(Record, frozen=True, kw_only=True):
    """The part of a corpus from which a vocabulary was trained."""

    share: Number
    bytes: Count
    words: Count
    distinct_words: Count


class Coverage(Record, frozen=True, kw_only=True):
    """How a vocabulary covers the words of one language."""

    words: Count
    unknown_share: Number
    split_share: Number
    pieces_per_word: Number
    longest_split: dict[str, str]


class CorpusInfo(Record, frozen=True, kw_only=True):
    """The corpus from which rows were made."""

    rows: Count
    counts: Sequence[StageCounts]
    sources: dict[str, SourceEntry]
    inputs: Sequence[Input]
    further_inputs: Count


class Pairing(Record, frozen=True, kw_only=True):
    """Counts of pairs whose A has one value of a fact: all, NotNext pairs, and NotNext pairs whose B has another value."""

    pairs: Count
    not_next: Count
    other: Count


class Statistics(Record, frozen=True, kw_only=True):
    """Counts of rows, of all rows or of a split. Only a split has `shards`."""

    shards: Count | None = None
    rows: Count
    documents: Count
    repeated_ids: Count
    tokens: Count
    parts: Count | None = None
    not_next: Count | None = None
    not_next_share: Number | None = None
    swapped: Count | None = None
    swapped_share: Number | None = None
    mean_length: Number
    padding_share: Number
    unknown_share: Number
    masked: Count | None = None
    masked_share: Number | None = None
    max_predictions: Count | None = None

    @property
    def ones(self) -> int:
        """The number of pairs with label 1, NotNext or swapped."""
        return self.not_next if self.not_next is not None else self.swapped or 0

    @property
    def ones_share(self) -> float:
        """The share of pairs with label 1."""
        return self.not_next_share if self.not_next_share is not None else self.swapped_share or 0.0
