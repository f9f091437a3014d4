"""Read dumps, extract paragraphs and split sentences in your own Beam pipeline.

    import json

    import apache_beam as beam
    from bertdata.pipelines.transforms import ExtractParagraphs, ReadWikipedia, SplitSentences

    with beam.Pipeline() as pipeline:
        (
            pipeline
            | ReadWikipedia("dumps/*.bz2")
            | ExtractParagraphs()
            | SplitSentences()
            | beam.Map(lambda document: json.dumps({"title": document.title, "text": " ".join(document.sentences)}))
            | beam.io.WriteToText("text", ".jsonl")
        )

Records that are dropped or broken are counted, by reason, as Beam metrics of the namespace ``bertdata``. To make a corpus, pass
the JSON lines to ``bertdata build-corpus --text``.
"""

# No `from __future__ import annotations`: Beam reads no annotations as strings.
from collections import Counter
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics

from bertdata.config import CorpusConfig
from bertdata.config.input_kinds import INPUTS
from bertdata.records import Article, Document, Drop, FileRange, Prose, Reject
from bertdata.sources.inputs import find
from bertdata.stages.corpus.source_records import document, up_to_limits
from bertdata.stages.corpus.wikipedia import extract, ranges, read_articles
from bertdata.storage.files import size

__all__ = ["ExtractParagraphs", "ReadWikipedia", "SplitSentences"]

_RANGE_BYTES = 16 << 20


class _Transform(beam.PTransform):
    """A transform whose options are fields of `CorpusConfig`."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._config = CorpusConfig.with_options(None, {"learn_templates": False, **options})


class ReadWikipedia(_Transform):
    """Read the articles of MediaWiki dumps, given as files, globs, directories or addresses in a store."""

    def __init__(self, *paths: str, **options: Any) -> None:
        super().__init__(**options)
        self._files = find(paths, INPUTS["wikipedia"].suffixes, "ReadWikipedia")

    def expand(self, begin: Any) -> Any:
        return (
            begin
            | "Files" >> beam.Create(self._files)
            | "Cut" >> beam.FlatMap(_ranges, self._config).with_output_types(FileRange)
            | "Spread" >> beam.Reshuffle()
            | "Read" >> beam.FlatMap(_articles, self._config).with_output_types(Article)
        )


class ExtractParagraphs(_Transform):
    """Extract the paragraphs of running prose from articles, without lists, tables and headings."""

    def expand(self, articles: Any) -> Any:
        return articles | beam.FlatMap(_paragraphs, self._config).with_output_types(Prose)


class SplitSentences(_Transform):
    """Split paragraphs into sentences, and drop records without prose."""

    def expand(self, prose: Any) -> Any:
        return prose | beam.FlatMap(_sentences, self._config).with_output_types(Document)


def _ranges(file: tuple[str, str], config: CorpusConfig) -> Iterator[FileRange]:
    name, path = file
    for start, end in ranges(path, size(path), _RANGE_BYTES, config):
        yield FileRange(name, path, start, end)


def _articles(part: FileRange, config: CorpusConfig) -> Iterator[Article]:
    for record in up_to_limits(read_articles(part, config), part, "wikipedia"):
        yield from _kept(record)


def _paragraphs(article: Article, config: CorpusConfig) -> Iterator[Prose]:
    yield from _kept(extract(article, config, Counter()))


def _sentences(prose: Prose, config: CorpusConfig) -> Iterator[Document]:
    yield from _kept(document(prose, config))


def _kept(record: Any) -> Iterator[Any]:
    """Yield a record, or count why it is none."""
    if isinstance(record, Drop | Reject):
        kind = "drops" if isinstance(record, Drop) else "rejects"
        Metrics.counter("bertdata", f"{kind}: {record.reason}").inc()
    else:
        yield record
