"""Check the rules for rows: length, positions of [CLS] and [SEP], segment ids, and the share of label 1.

    nsp, sop          [CLS] A [SEP] B [SEP], segment ids 0…0 1…1, half of a shard's labels 1
    documents         [CLS] … [SEP], segment ids 0, no other special token; starts with a word or the rest of a long one
    full-sentences    [CLS] … [SEP], segment ids 0
    causal            no [CLS], segment ids 0, all rows full except one per copy
    packed            each segment follows the rules above; causal: [SEP] only at a segment's end; no two rows fit in one

NumPy checks rows in batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..config import LABEL_1_COUNTS, PairsConfig
from ..dataset.manifest_records import RowFile
from ..dataset.shards import pair_schema
from . import batches, leaks, masks
from .directory import CheckFailed
from .row_checks import Rows, SpecialPieces

__all__ = ["check", "check_part", "flat", "not_half", "parts", "schema_of"]

_TOKENS_PER_CHECK = 1 << 20  # tokens checked at a time
_NAMES = ("a_document", "b_document")
Array = npt.NDArray[Any]


def check(path: Path, entry: RowFile, config: PairsConfig, vocabulary: SpecialPieces, origins: int = 0) -> Counter[str]:
    """Check a shard of rows. Return its number of rows, tokens, labels 1, maskable and masked tokens.

    `origins` is the number of origins in the manifest, or 0 for rows of earlier versions, which have no origin.
    """
    # The check reads the files and knows the rules for rows. It does not call the code that built
    # the rows, so a mistake there is not repeated here.
    counts: Counter[str] = Counter()
    lengths: list[Array] = []
    for batch in batches.read(path, schema_of(config, vocabulary, origins), entry):
        for part in parts(batch):
            if origins and not (known := part.column("origin").to_numpy() < origins).all():
                raise CheckFailed(f"row {counts['rows'] + int(known.argmin())} has an origin that is not in the manifest")
            counts.update(check_part(part, counts["rows"], config, vocabulary))
            lengths.append(np.diff(part.column("input_ids").offsets.to_numpy()))
        del batch
    # If the two shortest rows don't fit in one, no two rows do.
    if config.pack and len(two := np.sort(np.concatenate(lengths))[:2]) == 2 and two.sum() <= config.max_seq_length:
        raise CheckFailed(f"has rows of {two[0]} and {two[1]} tokens, which fit in one")
    if config.objective in LABEL_1_COUNTS:
        if problem := not_half(counts):
            raise CheckFailed(f"has {problem}")
    elif vocabulary.tells and counts["inside"] > counts["one word"]:
        raise CheckFailed(
            f"has {counts['inside']} rows that begin inside a word, but only {counts['one word']} that a part of one word fills"
        )
    elif config.objective == "causal" and not config.pack and counts["short"] > config.dupe_factor:
        raise CheckFailed(f"has {counts['short']} rows that are not full: of running text, only the last of a copy is short")
    return counts


def schema_of(config: PairsConfig, vocabulary: SpecialPieces, origins: int) -> pa.Schema:
    """Return the schema of rows. Rows of a manifest without `origins` have no origin."""
    columns = ["input_ids", "token_type_ids", *(["document_starts"] if config.pack else [])]
    columns += ["next_sentence_label"] if config.objective in LABEL_1_COUNTS else []
    columns += ["continues_word"] if config.chinese_words != "none" else []
    columns += ["masked_lm_positions", "masked_lm_labels"] if config.masking == "static" else []
    columns += (_NAMES if config.objective in LABEL_1_COUNTS else ("documents",)) if config.provenance else ()
    return pair_schema(len(vocabulary.never), [*columns, *(["origin"] if origins else [])])


def not_half(counts: Counter[str]) -> str:
    """Describe a label 1 count that is not exactly half, or return an empty string."""
    ones, labels = counts["ones"], counts["labels"]
    return f"{ones:,} labels 1 in {labels:,}, which is not half" if 2 * ones != labels else ""


def parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split a record batch into slices of about a million tokens."""
    ends = np.asarray(batch.column("input_ids").offsets.to_numpy(), np.int64)
    row = 0
    while row < batch.num_rows:
        end = max(row + 1, int(np.searchsorted(ends, ends[row] + _TOKENS_PER_CHECK, "right")) - 1)
        yield batch.slice(row, end - row)
        row = end


