"""Read rows of a dataset, check and mask them, and decode them into readable text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..config import OBJECTIVES, PairsConfig
from ..dataset import shards
from ..dataset.manifest_types import CorpusManifest, ReadableManifest
from ..errors import UsageError, VerificationError
from ..pieces import IGNORED, join, shown
from ..records import Document
from ..rows import masking
from ..tokens.vocab import Vocabulary
from ..verification import documents
from ..verification.files import CheckFailed, check_batch
from ..verification.rows import RowRules
from .select import batches
from .summary import count

Ids = npt.NDArray[Any]
_MAX_IDS = 12  # shown of a row
_OF_PART: tuple[str, ...] = ("next_sentence_label", "a_document", "b_document", "documents")


def pick(rows: int, count: int) -> list[int]:
    """Choose `count` evenly spread row numbers, or all if there are fewer.

    >>> pick(100, 4)
    [0, 25, 50, 75]
    """
    count = min(rows, count)
    return [i * rows // count for i in range(count)]


def row(directory: Path, manifest: ReadableManifest, number: int, vocabulary: Vocabulary | None = None) -> dict[str, Any]:
    """Read one row as a dict. Raise UsageError if the number is out of range. `vocabulary` is that of rows."""
    if not 0 <= number < manifest.rows:
        raise UsageError(f"`row` {number}: {directory} has rows 0 to {manifest.rows - 1}", field="row", value=number)
    for first, batch in batches(directory, manifest, number):
        if number < first + batch.num_rows:
            found = batch.slice(number - first, 1)
            check_rows(directory, [(number, found)], manifest, vocabulary)
            values: dict[str, Any] = found.to_pylist()[0]
            return values
    raise VerificationError(f"{directory} has fewer rows than its manifest states: build the dataset again")


def check_rows(
    directory: Path,
    rows: Iterable[tuple[int, pa.RecordBatch]],
    manifest: ReadableManifest,
    vocabulary: Vocabulary | None = None,
) -> None:
    """Raise VerificationError for the first document or row that breaks a rule of `bertdata verify`.

    The digests of a stranger's shard can be valid, but its values may be ones that no command writes. `rows` are record batches,
    each with the number of its first row.
    """
    try:
        for first, batch in rows:
            if isinstance(manifest, CorpusManifest):
                check_batch(batch, shards.DOCUMENT)
                documents.check_rows(batch, first, manifest.settings)
            elif vocabulary:
                rules = RowRules.of(manifest, vocabulary.special)
                check_batch(batch, rules.schema)
                rules.check_rows(batch, first)
    except (CheckFailed, pa.ArrowException) as error:
        problem = " ".join(str(error).split())
        raise VerificationError(f"{directory}: {problem}. Build the dataset again, or get it from its author again.") from None


def mask_in_epoch(
    vocabulary: Vocabulary, config: PairsConfig, epoch: int, ids: Ids, rows: Ids, continues: Ids | None
) -> tuple[Ids, Ids, Ids]:
    """Mask ids [B, L] of `rows` [B] as training does, with BERT's shares and the rows' seed."""
    unit = unit_of(config)
    return masking.mask(
        ids.astype(np.int64),
        masking.mask_vocabulary(vocabulary.pieces, vocabulary.special),
        seed=config.seed,
        epoch=epoch,
        rows=rows,
        continues=continues,
        unit=unit,
        max_predictions=masking.predictions_per_row(max(config.max_seq_length, 3), unit=unit),
    )


def unit_of(config: PairsConfig) -> str:
    """Return the unit of masking to show: that of stored masks, else the word if the rows mark words."""
    return config.unit if config.masking == "static" or config.chinese_words == "none" else "word"


def document_lines(document: Document, most: int = 12, search: str = "") -> Iterator[tuple[int, str]]:
    """Yield (indent, line): the head of a document, and its first sentences that contain `search` in any case."""
    sentences, starts = document.sentences, document.paragraph_starts
    name = f"{document.id}  {document.title}  ({document.language or 'language unknown'})"
    yield 0, f"{name}  {count(len(starts), 'paragraph')}, {count(len(sentences), 'sentence')}"
    if document.url:
        yield 2, document.url
    hits = [number for number, sentence in enumerate(sentences) if search.lower() in sentence.lower()]
    for number in hits[:most]:
        yield 2, f"{'¶ ' if number in starts else '  '}{number:3d}  {sentences[number]}"
    if len(hits) > most:
        yield 2, f"  … {count(len(hits) - most, 'more sentence')}{f' with {search!r}' if search else ''}"


def pair_lines(
    pair: dict[str, Any], number: int, vocabulary: Vocabulary, config: PairsConfig, epoch: int
) -> Iterator[tuple[int, str]]:
    """Yield (indent, line): label, lengths, A and B, segment ids, and the masks: stored ones, or those of `epoch`."""
    masked, segments = np.array(pair["input_ids"]), np.array(pair["token_type_ids"])
    positions, labels = (np.array(pair.get(f"masked_lm_{name}", []), np.int64) for name in ("positions", "labels"))
    ids = masked.copy()
    ids[positions] = labels
    starts, rules = pair.get("document_starts"), OBJECTIVES[config.objective]
    if starts is None:
        yield from _part_lines(f"row {number}", pair, ids, segments, vocabulary, rules.labels)
    else:
        yield 0, f"row {number}  {count(len(ids), 'token')} in {count(len(starts), 'segment')}"
        for nth, (start, end) in enumerate(zip(starts, [*starts[1:], len(ids)], strict=True)):
            part = {name: pair[name][nth] for name in _OF_PART if name in pair}
            yield from _part_lines(f"segment {nth}", part, ids[start:end], segments[start:end], vocabulary, rules.labels)
    first = " ".join(map(str, masked[:_MAX_IDS].tolist()))
    yield 2, f"input_ids:      {first}{f' … {masked[-1]}' if len(masked) > _MAX_IDS else ''}"
    yield 2, f"token_type_ids: {', '.join(f'{segment} x {len(list(run))}' for segment, run in groupby(segments.tolist()))}"
    if len(positions):
        yield from _mask_lines("masked", masked, positions, labels, vocabulary)
    elif rules.masks:
        continues = np.array([pair["continues_word"]]) if "continues_word" in pair else None
        (masked,), (positions,), (labels,) = mask_in_epoch(vocabulary, config, epoch, ids[None], np.array([number]), continues)
        used = labels != IGNORED
        name = f"masked (epoch {epoch}{', whole words' if unit_of(config) == 'word' else ''})"
        yield from _mask_lines(name, masked, positions[used], labels[used], vocabulary)


def _part_lines(
    name: str, pair: dict[str, Any], ids: Ids, segments: Ids, vocabulary: Vocabulary, names: Sequence[str]
) -> Iterator[tuple[int, str]]:
    """Yield the lines of a row, or of a part of a packed one: label, lengths and text; `names` are those of its labels."""
    words, special = [vocabulary.pieces[i] for i in ids], _special(vocabulary)
    if not names:
        documents = [pair.get("documents", [])] if isinstance(pair.get("documents"), str) else pair.get("documents", [])
        yield 0, "  ".join([name, count(len(ids), "token"), *(f"[{document}]" for document in documents)])
        yield 2, join(words, vocabulary.special.mark, special)
        return
    label, a = pair["next_sentence_label"], int((segments == 0).sum())
    yield 0, f"{name}  {names[label]} ({label})  {len(ids)} tokens: A {a - 2}, B {len(ids) - a - 1}"
    for side, text in (("A", words[1 : a - 1]), ("B", words[a:-1])):
        origin = f"  [{pair[f'{side.lower()}_document']}]" if f"{side.lower()}_document" in pair else ""
        yield 2, f"{side}{origin}: {join(text, vocabulary.special.mark, special)}"


def _mask_lines(name: str, masked: Ids, positions: Ids, labels: Ids, vocabulary: Vocabulary) -> Iterator[tuple[int, str]]:
    pieces, mark, mask = vocabulary.pieces, vocabulary.special.mark, vocabulary.special.mask
    yield 2, f"{name}: {join([pieces[i] for i in masked], mark, _special(vocabulary))}"
    predicted = []
    for at, wanted in zip(positions.tolist(), labels.tolist(), strict=True):
        now, was = shown(pieces[masked[at]], mark), shown(pieces[wanted], mark)
        predicted.append(f"{at} {was} ({'kept' if now == was else now if masked[at] == mask else f'random: {now}'})")
    yield 2, f"to predict ({len(predicted)}): {', '.join(predicted)}"


def _special(vocabulary: Vocabulary) -> frozenset[str]:
    return frozenset(vocabulary.pieces[i] for i in vocabulary.special.never)
