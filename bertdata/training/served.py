"""Find what a training run reads: the steps that serve a document, and the rows of some steps. Nothing is trained.

    steps_of("run.toml", "enwiki:12")                  # every step that serves the document
    trace_steps("run.toml", 1000, 1010, "rows.parquet")  # the rows of ten steps, as the model sees them

The order of rows is a function of the seed, so both are computed. `steps_of` inverts it for the rows of the document, which takes
about a millisecond per epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..config.train import TrainConfig, read_training
from ..dataset.rows import Shards
from ..errors import UsageError
from ..labels import IGNORED
from ..storage.files import replacing
from .ahead import masked_arrays
from .masks import MaskConfig, Masker
from .permutation import Ints
from .recipe import PhaseRows, prepare

__all__ = ["Served", "steps_of", "trace_steps"]

_DOCUMENTS = ("a_document", "b_document", "documents")


class Served(NamedTuple):
    """A row at a step.

    Attributes:
        step: The step, counted over the run from 0.
        phase: Number of the phase, from 0.
        epoch: Epoch of the phase.
        rank: The process that gets the row.
        place: Index in the global batch.
        directory: Directory of make-pairs.
        row: Number of the row in `directory`.
        copy: Which copy of the row in this epoch. It is 0 unless a weight is over 1.
    """

    step: int
    phase: int
    epoch: int
    rank: int
    place: int
    directory: str
    row: int
    copy: int


def steps_of(run: TrainConfig | str | Path, document: str, *, world_size: int = 1) -> list[Served]:
    """Return every step of a training run that serves a row of a document, in order.

    Args:
        run: The configuration of `bertdata train`, or its TOML file.
        document: The id of the document, such as ``enwiki:12``. The rows need `provenance`.
        world_size: Number of training processes, which decides the rank.

    Raises:
        UsageError: The rows do not store documents.
    """
    found: list[Served] = []
    for number, part in enumerate(_parts(run, world_size)):
        rows = _rows_of(part.shards, document)
        plan = part.plan()
        # Without the inverse, finding the steps of a document would mean planning every step of the
        # run.
        entries = plan.entries(rows)
        for epoch in range(-(-part.phase.steps // plan.batches)) if len(entries) else ():
            steps, *others = plan.find(entries, epoch)
            steps, places, rows, copies = (each[steps < part.phase.steps] for each in (steps, *others))
            found += _served(part, number, epoch, steps, places, rows, copies, world_size)
    return found


def trace_steps(run: TrainConfig | str | Path, first: int, last: int, to: str | Path, *, world_size: int = 1) -> int:
    """Write the rows of steps `first` to `last` - 1 of a training run to a Parquet file. Return their number.

    A row has the fields of `Served`; ``documents``, its document ids, if the rows have `provenance`; ``input_ids``, as the model
    sees them; and ``positions`` and ``labels`` of the predicted tokens. The other arguments are those of `steps_of`.

    Raises:
        UsageError: The run does not have these steps.
    """
    config = run if isinstance(run, TrainConfig) else read_training(run)
    if not 0 <= first < last <= config.total_steps:
        raise UsageError(f"`steps` {first}:{last}: the run has steps 0 to {config.total_steps - 1}. Use FIRST:END", field="steps")
    records = [
        record
        for number, part in enumerate(_parts(config, world_size))
        for record in _records(part, number, range(max(first, part.first), min(last, part.end)), world_size)
    ]
    with replacing(Path(to)) as file:
        pq.write_table(pa.Table.from_pylist(records), file)
    return len(records)


def _parts(run: TrainConfig | str | Path, world_size: int) -> list[PhaseRows]:
    return prepare(run if isinstance(run, TrainConfig) else read_training(run), world_size).parts


def _served(
    part: PhaseRows, phase: int, epoch: int, steps: Ints, places: Ints, rows: Ints, copies: Ints, world_size: int
) -> list[Served]:
    """Return the records of rows [K] at steps of a phase [K], in an epoch."""
    # Rows are numbered through all directories. Convert to a number within one directory.
    ends, paths = np.cumsum(part.shards.rows), list(map(str, part.shards.paths))
    directories = np.searchsorted(ends, rows, "right")
    inside = rows - ends[directories] + np.array(part.shards.rows)[directories]
    columns = (part.first + steps, places * world_size // part.batch_size, places, directories, inside, copies)
    return [
        Served(step, phase, epoch, rank, place, paths[directory], row, copy)
        for step, rank, place, directory, row, copy in zip(*(each.tolist() for each in columns), strict=True)
    ]


def _rows_of(shards: Shards, document: str) -> npt.NDArray[np.int64]:
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


def _records(part: PhaseRows, phase: int, steps: range, world_size: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of steps of a phase."""
    plan, masks = part.plan(), MaskConfig.or_default(part.masks)
    masker = Masker(part.shards, masks, seed=part.options["seed"], widest=plan.widths[-1])
    for step in steps:
        batch = plan[step - part.first]
        arrays = masked_arrays(part.shards, masker, batch)
        places, steps_of_rows = np.arange(len(batch.rows)), np.full(len(batch.rows), batch.step)
        for served in _served(part, phase, batch.epoch, steps_of_rows, places, batch.rows, batch.copies, world_size):
            place = served.place
            used = arrays["masked_lm_labels"][place] != IGNORED
            stored = part.shards[int(batch.rows[place])]
            names = [stored[name] for name in _DOCUMENTS if name in stored]
            yield {
                **served._asdict(),
                "documents": list(dict.fromkeys(id for each in names for id in ([each] if isinstance(each, str) else each))),
                "input_ids": arrays["input_ids"][place][arrays["attention_mask"][place]].tolist(),
                "positions": arrays["masked_lm_positions"][place][used].tolist(),
                "labels": arrays["masked_lm_labels"][place][used].tolist(),
            }
