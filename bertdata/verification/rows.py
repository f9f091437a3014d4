"""Check the rules for rows: length, positions of special tokens, segment ids, labels, static masks.

    nsp, sop     [CLS] A [SEP] B [SEP], segment ids 0…0 1…1, half of a shard's labels 1
    documents    [CLS] … [SEP], segment ids 0, no other special token
    causal       no [CLS], [SEP] only at the end, segment ids 0
    packed       each segment follows the rules above

Rows are checked as flat arrays of tokens [T] with ends [N + 1]. The segments of packed rows are checked like rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..config import LABEL_1_COUNTS, PairsConfig
from ..dataset.manifest_records import RowFile
from ..dataset.manifest_types import PairsManifest
from ..dataset.shards import flat, pair_schema
from ..pieces import Special
from ..rows.masking import max_predictions_of
from .files import CheckFailed, batches

_TOKENS_PER_CHECK = 1 << 20  # tokens checked at a time
_LEAST = {"nsp": 5, "sop": 5, "documents": 3, "causal": 1}  # [CLS] a [SEP] b [SEP] has 5 tokens
Array = npt.NDArray[Any]


@dataclass
class _Spans:
    """Consecutive rows, or segments of packed rows: tokens [T], their segment ids [T], ends [N + 1], and row of each [N]."""

    ids: Array
    types: Array
    ends: Array
    numbers: Array

    @property
    def starts(self) -> Array:
        return self.ends[:-1]

    @property
    def lengths(self) -> Array:
        return np.diff(self.ends)

    def require(self, holds: Array, what: str) -> None:
        """Raise CheckFailed with the number of the first row [N] that breaks a rule."""
        if not holds.all():
            raise CheckFailed(f"row {self.numbers[int(np.argmin(holds))]} {what}")

    def require_tokens(self, holds: Array, what: str) -> None:
        """Raise CheckFailed with the row of the first token [T] that breaks a rule."""
        if not holds.all():
            span = int(np.searchsorted(self.ends, int(np.argmin(holds)), "right")) - 1
            raise CheckFailed(f"row {self.numbers[span]} {what}")


class RowRules(NamedTuple):
    """The rules for the rows of a dataset: its options, the number of origins, and its vocabulary."""

    config: PairsConfig
    origins: int
    vocab_size: int
    special: Special

    @classmethod
    def of(cls, manifest: PairsManifest, special: Special) -> RowRules:
        """Return the rules for a dataset whose vocabulary has these special tokens."""
        return cls(manifest.settings, len(manifest.origins), manifest.vocab_size, special)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the shards."""
        config = self.config
        columns = ["input_ids", "token_type_ids", "origin", *(["document_starts"] if config.pack else [])]
        columns += ["next_sentence_label"] if self.has_labels else []
        columns += ["continues_word"] if config.chinese_words != "none" else []
        columns += ["masked_lm_positions", "masked_lm_labels"] if config.masking == "static" else []
        if config.provenance:
            columns += ["a_document", "b_document"] if self.has_labels else ["documents"]
        return pair_schema(self.vocab_size, columns)

    @property
    def has_labels(self) -> bool:
        """Whether the rows are pairs."""
        return self.config.objective in LABEL_1_COUNTS

    def check(self, path: Path, entry: RowFile) -> Counter[str]:
        """Check a shard. Return its rows, segments, tokens, labels, and maskable and masked tokens."""
        counts: Counter[str] = Counter()
        for batch in batches(path, self.schema, entry):
            for part in _parts(batch):
                counts.update(self.check_rows(part, counts["rows"]))
            del batch
        if 2 * counts["ones"] != counts["labels"]:
            raise CheckFailed(f"has {counts['ones']:,} labels 1 in {counts['labels']:,}, which is not half")
        return counts

    def check_rows(self, batch: pa.RecordBatch, first: int) -> Counter[str]:
        """Check rows, of which the first has the number `first`. Return their counts, as `check` does."""
        ids, ends = flat(batch.column("input_ids"))
        rows = _Spans(ids, _tokens(batch, "token_type_ids", ends, first), ends, first + np.arange(batch.num_rows))
        rows.require(rows.lengths <= self.config.max_seq_length, f"has more than {self.config.max_seq_length} tokens")
        rows.require(batch.column("origin").to_numpy() < self.origins, "has an origin that is not in the manifest")
        rows.require_tokens(ids < self.vocab_size, f"has an id outside its vocabulary of {self.vocab_size:,}")
        if self.config.chinese_words != "none":
            _tokens(batch, "continues_word", ends, first)
        counts = Counter(rows=batch.num_rows, tokens=len(ids), parts=batch.num_rows)
        if self.config.masking == "static":
            counts.update(self._unmask(rows, batch))  # all further rules see the original text
        spans = rows
        if self.config.pack:
            spans = _segments(rows, batch)
            counts["parts"] = len(spans.lengths)
        least = _LEAST[self.config.objective]
        spans.require(spans.lengths >= least, f"has less than {least} tokens")
        counts["text"] = self._check_special(spans)
        if self.has_labels:
            counts.update(self._check_labels(rows, spans, batch))
        return counts

    def _never(self, ids: Array) -> Array:
        """Return which tokens [T] are special, so that text never has them."""
        flags = np.zeros(self.vocab_size, bool)
        flags[list(self.special.never)] = True
        return flags[ids]

    def _unmask(self, rows: _Spans, batch: pa.RecordBatch) -> Counter[str]:
        """Put the labels of static masks back into the rows. Return the number of maskable and of masked tokens."""
        most = max_predictions_of(self.config)
        (positions, ends), (labels, other) = (flat(batch.column(f"masked_lm_{name}")) for name in ("positions", "labels"))
        counts = np.diff(ends)
        rows.require(np.diff(other) == counts, "has not one label for each masked position")
        rows.require(counts <= most, f"has more than {most} masked positions")
        owner = np.repeat(np.arange(len(counts)), counts)
        where = rows.starts[owner] + positions
        rises = np.diff(where, prepend=-1) > 0
        valid = rises & (positions < rows.lengths[owner]) & (labels < self.vocab_size)
        bad = np.bincount(owner[~valid], minlength=len(counts)) > 0
        rows.require(~bad, "has masked positions that are not in order or not in it, or a label outside its vocabulary")
        shown = rows.ids[where]
        rows.ids = rows.ids.copy()
        rows.ids[where] = labels
        special = self._never(labels) | (self._never(shown) & (shown != self.special.mask))
        rows.require(np.bincount(owner[special], minlength=len(counts)) == 0, "has a mask on or of a special token")
        maskable = np.add.reduceat(~self._never(rows.ids), rows.starts, dtype=np.int64)
        if self.config.unit == "piece":
            share = self.config.masked_lm_prob or 0.0
            wanted = np.minimum(np.clip(np.rint(maskable * share), 1, most), maskable)
            rows.require(counts == wanted, f"does not have {share} of its tokens masked")
        return Counter(masked=len(where), maskable=int(maskable.sum()))

    def _check_special(self, spans: _Spans) -> int:
        """Check the positions of special tokens and the segment ids they separate. Return the number of text tokens."""
        ids, lasts = spans.ids, spans.ends[1:] - 1
        never, is_separator = self._never(ids), ids == self.special.sep
        allowed = np.zeros(len(ids), bool)
        if self.config.objective == "causal":
            allowed[lasts] = is_separator[lasts]
        else:
            spans.require(ids[spans.starts] == self.special.cls, "does not begin with [CLS]")
            spans.require(is_separator[lasts], "does not end with [SEP]")
            allowed[spans.starts] = allowed[lasts] = True
        if self.has_labels:
            a_ends = _first_of_b(spans) - 1
            spans.require(is_separator[a_ends], "has no [SEP] where A ends by its segment ids")
            allowed[a_ends] = True
        else:
            spans.require_tokens(spans.types == 0, "has a segment id other than 0")
        spans.require_tokens(~never | allowed, "has a special token inside its text")
        return len(ids) - int(np.count_nonzero(never))

    def _check_labels(self, rows: _Spans, spans: _Spans, batch: pa.RecordBatch) -> Counter[str]:
        """Check the label of each pair, and the documents of A and B: two documents for NotNext, else one."""
        names = ("a_document", "b_document") if self.config.provenance else ()
        columns = []
        for name in ("next_sentence_label", *names):
            column = batch.column(name)
            if self.config.pack:
                per_row = np.bincount(spans.numbers - rows.numbers[0], minlength=len(rows.numbers))
                rows.require(np.diff(column.offsets.to_numpy()) == per_row, f"does not have one {name} for each segment")
                column = column.flatten()
            columns.append(column)
        labels = columns[0].to_numpy()
        spans.require((labels == 0) | (labels == 1), "has a label other than 0 and 1")
        if names:
            same = np.asarray(pc.equal(*columns[1:]).to_numpy(zero_copy_only=False))
            two = (labels == 1) & (self.config.objective == "nsp")
            spans.require(same != two, "has A and B of one document where its label says two, or of two where it says one")
        return Counter(ones=int(labels.sum()), labels=len(labels))


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split a record batch into slices of about a million tokens."""
    ends = batch.column("input_ids").offsets.to_numpy()
    row = 0
    while row < batch.num_rows:
        end = max(row + 1, int(np.searchsorted(ends, ends[row] + _TOKENS_PER_CHECK, "right")) - 1)
        yield batch.slice(row, end - row)
        row = end


def _tokens(batch: pa.RecordBatch, name: str, ends: Array, first: int) -> Array:
    """Return a column with a value per token [T]."""
    values, other = flat(batch.column(name))
    if len(wrong := np.flatnonzero(other != ends)):
        raise CheckFailed(f"row {first + int(wrong[0]) - 1} does not have one {name} for each token")
    return values


def _segments(rows: _Spans, batch: pa.RecordBatch) -> _Spans:
    """Return the segments of packed rows. Their starts must begin with 0, increase, and be inside the row."""
    starts, ends = flat(batch.column("document_starts"))
    counts = np.diff(ends)
    rows.require(counts >= 1, "has no segment")
    owner = np.repeat(np.arange(len(counts)), counts)
    where = rows.starts[owner] + starts
    valid = (np.diff(where, prepend=-1) > 0) & (starts < rows.lengths[owner])
    valid[ends[:-1]] &= starts[ends[:-1]] == 0
    in_order = np.bincount(owner[~valid], minlength=len(counts)) == 0
    rows.require(in_order, "has segments that are not in order, or begin after its end")
    return _Spans(rows.ids, rows.types, np.append(where, rows.ends[-1]), rows.numbers[owner])


def _first_of_b(spans: _Spans) -> Array:
    """Return the start of B in each pair [N]: segment ids are 0 before it, and 1 from there on."""
    # If the ids are valid, their sum is the length of B and [SEP]. Then compare them with those of such pairs:
    #
    #   segment ids    0 0 0 0 1 1 1 | 0 0 0 1 1      sums 3 and 2
    b = spans.ends[1:] - np.add.reduceat(spans.types, spans.starts, dtype=np.int64)
    spans.require((b - spans.starts >= 3) & (spans.ends[1:] - b >= 2), "has an empty A or B by its segment ids")
    expected = np.arange(len(spans.types)) >= np.repeat(b, spans.lengths)
    spans.require_tokens(spans.types == expected, "has segment ids that are not first 0 and then 1")
    return np.asarray(b)