def check_part(batch: pa.RecordBatch, first: int, config: PairsConfig, vocabulary: SpecialPieces) -> Counter[str]:
    """Check rows, of which the first has the number `first`. Return their counts, as `check` does."""
    ids, ends = flat(batch.column("input_ids"))
    segments, other = flat(batch.column("token_type_ids"))
    rows = Rows(ids, segments, ends, first)
    rows.require(np.diff(other) == rows.lengths, "has not one segment id for each token")
    rows.require(rows.lengths <= config.max_seq_length, f"has more than {config.max_seq_length} tokens")
    whole, counts = rows, Counter(rows=batch.num_rows, tokens=len(ids))
    if config.pack:
        rows = _parts_of(rows, batch)
        counts["parts"] = len(rows.lengths)
    # [CLS] a [SEP] b [SEP] has 5 tokens, [CLS] a [SEP] has 3.
    least = {"nsp": 5, "sop": 5, "documents": 3, "full-sentences": 3, "causal": 1}[config.objective]
    rows.require(rows.lengths >= least, f"has less than {least} tokens")
    _in_range(rows, vocabulary)
    joined = None
    if config.chinese_words != "none":
        joined, other = flat(batch.column("continues_word"))
        whole.require(np.diff(other) == whole.lengths, "has not one continues_word for each token")
    # Undo the masks first, so that all further rules see the original text.
    if config.masking == "static":
        positions, labels = (flat(batch.column(f"masked_lm_{name}")) for name in ("positions", "labels"))
        rows.ids, masked = masks.restore(whole, positions, labels, config, vocabulary)
        whole.ids = rows.ids
        counts.update(masks.check(whole, ids, masked, config, vocabulary, joined))
    counts["text"] = _special_tokens(rows, config, vocabulary)
    if joined is not None:
        rows.require_tokens(~(joined & vocabulary.never[rows.ids]), "continues a word at a special token")
    if config.objective == "documents":
        counts.update(_cut_words(rows, vocabulary.continues[rows.ids] if joined is None else joined, config.max_seq_length))
    if config.objective in LABEL_1_COUNTS:
        label, *names = (
            _of_parts(whole, rows, batch, name) for name in ("next_sentence_label", *_NAMES[: 2 * config.provenance])
        )
        label = label.to_numpy()
        rows.require((label == 0) | (label == 1), "has a label other than 0 and 1")
        counts.update(ones=int(label.sum()), labels=len(label))
        if config.objective == "nsp":
            differ = leaks.scripts(rows, _first_of_b(rows), vocabulary.scripts)
            counts.update({name: int(np.count_nonzero(differ & (label == value))) for value, name in enumerate(leaks.DIFFERS)})
        if names:
            _documents(rows, names, label, config)
    elif config.objective == "causal":
        counts["short"] = int((rows.lengths < config.max_seq_length).sum())
    if config.provenance and config.objective not in LABEL_1_COUNTS:
        _documents_in(whole, rows, batch, config, vocabulary)
    return counts


def _parts_of(rows: Rows, batch: pa.RecordBatch) -> Rows:
    """Return the segments of packed rows. Their starts must begin with 0, increase, and be inside the row."""
    starts, ends = flat(batch.column("document_starts"))
    counts = np.diff(ends)
    rows.require(counts >= 1, "has no part")
    where = np.repeat(rows.starts, counts) + starts
    rows.require(where[ends[:-1]] == rows.starts, "has a first part that does not begin with it")
    rising = np.diff(where, prepend=-1) > 0
    inside = starts < np.repeat(rows.lengths, counts)
    rows.require(np.logical_and.reduceat(rising & inside, ends[:-1]), "has parts that are not in order, or begin after its end")
    return Rows(rows.ids, rows.segments, np.append(where, rows.ends[-1]), rows.first, ends)


