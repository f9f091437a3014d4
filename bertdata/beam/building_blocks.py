"""Read dumps, books and text in a Beam pipeline, extract paragraphs and split sentences.

Every block calls the function that `bertdata build-corpus` calls for the same work, and returns a dict of PCollections:

    documents    Article, Prose or Document rows
    drops        SkippedRecord rows: records that were filtered out on purpose
    rejects      SkippedRecord rows: records that are broken
    inputs       InputFile rows: the files that were read

A block takes the dict of the block before it and passes its drops, rejects and inputs on, or it takes a PCollection of documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics

from ..config import CorpusConfig
from ..config.input_kinds import INPUTS, paths_of
from ..errors import UsageError
from ..keys import key
from ..records import Drop, FileRange, Reject
from ..sources.dumps import read_site
from ..sources.inputs import find
from ..stages.corpus.source_records import up_to_limits, with_languages
from ..stages.corpus.sources import Counts, source
from ..stages.corpus.sources.base import document
from ..stages.corpus.sources.wikipedia import extract, read_articles
from ..storage.files import to_path
from ..storage.storage import storage_errors
from .schemas import Article, Document, InputFile, Prose, SkippedRecord

__all__ = ["ExtractParagraphs", "ReadBooks", "ReadText", "ReadWikipedia", "SplitSentences", "config_of", "count", "take"]

_SKIPPED_OUTPUTS = ("drops", "rejects")
_RANGE_BYTES = 16 << 20
_UNUSED = ("filters", "choice", "exclude", "exclude_ids", "map_functions", "filter_functions", "depends_on", "max_documents")
Outputs = dict[str, Any]  # PCollections by the names above
Record = Article | Prose | Document | Drop | Reject


def take(inputs: Any) -> Outputs:
    """Return the outputs of the previous block, or a PCollection of documents as the only output."""
    return dict(inputs) if isinstance(inputs, Mapping) else {"documents": inputs}


def config_of(options: Mapping[str, Any]) -> CorpusConfig:
    """Return the configuration of a block. Raise UsageError for an option that no block uses."""
    if unused := next((name for name in (*_UNUSED, "learn_templates") if options.get(name)), ""):
        raise UsageError(
            f"`{unused}`: no block uses this option. Put a transform of your own between the blocks, or run build-corpus",
            field=unused,
            value=options[unused],
        )
    return CorpusConfig(**{"learn_templates": False, **options})


def count(kind: str, reason: str = "", number: int = 1) -> None:
    """Add to a Beam counter, such as ``drops: redirect`` in the namespace ``bertdata``. Commands add the step first."""
    Metrics.counter("bertdata", f"{kind}: {reason}" if reason else kind).inc(number)


class _Records(beam.DoFn):
    """Call a function that yields records, count them, and label each with its output."""

    def __init__(self, function: Callable[[Any], Iterable[tuple[str, Record]]]) -> None:
        self._function = function

    def process(self, element: Any) -> Iterator[tuple[str, Any]]:
        for kind, record in self._function(element):
            if isinstance(record, Drop):
                count("drops", record.reason)
                yield "drops", SkippedRecord(kind, record.reason, record.id, record.detail)
            elif isinstance(record, Reject):
                count("rejects", record.reason)
                yield "rejects", SkippedRecord(kind, record.reason, record.id, record.where, record.lost)
            else:
                count("documents")
                yield "documents", record


class _Block(beam.PTransform):
    """A transform whose options are fields of `CorpusConfig`."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._options, self._config = options, config_of(options)

    def display_data(self) -> dict[str, object]:
        """Return the options, which runners show in their UI."""
        return {name: value if isinstance(value, str | int | float) else str(value) for name, value in self._options.items()}

    def _split(self, records: Any, row: type, before: Outputs) -> Outputs:
        """Separate labeled records into outputs.

        Filters do this and not tagged outputs of a ParDo, because the Dask runner ignores tags. Runners fuse the filters into the
        step that makes the records.
        """
        outputs = {**before, "documents": records | "Documents" >> beam.FlatMap(_of, "documents").with_output_types(row)}
        for name in _SKIPPED_OUTPUTS:
            skipped = records | name.capitalize() >> beam.FlatMap(_of, name).with_output_types(SkippedRecord)
            earlier = before.get(name)
            outputs[name] = skipped if earlier is None else (earlier, skipped) | f"All {name}" >> beam.Flatten()
        return outputs


def _of(labeled: tuple[str, Any], name: str) -> Iterator[Any]:
    if labeled[0] == name:
        yield labeled[1]


