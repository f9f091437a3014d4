"""Write a corpus or rows in the format that another trainer reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal

from ..config import ExportConfig
from ..dataset.data_set import DataSet
from ..dataset.manifest_types import ExportManifest, PairsManifest
from ..dataset.versions import versions
from ..errors import UsageError
from ..exports import FORMATS
from ..exports.base import ExportSource, read
from ..exports.work import ExportJob
from ..records import Task
from ..reports.summary import count
from ..run.estimate import of_export
from ..run.plan import Plan, run
from ..run.progress import Progress, Reporter
from ..stages.corpus_reader import refuse_to_replace
from ..storage.files import size, to_path
from ..storage.problems import storage_errors
from ..tally import Tally
from ..tokens.encode import choose
from ..tokens.read import read_any
from ..tokens.vocab import Vocabulary

_PACKED = (
    "  packed rows: only for readers that separate documents by `document_starts`. Trainers that take each sample as one "
    "sequence, such as ModernBERT's, need rows made without --pack"
)


@storage_errors()
def export(
    directory: str | Path,
    *,
    to: Literal["jsonl", "parquet", "mds", "megatron", "tfrecord"],
    output: str | Path,
    split: Literal["train", "validation"] = "train",
    vocab: str | Path | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    progress: Callable[[Progress], object] | Reporter | None = None,
) -> DataSet[ExportManifest]:
    """Convert a corpus or rows to the format of another trainer, one output shard per input shard, and return the export.

    `workers`, `overwrite` and `progress` work as in `build_corpus`. Exports run on this machine.

    Args:
        directory: Output of `build_corpus` or `make_pairs`.
        to: Output format. ``jsonl`` and ``parquet`` store the text of a corpus, one document per row. ``parquet`` also stores
            rows, with their columns. ``mds`` stores rows of any objective; use packed rows only with readers that separate
            documents by ``document_starts``. ``megatron`` stores the token ids of a corpus' sentences, encoded with `vocab`.
            ``tfrecord`` stores pairs with static masks, for google-research/bert.
        output: Output directory. The files are written to ``data/`` inside it.
        split: Split to export, for rows.
        vocab: Vocabulary, as in `make_pairs`. Needed to export a corpus to a format with token ids.

    Returns:
        The export. Its manifest lists all files with their digests.

    Raises:
        UsageError: The format does not support the contents of `directory`, or `directory` and `output` are equal.
        EmptyResultError: There is nothing to write.
        OutputExistsError, StorageError: As in `build_corpus`.

    Examples:
        >>> from bertdata.sample import sample
        >>> from bertdata import build_corpus
        >>> corpus = build_corpus(books=sample() / "books", output=here / "corpus", workers=1)
        >>> export(corpus.path, to="jsonl", output=here / "text", workers=1).rows == corpus.rows
        True
    """
    settings = ExportConfig(to=to, split=split)
    source_path, target = to_path(str(directory)), to_path(str(output))
    source, tasks = read(source_path, settings.split)
    vocabulary = _vocabulary(source_path, source, tasks, settings.to, vocab)
    refuse_to_replace([source_path, *([to_path(str(vocab))] if vocab else [])], [target])
    contents = source.manifest()
    identity = {
        "command": "export",
        "config": settings.identity(),
        "inputs": [{"name": shard.name, "sha256": shard.sha256} for shard in contents.shards],
        "vocabulary": hashlib.sha256(json.dumps(vocabulary and vocabulary.about()).encode()).hexdigest(),
        "versions": versions(FORMATS[settings.to].packages),
    }
    bytes = sum(size(part.path) for task in tasks for part in task.parts)
    plan = Plan(
        outputs={target: identity},
        tasks=tasks,
        bytes=bytes,
        estimate=of_export(bytes, settings.to),
        job=partial(ExportJob.of, vocabulary, settings, source=source, count=len(tasks)),
        summary=f"export: {count(len(tasks), 'shard')} of {contents.kind} to {settings.to} -> {target}",
        notes=(_PACKED,) if isinstance(contents, PairsManifest) and contents.settings.pack else (),
    )
    return run(plan, workers=workers, overwrite=overwrite, progress=progress)[0]


def _vocabulary(directory: Path, source: ExportSource, tasks: list[Task], to: str, vocab: str | Path | None) -> Vocabulary | None:
    """Return the vocabulary of rows, or that with which a format's text is cut; raise UsageError for what a format can't hold."""
    format, contents = FORMATS[to], source.manifest()
    if contents.kind not in format.of:
        others = " or ".join(name for name, other in FORMATS.items() if contents.kind in other.of)
        raise UsageError(f"{directory} contains {contents.what}, which {to} cannot hold. Use `to` {others}")
    if isinstance(contents, PairsManifest) and (why := format.refusal(contents)):
        raise UsageError(f"{to} cannot store the rows in {directory}: {why}")
    if format.needs_vocabulary != (vocab is not None):
        reason = "stores token ids. Pass the vocabulary" if format.needs_vocabulary else "does not cut text into pieces: omit it"
        raise UsageError(f"`vocab`: {to} {reason}", field="vocab")
    if vocab is not None:
        documents = (source.batches(task, Tally("documents")) for task in tasks)
        columns = ((batch.column("sentences"), batch.column("paragraph_starts")) for batch in chain.from_iterable(documents))
        return choose(read_any(to_path(str(vocab))), columns)
    return read_any(directory) if contents.kind == "pairs" else None
