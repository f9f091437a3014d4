"""Find what a training run reads: the rows of a step, and the steps that serve a document. Nothing is trained.

    rows_of_step("run.toml", 1000)       # the rows of a step
    steps_of("run.toml", "enwiki:12")    # every row of the document, with its step

The order of the rows is a function of the seed, so both are computed.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..config.train import TrainConfig, read_training
from ..dataset.rows import Shards
from ..errors import UsageError
from .recipe import PhaseRows, prepare

_DOCUMENTS = ("a_document", "b_document", "documents")


class Served(NamedTuple):
    """A row at a step: the step, counted over the run from 0; the index in the global batch; the directory; its row number."""

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
    parts = _parts(run)
    for part in parts:
        if part.first <= step < part.end:
            return [_served(part, step, place, row) for place, row in enumerate(part.plan()[step - part.first].rows.tolist())]
    raise UsageError(f"`step` {step}: the run has no such step. Use 0 to {parts[-1].end - 1}", field="step", value=step)


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
        wanted, plan = _has_text_of(part.shards, document), part.plan()
        for step in range(part.phase.steps):
            rows = plan[step].rows
            places = np.flatnonzero(wanted[rows]).tolist()
            served += [_served(part, part.first + step, place, int(rows[place])) for place in places]
    return served


def _parts(run: TrainConfig | str | Path) -> list[PhaseRows]:
    return prepare(run if isinstance(run, TrainConfig) else read_training(run)).parts


def _served(part: PhaseRows, step: int, place: int, row: int) -> Served:
    """Return a row, which a phase numbers through all of its directories."""
    first = np.cumsum([0, *part.shards.rows])
    directory = int(np.searchsorted(first, row, "right")) - 1
    return Served(step, place, str(part.shards.paths[directory]), row - int(first[directory]))


def _has_text_of(shards: Shards, document: str) -> npt.NDArray[np.bool_]:
    """Return whether each row has text of a document [N]."""
    found = np.zeros(len(shards), bool)
    for start, batch in zip(shards.firsts.tolist(), shards.batches, strict=False):
        names = [name for name in _DOCUMENTS if name in batch.schema.names]
        if not names:
            raise UsageError(f"{shards.paths[0]} does not store the documents of its rows: make them with `provenance`")
        for column in map(batch.column, names):
            is_list = pa.types.is_list(column.type)
            equal = pc.equal(column.flatten() if is_list else column, document).to_numpy(zero_copy_only=False)
            found[start + (pc.list_parent_indices(column).to_numpy()[equal] if is_list else np.flatnonzero(equal))] = True
    return found