class _Read(_Block):
    """Find the files of a kind of input, cut them into ranges, and read the ranges."""

    kind = ""
    row: type = Prose

    def __init__(self, paths: Any, **options: Any) -> None:
        super().__init__(**options)
        self._paths = paths_of(paths)

    def display_data(self) -> dict[str, object]:
        """Return the paths and options, which runners show in their UI."""
        return {"paths": ", ".join(self._paths), **super().display_data()}

    def expand(self, begin: Any) -> Outputs:
        files = begin | "Files" >> beam.Create(find(self._paths, INPUTS[self.kind].suffixes, self.label), reshuffle=False)
        inputs = files | "Inputs" >> beam.Map(_describe, self.kind).with_output_types(InputFile)
        records = (
            files
            | "Cut" >> beam.FlatMap(_ranges, self.kind, self._config).with_output_types(tuple[int, tuple[str, str, int, int]])
            | "Spread"
            >> beam.GroupByKey()  # otherwise a runner fuses cutting and reading, and one worker reads the complete file
            | "Read" >> beam.ParDo(_Records(_Reader(self.kind, self._config)))
        )
        return self._split(records, self.row, {"inputs": inputs})


def _describe(file: tuple[str, str], kind: str) -> InputFile:
    name, path = file
    with storage_errors(f"cannot read {path}"):
        return InputFile(_source(kind, path), name, to_path(path).stat().st_size, source(kind).licence)


def _source(kind: str, path: str) -> str:
    """Return the `source` of the documents of a file, which is the project of a dump."""
    return read_site(path).project if kind == "wikipedia" else kind


def _ranges(file: tuple[str, str], kind: str, config: CorpusConfig) -> Iterator[tuple[int, tuple[str, str, int, int]]]:
    name, path = file
    with storage_errors(f"cannot read {path}"):
        size = to_path(path).stat().st_size
        for start, end in source(kind).ranges(path, size, config.task_bytes or _RANGE_BYTES, config) or [(0, 0)]:
            yield key(0, name, start) >> 1, (name, path, start, end)  # 63 bits, as Beam encodes integers


class _Reader:
    """Read the records of a file range: articles of a dump, prose of other files."""

    def __init__(self, kind: str, config: CorpusConfig) -> None:
        self._kind, self._config = kind, config

    def __call__(self, group: tuple[int, Iterable[tuple[str, str, int, int]]]) -> Iterator[tuple[str, Record]]:
        for part in sorted(FileRange(*fields) for fields in group[1]):
            with storage_errors(f"cannot read {part.path}"):
                records: Iterator[Any] = (
                    read_articles([part], self._config)
                    if self._kind == "wikipedia"
                    else with_languages(source(self._kind).read([part], self._config, Counts.none()), self._config)
                )
                name = _source(self._kind, part.path)
                for record in up_to_limits(records, part, self._kind):
                    yield name, record


class ReadWikipedia(_Read):
    """Read the articles of MediaWiki dumps as `Article` rows; drop redirects, other namespaces and empty pages.

    Args:
        paths: Dumps: files, globs, directories or addresses in a store; one or several.
        options: Fields of `CorpusConfig`, such as ``drop_disambiguation`` or ``max_page_bytes``.

    Examples:
        >>> import apache_beam as beam
        >>> from bertdata.sample import sample
        >>> with beam.Pipeline() as pipeline:
        ...     articles = pipeline | ReadWikipedia(sample())
        >>> sorted(articles)
        ['documents', 'drops', 'inputs', 'rejects']
    """

    kind, row = "wikipedia", Article


class ReadBooks(_Read):
    """Read books as `Prose` rows: their paragraphs, without licence and apparatus.

    Args:
        paths: Books, named as the dumps of `ReadWikipedia`.
        options: Fields of `CorpusConfig`, such as ``verse`` or ``footnotes``.
    """

    kind = "books"


class ReadText(_Read):
    """Read other text files, archives and tables as `Prose` rows, with the detected language if the input names none.

    Args:
        paths: Text, named as the dumps of `ReadWikipedia`.
        options: Fields of `CorpusConfig`, such as ``text_column`` or ``encoding``.
    """

    kind = "text"


class ExtractParagraphs(_Block):
    """Extract the paragraphs of running prose from the wikitext of `Article` rows, as `Prose` rows.

    Args:
        options: Fields of `CorpusConfig`, such as ``math`` or ``inline_templates``.
    """

    def expand(self, inputs: Any) -> Outputs:
        before, work = take(inputs), partial(_extract, config=self._config)
        records = before["documents"] | "Extract" >> beam.ParDo(_Records(work)).with_input_types(Article)
        return self._split(records, Prose, before)


def _extract(row: Any, config: CorpusConfig) -> Iterator[tuple[str, Record]]:
    article = Article(*row)
    yield article.project, extract(article, config, Counts.none())


class SplitSentences(_Block):
    """Split the paragraphs of `Prose` rows into sentences, as `Document` rows; drop records without prose.

    Args:
        options: Fields of `CorpusConfig`: ``sentence_splitter`` and ``language``.
    """

    def expand(self, inputs: Any) -> Outputs:
        before, work = take(inputs), partial(_split, config=self._config)
        records = before["documents"] | "Split" >> beam.ParDo(_Records(work)).with_input_types(Prose)
        return self._split(records, Document, before)


def _split(row: Any, config: CorpusConfig) -> Iterator[tuple[str, Record]]:
    prose = Prose(*row)  # on some runners a row has another class with the same fields
    yield prose.source, document(prose, config)
