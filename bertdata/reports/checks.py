"""Check rows and documents before they are measured: a stranger's shard may hold values that no command writes.

The digests of such a shard can be valid, so the report looks at the values themselves and refuses a dataset by its first row
that cannot be.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..config import LABEL_1_COUNTS
from ..dataset.manifest_types import PairsManifest
from ..dataset.shards import DOCUMENT, as_written, pair_schema
from ..dataset.shards.views import columns_of
from ..errors import VerificationError

__all__ = ["check_documents", "check_rows"]

Array = npt.NDArray[Any]
_PROVENANCE = ("a_document", "b_document")


def check_documents(directory: Path, table: pa.Table) -> None:
    """Raise VerificationError unless a table of documents has their columns, no null, and paragraphs that are there."""
    checked = _Checked(directory, table, None)
    checked.columns(as_written(DOCUMENT, table.schema.names))
    starts, starts_end = checked.flat("paragraph_starts")
    counts = pc.list_value_length(checked.column("sentences")).to_numpy(zero_copy_only=False)
    checked.each(starts < np.repeat(counts, np.diff(starts_end)), starts_end, "has a paragraph after its last sentence")


def check_rows(directory: Path, table: pa.Table, numbers: Array, manifest: PairsManifest) -> None:
    """Raise VerificationError unless a table of rows matches its manifest. `numbers` [N] are the row numbers."""
    config, size = manifest.settings, manifest.vocab_size
    checked = _Checked(directory, table, numbers)
    provenance = _PROVENANCE if config.objective in LABEL_1_COUNTS else ("documents",)
    names = {*columns_of(config), *(provenance if config.provenance else ()), *(("origin",) if manifest.origins else ())}
    checked.columns(pair_schema(size, names))
    ids, ends = checked.flat("input_ids")
    lengths = np.diff(ends)
    checked.rows((lengths >= 1) & (lengths <= config.max_seq_length), f"does not have 1 to {config.max_seq_length} tokens")
    checked.each(ids < size, ends, f"has an id that is not in its vocabulary of {size:,} pieces")
    for name in {"token_type_ids", "continues_word"} & names:
        checked.rows(np.diff(checked.flat(name)[1]) == lengths, f"does not have one {name} for each token")
    types, ends = checked.flat("token_type_ids")
    checked.each(types <= 1, ends, "has a token type other than 0 and 1")
    parts = _check_parts(checked, lengths) if config.pack else None
    if config.objective in LABEL_1_COUNTS:
        _check_labels(checked, parts)
    if config.masking == "static":
        _check_masks(checked, lengths, size)


def _check_parts(checked: _Checked, lengths: Array) -> Array:
    """Check where the parts of packed rows begin; return how many each row has [N]."""
    starts, ends = checked.flat("document_starts")
    counts = np.diff(ends)
    checked.rows(counts >= 1, "has no part")
    first = np.zeros(len(starts), bool)
    first[ends[:-1]] = True
    rising = np.diff(starts.astype(np.int64), prepend=0) > 0
    checked.each(np.where(first, starts == 0, rising), ends, "has parts that are not in order")
    checked.each(starts < np.repeat(lengths, counts), ends, "has a part that begins after its end")
    return np.asarray(counts)


def _check_labels(checked: _Checked, parts: Array | None) -> None:
    name = "next_sentence_label"
    if parts is None:
        labels = checked.column(name).to_numpy(zero_copy_only=False)
        ends = np.arange(len(labels) + 1)
    else:
        labels, ends = checked.flat(name)
        checked.rows(np.diff(ends) == parts, "does not have one label for each part")
    checked.each((labels == 0) | (labels == 1), ends, "has a label other than 0 and 1")


def _check_masks(checked: _Checked, lengths: Array, size: int) -> None:
    positions, ends = checked.flat("masked_lm_positions")
    labels, label_ends = checked.flat("masked_lm_labels")
    counts = np.diff(ends)
    checked.rows(np.diff(label_ends) == counts, "does not have one label for each masked position")
    checked.each(positions < np.repeat(lengths, counts), ends, "has a masked position after its end")
    checked.each(labels < size, label_ends, f"has a masked label that is not in its vocabulary of {size:,} pieces")


class _Checked:
    """A table under check: rows are named by their `numbers`, documents by their ids."""

    def __init__(self, directory: Path, table: pa.Table, numbers: Array | None) -> None:
        self._directory, self._table, self._numbers = directory, table, numbers

    def columns(self, wanted: pa.Schema) -> None:
        """Check names and types of the columns, that their values are valid, and that none of them is null."""
        expected = {field.name: field.type for field in wanted}
        found = {field.name: field.type for field in self._table.schema}
        if found != expected or len(self._table.schema) != len(expected):
            named = ", ".join(f"{name} ({kind})" for name, kind in expected.items())
            raise self._error(f"the columns are not {named}")
        try:
            self._table.validate(full=True)
        except (pa.ArrowException, ValueError) as error:
            raise self._error(" ".join(str(error).split())) from None
        for name in expected:
            if _has_nulls(self.column(name)):
                raise self._error(f"there is a null in the column {name}")

    def column(self, name: str) -> pa.Array:
        """Return a column in one piece."""
        column = self._table.column(name).combine_chunks()
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    def flat(self, name: str) -> tuple[Array, Array]:
        """Return a column of lists end to end [T], and where each row begins and the last ends [N + 1]."""
        column = self.column(name)
        counts = pc.list_value_length(column).to_numpy(zero_copy_only=False)
        return column.flatten().to_numpy(zero_copy_only=False), np.cumsum(np.concatenate([[0], counts]).astype(np.int64))

    def rows(self, holds: Array, what: str) -> None:
        """Raise VerificationError for the first row [N] for which something does not hold."""
        if not holds.all():
            row = int(np.argmin(holds))
            name = repr(self.column("id")[row].as_py())[:200] if self._numbers is None else f"row {int(self._numbers[row]):,}"
            raise self._error(f"{name} {what}")

    def each(self, holds: Array, ends: Array, what: str) -> None:
        """Do so for the first value [T] of the rows that end in it at `ends` [N + 1]."""
        if not holds.all():
            of_row = np.searchsorted(ends, int(np.argmin(holds)), "right") - 1
            self.rows(np.arange(len(ends) - 1) != of_row, what)

    def _error(self, problem: str) -> VerificationError:
        return VerificationError(f"{self._directory}: {problem}. Build the dataset again, or get it from its author again.")


def _has_nulls(column: pa.Array) -> bool:
    """Return True if there is a null in a column, or in its lists."""
    return bool(column.null_count) or (pa.types.is_list(column.type) and _has_nulls(column.flatten()))
