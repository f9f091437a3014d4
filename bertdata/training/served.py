"""Find what a training run reads: the rows of a step, and the steps that serve a document. Nothing is trained.

    rows_of_step("run.toml", 1000)       # the rows of a step
    steps_of("run.toml", "enwiki:12")    # every row of the document, with its step

The order of the rows is a function of the seed, so both are computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..config.train import TrainConfig, read_training
from ..dataset.rows import Shards
from ..errors import UsageError
from .permutation import Ints
from .recipe import PhaseRows, prepare

_DOCUMENTS = ("a_document", "b_document", "documents")


class Served(NamedTuple):
    """A row at a step.

    Attributes:
        step: The step, counted over the run from 0.
        place: Index in the global batch.
        directory: Directory of make-pairs.
        row: Number of the row in `directory`.
    """

    step: int
    place: int
    directory: str
    row: int


def rows_of_step(run: TrainConfig | str | Path, step: int) -> list[Served]:
    """Return the rows of a step of a training run, in the order of the batch.

    Args:
        run: The configuration of `bertdata train`, or its TOML file.
        step: The step, counted over the run from 0.

    Raises:
        UsageError: The run does not have this step.
    """
    for part in _parts(run):
        if part.first <= step < part.end:
            rows = part.plan()[step - part.first].rows
            return list(_served(part, np.full(len(rows), step), np.arange(len(rows)), rows))
    raise UsageError(f"`step` {step}: the run has no such step. Use 0 to {part.end - 1}", field="step", value=step)


def steps_of(run: TrainConfig | str | Path, document: str) -> list[Served]:
    """Return every row of a training run that has text of a document, in order of steps.

    Args:
        run: The configuration of `bertdata train`, or its TOML file.
        document: The id of the document, such as ``enwiki:12``. The rows need `provenance`.

    Raises:
        UsageError: The rows do not store documents.
    """
    served: list[Served] = []
    for part in _parts(run):
        wanted, plan = _rows_of(part.shards, document), part.plan()
        for epoch in range(-(-part.phase.steps // plan.batches)):
            rows = plan.rows(epoch)
            at = np.flatnonzero(np.isin(rows, wanted))
            steps, places = np.divmod(at, part.batch_size)
            steps += epoch * plan.batches
            inside = steps < part.phase.steps
            served += _served(part, part.first + steps[inside], places[inside], rows[at[inside]])
    return served


def _parts(run: TrainConfig | str | Path) -> list[PhaseRows]:
    return prepare(run if isinstance(run, TrainConfig) else read_training(run)).parts


def _served(part: PhaseRows, steps: Ints, places: Ints, rows: Ints) -> Iterator[Served]:
    """Yield rows [K] with their steps and places. Rows are numbered through all directories of a phase."""
    ends = np.cumsum(part.shards.rows)
    directories = np.searchsorted(ends, rows, "right")
    inside = rows - ends[directories] + np.array(part.shards.rows)[directories]
    for step, place, directory, row in zip(*(column.tolist() for column in (steps, places, directories, inside)), strict=True):
        yield Served(step, place, str(part.shards.paths[directory]), row)


def _rows_of(shards: Shards, document: str) -> Ints:
    """Return the numbers of the rows with text of a document."""
    found = [np.zeros(0, np.int64)]
    for start, batch in zip(shards.firsts.tolist(), shards.batches, strict=False):
        names = [name for name in _DOCUMENTS if name in batch.schema.names]
        if not names:
            raise UsageError(f"{shards.paths[0]} does not store the documents of its rows: make them with `provenance`")
        for column in map(batch.column, names):
            ids = column.flatten() if pa.types.is_list(column.type) else column
            at = np.flatnonzero(pc.equal(ids, document).to_numpy(zero_copy_only=False))
            rows = pc.list_parent_indices(column).to_numpy()[at] if pa.types.is_list(column.type) else at
            found.append(start + rows.astype(np.int64))
    return np.unique(np.concatenate(found))