def _of_parts(whole: Rows, rows: Rows, batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return a column with a value per row, or per segment of packed rows."""
    column = batch.column(name)
    if rows.rows is None:
        return column
    ends = np.asarray(column.offsets.to_numpy(), np.int64)
    whole.require(np.asarray(np.diff(ends) == np.diff(rows.rows)), f"has not one {name} for each part")
    return column.values.slice(ends[0], ends[-1] - ends[0])


def flat(column: pa.Array) -> tuple[Array, Array]:
    """Return the values of a list column's rows, and row ends in them [N + 1]."""
    ends = np.asarray(column.offsets.to_numpy(), np.int64)
    values = column.values.slice(ends[0], ends[-1] - ends[0])
    return np.asarray(values.to_numpy(zero_copy_only=False)), ends - ends[0]


def _in_range(rows: Rows, vocabulary: SpecialPieces) -> None:
    size = len(vocabulary.never)
    if len(rows.ids) and int(rows.ids.max()) >= size:
        rows.require_tokens(rows.ids < size, f"has an id outside its vocabulary of {size:,}")


def _special_tokens(rows: Rows, config: PairsConfig, vocabulary: SpecialPieces) -> int:
    """Check the positions of special tokens and the segment ids they separate. Return the number of text tokens."""
    ids, ends, starts = rows.ids, rows.ends, rows.starts
    never = vocabulary.never[ids]
    if config.objective == "causal":
        allowed = ids == vocabulary.sep_id
        if rows.rows is not None:
            allowed &= np.isin(np.arange(len(ids)), ends[1:] - 1)
    else:
        rows.require(ids[starts] == vocabulary.cls_id, "does not begin with [CLS]")
        rows.require(ids[ends[1:] - 1] == vocabulary.sep_id, "does not end with [SEP]")
        # `allowed` marks the places where a special token must or may be. Anywhere else it is an
        # error.
        allowed = ids == vocabulary.sep_id if config.objective == "full-sentences" else np.zeros(len(ids), bool)
        if config.objective in LABEL_1_COUNTS:
            allowed[_first_of_b(rows) - 1] = True
            rows.require(ids[np.flatnonzero(allowed)] == vocabulary.sep_id, "has no [SEP] where A ends by its segment ids")
        allowed[ends[1:] - 1] = True
        allowed[starts] = True
    rows.require_tokens(~never | allowed, "has a special token inside its text")
    if config.objective not in LABEL_1_COUNTS and rows.segments.any():
        rows.require_tokens(rows.segments == 0, "has a segment id other than 0")
    return len(ids) - int(np.count_nonzero(never))


def _cut_words(rows: Rows, continues_word: Array, most: int) -> Counter[str]:
    """Count rows that begin inside a word, and rows that one word or a part of it fills. A cut inside a word leaves such a row.

    `continues_word`: a mask of tokens that continue a word.
    """
    inside = np.add.reduceat(continues_word, rows.starts, dtype=np.int64)
    first = continues_word[rows.starts + 1]
    return Counter({"inside": int(first.sum()), "one word": int(((rows.lengths == most) & (inside - first == most - 3)).sum())})


def _first_of_b(rows: Rows) -> Array:
    """Return the start of B in each row [N]: segment ids are 0 before it, and 1 from there on."""
    segments = rows.segments
    rows.require_tokens(segments <= 1, "has a segment id other than 0 and 1")
    # If the ids are valid (0…0 1…1), their sum is the length of B and [SEP], so B starts that far
    # from the end of the row. Then check that the ids really look like that: they change once
    # inside each row and once between rows, 2 N - 1 times in all.
    #
    #   segment ids    0 0 0 0 1 1 1 | 0 0 0 1 1      sums 3 and 2
    b = rows.ends[1:] - np.add.reduceat(segments, rows.starts, dtype=np.int64)
    rows.require((b - rows.starts >= 3) & (rows.ends[1:] - b >= 2), "has an empty A or B by its segment ids")
    steps = np.count_nonzero(segments[1:] != segments[:-1])
    holds = (segments[rows.starts] == 0) & (segments[b - 1] == 0) & (segments[b] == 1) & (segments[rows.ends[1:] - 1] == 1)
    rows.require(holds, "has segment ids that are not first 0 and then 1")
    if steps != 2 * len(b) - 1:
        falls = np.flatnonzero(segments[1:] < segments[:-1]) + 1
        inside = falls[~np.isin(falls, rows.starts)][0]
        rows.require_tokens(np.arange(len(segments)) != inside, "has segment ids that fall from 1 to 0")
    return np.asarray(b)


def _documents_in(whole: Rows, rows: Rows, batch: pa.RecordBatch, config: PairsConfig, vocabulary: SpecialPieces) -> None:
    """Check the document ids of rows that are not pairs: one per segment, or per text before a [SEP] and after the last."""
    ids, ends = flat(batch.column("documents"))
    if rows.rows is not None:
        expected = np.diff(rows.rows)
    elif config.objective == "documents":
        expected = np.ones(len(whole.lengths), np.int64)
    else:
        closed = whole.ids == vocabulary.sep_id
        expected = np.add.reduceat(closed, whole.starts, dtype=np.int64) + ~closed[whole.ends[1:] - 1]
    whole.require(np.diff(ends) == expected, "has not one id for each of its documents")
    unnamed = np.repeat(np.arange(len(expected)), expected)[ids == ""]
    whole.require(~np.isin(np.arange(len(expected)), unnamed), "does not say where it came from")


def _documents(rows: Rows, names: list[pa.Array], label: Array, config: PairsConfig) -> None:
    """Check the source documents of A and B, `names`: two documents for NotNext, else one."""
    for name in names:
        rows.require(np.asarray(pc.binary_length(name).to_numpy(zero_copy_only=False)) > 0, "does not say where it came from")
    same = np.asarray(pc.equal(*names).to_numpy(zero_copy_only=False))
    two = (label == 1) if config.objective == "nsp" else np.zeros(len(label), bool)
    rows.require(same != two, "has A and B of one document where its label says two, or of two where it says one")
