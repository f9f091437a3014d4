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
from bertdata.records import Article, Drop, FileRange, Reject
from bertdata.sources.inputs import find
from bertdata.stages.corpus.source_records import document, up_to_limits, with_languages
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
            | "Cut" >> beam.FlatMap(_cut, self._config).with_output_types(FileRange)
            | "Spread" >> beam.Reshuffle()
            | "Read" >> beam.FlatMap(_read, self._config).with_output_types(Article)
        )


class ExtractParagraphs(_Transform):
    """Extract the paragraphs of running prose from articles, without lists, tables and headings."""

    def expand(self, articles: Any) -> Any:
        return articles | beam.FlatMap(lambda article, config: _kept(extract(article, config, Counter())), self._config)


class SplitSentences(_Transform):
    """Split paragraphs into sentences, and drop records without prose."""

    def expand(self, prose: Any) -> Any:
        return prose | beam.FlatMap(lambda record, config: _kept(document(next(with_languages([record])), config)), self._config)


def _cut(file: tuple[str, str], config: CorpusConfig) -> Iterator[FileRange]:
    return (FileRange(*file, start, end) for start, end in ranges(file[1], size(file[1]), _RANGE_BYTES, config))


def _read(part: FileRange, config: CorpusConfig) -> Iterator[Article]:
    return (article for record in up_to_limits(read_articles(part, config), part, "wikipedia") for article in _kept(record))


def _kept(record: Any) -> list[Any]:
    """Return a list of the record, or count why it is dropped."""
    if not isinstance(record, Drop | Reject):
        return [record]
    Metrics.counter("bertdata", f"{'drops' if isinstance(record, Drop) else 'rejects'}: {record.reason}").inc()
    return []
