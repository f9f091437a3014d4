"""Write a PCollection of documents as a corpus that `bertdata train-vocab` and `bertdata make-pairs` read.

    documents, drops, rejects, inputs
      | key         by source and hash of the id  a document always goes to the same shard, whatever the number of workers
      | group       one worker gets all records of a shard, sorts them by id, and writes the shard
      | gather      reports of all shards         one worker adds up the counts and writes the manifest

The shards are written below ``.bertdata/`` and renamed at the end, because their final names contain the number of shards.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby, repeat
from pathlib import Path
from typing import Any, TypeVar

import apache_beam as beam
from apache_beam.transforms.combiners import ToListCombineFn

from ..codec import replace
from ..config import CorpusConfig
from ..config.input_kinds import INPUTS, PROJECTS
from ..dataset.manifest_records import CorpusShard, InputEntry, ListEntry
from ..dataset.plan_files import StoredValue
from ..dataset.run import building, check_begun, clean_up
from ..dataset.staging import STATE, build_path, builds, commit, discard, is_complete
from ..dataset.versions import versions
from ..errors import OutputExistsError, UsageError
from ..keys import key
from ..records import Document, Drop, Reject
from ..stages.corpus.commit import CorpusCommit
from ..stages.corpus.extract import write_shard
from ..stages.corpus.sources import in_order
from ..stages.corpus_report import CorpusReport, TaskEntry
from ..storage.files import is_local, read_json, to_path
from ..storage.moves import move
from ..storage.storage import storage_errors
from .building_blocks import config_of, count, take
from .schemas import InputFile, SkippedRecord

__all__ = ["WriteDocuments"]

F = TypeVar("F", CorpusShard, ListEntry)
_COMMAND = "bertdata.beam.WriteDocuments"
_SOURCES = in_order({*PROJECTS, *INPUTS})
_RUN_KEY = -1  # the key of elements about the complete run
# The number of a shard, and the kind and fields of a record. Keys are integers because Dask splits groups of other keys: each of
# its workers hashes strings differently.
Keyed = tuple[int, tuple[str, tuple[Any, ...]]]


class WriteDocuments(beam.PTransform):
    """Write documents, and lists of drops and rejects, as a corpus; return a PCollection with its path.

    The input is the dict that the other blocks return, or a PCollection of `Document` rows. The manifest counts all records: the
    documents, drops and rejects add up to the input. The transform drops repeated ids and rejects malformed documents. One worker
    holds a shard in memory to sort it, so choose a number of shards that keeps each below a few hundred megabytes.

    Args:
        path: Directory, or address in a store, for the corpus. All workers must see it under this name.
        shards: Number of shards for each source.
        overwrite: Replace a dataset that is already in `path`.
        options: Fields of `CorpusConfig` that the manifest records: those of the blocks before, `format` and `max_rejects`.

    Examples:
        >>> import apache_beam as beam
        >>> from bertdata.beam import Document
        >>> tea = Document("tea:1", "text", "en", "Tea", "", ["The kettle sings.", "Tea is ready."], [0])
        >>> with beam.Pipeline() as pipeline:
        ...     _ = pipeline | beam.Create([tea]) | WriteDocuments(here / "tea")
        >>> import bertdata
        >>> bertdata.DataSet.read(here / "tea").rows
        1
    """

    def __init__(self, path: str | Path, shards: int = 16, overwrite: bool = False, **options: Any) -> None:
        super().__init__()
        if shards < 1:
            raise UsageError(f"`shards` is {shards}: use an integer of 1 or more", field="shards", value=shards)
        directory = to_path(str(path))
        self._path = os.path.realpath(directory) if is_local(directory) else str(directory)
        self._shards, self._overwrite, self._config = shards, overwrite, config_of(options)

    def display_data(self) -> dict[str, object]:
        """Return the path and options, which runners show in their UI."""
        return {"path": self._path, "shards": self._shards, "format": self._config.format, "overwrite": self._overwrite}

    def expand(self, inputs: Any) -> Any:
        arguments = take(inputs)
        run = _Run(self._path, self._shards, self._config, self._overwrite)
        keyed = [
            next(iter(arguments.values())).pipeline
            | "Start" >> beam.Create([None], reshuffle=False)
            | "Begin" >> _keyed(run.begin),
            arguments["documents"] | "Documents" >> _keyed(run.document).with_input_types(Document),
        ]
        if "inputs" in arguments:
            keyed.append(arguments["inputs"] | "Inputs" >> _keyed(run.input).with_input_types(InputFile))
        if "rejects" in arguments:
            keyed.append(arguments["rejects"] | "Rejects" >> _keyed(run.reject).with_input_types(SkippedRecord))
        if "drops" in arguments:
            keyed.append(arguments["drops"] | "Drops" >> _keyed(run.drop).with_input_types(SkippedRecord))
            unlisted = arguments["drops"] | "Unlisted drops" >> beam.FlatMap(_unlisted).with_output_types(tuple[str, str])
            keyed.append(unlisted | "Count" >> beam.combiners.Count.PerElement() | "Counted" >> _keyed(run.counted))
        # The group waits for all of its input. So no shard is written before "Begin" has checked and made the directory.
        return (
            keyed
            | "Records" >> beam.Flatten()
            | "By shard" >> beam.GroupByKey()
            | "Write shard" >> beam.Map(run.write).with_output_types(tuple[int, Any])
            | "Gather" >> beam.CombineGlobally(ToListCombineFn()).without_defaults()
            | "Commit" >> beam.Map(run.commit).with_output_types(str)
        )


def _keyed(function: Any) -> Any:
    return beam.FlatMap(function).with_output_types(Keyed)


def _unlisted(drop: Any) -> Iterator[tuple[str, str]]:
    if not drop.id:
        yield drop.source, drop.reason


class _Run:
    """The steps of one use of `WriteDocuments`."""

    def __init__(self, path: str, shards: int, config: CorpusConfig, overwrite: bool) -> None:
        self._path, self._shards, self._config, self._overwrite = path, shards, config, overwrite
        self._identity: dict[str, object] = {"command": _COMMAND, "config": config.identity(), "versions": versions()}
        self._identity["run"] = uuid.uuid4().hex

    @property
    def _root(self) -> Path:
        directory = to_path(self._path)
        return build_path(directory, self._identity) if is_local(directory) else directory

    def begin(self, _: None) -> Iterator[Keyed]:
        """Check and lock the output, remove what a failed run left there, and make the directory that shards are written to."""
        directory, overwrite = to_path(self._path), self._overwrite
        stored = read_json(directory / STATE / "run.json") or {}
        if is_complete(directory) and not overwrite and stored.get("run") != self._identity["run"]:
            raise OutputExistsError(f"{directory} contains a finished dataset: pass overwrite=True, or choose another `path`")
        if is_local(directory):
            for build, identity in builds(directory).items():
                if self._is_left_over(identity):
                    discard(build)
        elif self._is_left_over(read_json(directory / STATE / "run.json")) and not is_complete(directory):
            overwrite = True
        with building(directory, self._identity, overwrite=overwrite):
            yield _RUN_KEY, ("begin", ())

    def _is_left_over(self, identity: Any) -> bool:
        return isinstance(identity, dict) and identity.get("command") == _COMMAND and identity != self._identity

    def document(self, row: Any) -> Iterator[Keyed]:
        yield self._key(row.source, row.id), ("document", tuple(row))

    def reject(self, row: Any) -> Iterator[Keyed]:
        yield self._key(row.source, row.id), ("reject", (row.id, row.reason, row.detail, row.lost))

    def drop(self, row: Any) -> Iterator[Keyed]:
        if row.id:
            yield self._key(row.source, row.id), ("drop", (row.reason, row.id, row.detail))

    def counted(self, counted: tuple[tuple[str, str], int]) -> Iterator[Keyed]:
        (source, reason), number = counted
        yield self._key(source, ""), ("drops", (reason, number))

    def input(self, row: Any) -> Iterator[Keyed]:
        yield _RUN_KEY, ("input", tuple(row))

    def _key(self, source: str, id: str) -> int:
        if source not in _SOURCES:
            raise UsageError(
                f"`source` of the record {id or 'without id'} is {source!r}: use one of {', '.join(_SOURCES)}", field="source"
            )
        return _SOURCES.index(source) * self._shards + key(0, id) % self._shards

    def write(self, group: tuple[int, Iterable[tuple[str, tuple[Any, ...]]]]) -> tuple[int, Any]:
        """Write the records of a group, and return its number and report. For the run's key, return its input files."""
        number, values = group
        found = {name: [fields for _, fields in rows] for name, rows in groupby(sorted(values), key=lambda value: value[0])}
        if number == _RUN_KEY:
            inputs = sorted(found.get("input", []), key=lambda fields: (_SOURCES.index(fields[0]), fields))
            return number, [InputEntry(**InputFile(*fields)._asdict()) for fields in inputs]
        check_begun(self._root)
        kind, total = _SOURCES[number // self._shards], len(_SOURCES) * self._shards
        with storage_errors():
            entry, counts = write_shard(self._root, kind, number, total, self._config.format, lambda _: _records(found))
        count("documents", number=counts.tally.left)
        return number, CorpusReport(entry=entry, counts=counts)

    def commit(self, gathered: list[tuple[int, Any]]) -> str:
        """Rename the shards to their final names, add up the counts and write the manifest. A runner may call this twice."""
        once = dict(gathered)  # a runner may repeat an element
        inputs, reports = once.pop(_RUN_KEY), [once[number] for number in sorted(once)]
        root = self._root
        with storage_errors(), commit(root) as todo:
            if todo:
                stored = StoredValue.written(root, "inputs", inputs)
                committing = CorpusCommit(root, self._config, stored, {})
                final = partial(_final, root, has_inputs=bool(inputs), count=len(reports))
                committing([replace(report, entry=final(report.entry, n))] for n, report in enumerate(reports))
        clean_up(root)
        return self._path


def _records(found: dict[str, list[tuple[Any, ...]]]) -> Iterator[Document | Drop | Reject]:
    documents = sorted((Document(*fields) for fields in found.get("document", [])), key=lambda row: (row.id, -row.as_of, row))
    for id, copies in groupby(documents, key=lambda row: row.id):
        first, *older = copies  # the newest copy of a page comes first
        problem = _problem(first)
        yield Reject(id, "no-document", problem) if problem else first
        yield from (Drop("repeated id", id) for _ in older)
    yield from (Drop(*fields) for fields in found.get("drop", []))
    for reason, number in found.get("drops", []):
        yield from repeat(Drop(reason), number)
    yield from (Reject(*fields) for fields in found.get("reject", []))


def _problem(document: Document) -> str:
    """Return why a document cannot be in a corpus, or an empty string."""
    starts, end = document.paragraph_starts, len(document.sentences)
    if not document.id or not document.language:
        return "it has no id or no language"
    if not all(document.sentences) or not document.sentences:
        return "it has no sentences, or an empty one"
    if not starts or starts[0] != 0 or starts != sorted(set(starts)) or starts[-1] >= end:
        return "its `paragraph_starts` are not rising numbers of sentences that begin with 0"
    return ""


def _final(root: Path, entry: TaskEntry, number: int, has_inputs: bool, count: int) -> TaskEntry:
    """Rename a task's files. Without inputs, ignore the lost bytes, because a share of unknown input is unknown."""
    rename = partial(_rename, root, number=number, count=count)
    return replace(
        entry,
        shard=entry.shard and rename(entry.shard),
        rejects=[rename(file) for file in entry.rejects],
        drops=[rename(file) for file in entry.drops],
        lost=entry.lost * has_inputs,
    )


def _rename(root: Path, file: F, number: int, count: int) -> F:
    """Insert a file's number and the total into its name. An earlier attempt may have renamed it."""
    folder, name = file.name.split("/")
    prefix = "train-" * name.startswith("train-")
    final = f"{folder}/{prefix}{number:05d}-of-{count:05d}.{name.rpartition('.')[2]}"
    if final != file.name and (root / file.name).is_file():
        move(root / file.name, root / final)
    return replace(file, name=final)
