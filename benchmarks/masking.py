"""Measure masks: their statistics over a dataset of rows, and rows per second for gather + mask + collate.

    python benchmarks/masking.py pairs-128
    python benchmarks/masking.py pairs-512 --seconds 5

DIR is an output of make-pairs.  Hugging Face's collators process the same rows in the same run.  For rows with static masks,
only the statistics of all rows are printed, without rates.
Times are CPU times of one process. Rows are drawn at random from all shards, in batches of 256.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from ratios import ratio

from bertdata.dataset import manifest, shards
from bertdata.dataset.manifest_types import PairsManifest
from bertdata.labels import IGNORED
from bertdata.rows.masking import UNITS, MaskVocabulary, mask, mask_vocabulary, predictions_per_row
from bertdata.tokens.read import read_any

SIZES = {"tiny": ["{pairs} --seconds 0.05"], "small": ["{pairs} --seconds 1"], "full": ["{pairs} --seconds 3"]}
BATCH = 256
ENOUGH = 1_000_000  # minimum tokens for the statistics
Array = npt.NDArray[Any]


class Stored(NamedTuple):
    """Static masks: positions [M], original ids [M], row ends in these [N + 1], their unit and their share."""

    positions: Array
    answers: Array
    ends: Array
    unit: str
    share: float


class Rows(NamedTuple):
    """All rows of a dataset: flat ids and segment ids [T], ends [N + 1], labels [N], padded length, masks."""

    ids: Array
    types: Array
    ends: Array
    labels: Array
    width: int
    stored: Stored | None

    def gather(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return padded ids, segment ids and attention mask [B, L]."""
        ids, types = (shards.padded(values, self.ends, rows, self.width, 0) for values in (self.ids, self.types))
        return ids, types, np.arange(self.width) < np.diff(self.ends)[rows][:, None]


def main() -> int:
    """Print the statistics and rates. Return 1 if a rule is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR", help="pairs, as make-pairs writes them")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to measure each")
    options = parser.parse_args()
    pieces = read_any(options.directory).pieces
    rows = _load(options.directory)
    print(f"{options.directory}: {len(rows.labels)} rows, {len(rows.ids)} tokens, length {rows.width}\n")
    if rows.stored:
        broken = [rows.stored.unit] if not _statistics(rows, pieces, rows.stored.unit) else []
        _copies(rows)
    else:
        broken = [unit for unit in UNITS if not _statistics(rows, pieces, unit)]
        _rates(rows, options.directory, mask_vocabulary(pieces), options.seconds)
    if broken:
        print(f"FAIL: {', '.join(broken)}")
    return int(bool(broken))


def _load(directory: Path) -> Rows:
    made = manifest.read(directory, PairsManifest)
    batches = [b for s in made.shards for b in shards.read_batches(directory / s.name)]
    flat = [[b.column(name).flatten().to_numpy() for b in batches] for name in ("input_ids", "token_type_ids")]
    lengths = np.concatenate([b.column("input_ids").value_lengths().to_numpy() for b in batches])
    labels = np.concatenate([b.column("next_sentence_label").to_numpy() for b in batches])
    ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    stored = None
    if made.settings.masking == "static":
        columns = [[b.column(f"masked_lm_{name}") for b in batches] for name in ("positions", "labels")]
        positions, answers = (np.concatenate([c.flatten().to_numpy() for c in column]).astype(np.int64) for column in columns)
        counts = np.concatenate([c.value_lengths().to_numpy() for c in columns[0]])
        unit, share = made.settings.unit, made.settings.masked_lm_prob or 0.15
        stored = Stored(positions, answers, np.append(0, np.cumsum(counts)), unit, share)
    return Rows(np.concatenate(flat[0]), np.concatenate(flat[1]), ends, labels, made.settings.max_seq_length, stored)


def _unmask(rows: Rows, numbers: Array) -> tuple[Array, Array, Array, Array]:
    """Return (ids, masked, positions, labels) of stored rows."""
    assert rows.stored is not None
    masked = rows.gather(numbers)[0]
    most = int(np.diff(rows.stored.ends).max())
    positions = shards.padded(rows.stored.positions, rows.stored.ends, numbers, most, 0)
    labels = shards.padded(rows.stored.answers, rows.stored.ends, numbers, most, IGNORED)
    ids, (row, position) = masked.copy(), np.nonzero(labels != IGNORED)
    ids[row, positions[row, position]] = labels[row, position]
    return ids, masked, positions, labels


def _copies(rows: Rows) -> None:
    """Count rows with equal text, as in copies, and rows with equal text and masks."""
    texts: dict[bytes, list[bytes]] = {}
    for first in range(0, len(rows.labels), BATCH):
        ids, _, positions, _ = _unmask(rows, np.arange(first, min(first + BATCH, len(rows.labels))))
        for text, own in zip(ids, positions, strict=True):
            texts.setdefault(text.tobytes(), []).append(own.tobytes())
    repeated = [masks for masks in texts.values() if len(masks) > 1]
    equal = sum(len(masks) - len(set(masks)) for masks in repeated)
    print(f"rows whose text another row has too: {sum(map(len, repeated))}; of them with its mask too: {equal}")


def _masks(rows: Rows, vocabulary: MaskVocabulary, unit: str, epoch: int) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Yield (ids, masked, positions, labels) of enough rows."""
    seen = 0
    for first in range(0, len(rows.labels), 4 * BATCH):
        numbers = np.arange(first, min(first + 4 * BATCH, len(rows.labels)))
        if rows.stored:
            yield _unmask(rows, numbers)
            continue
        ids = rows.gather(numbers)[0]
        most = predictions_per_row(rows.width, unit=unit)
        yield ids, *mask(ids, vocabulary, seed=1, epoch=epoch, rows=numbers, max_predictions=most, unit=unit)
        seen += int(vocabulary.maskable[ids].sum())
        if seen >= ENOUGH:
            return


def _statistics(rows: Rows, pieces: list[str], unit: str) -> bool:
    """Print statistics of the masks of two epochs, or of stored masks. Return True if they match BERT's paper."""
    vocabulary, wanted = mask_vocabulary(pieces), rows.stored.share if rows.stored else 0.15
    exact = count = maskable = same = 0
    old, new = [], []
    again = _masks(rows, vocabulary, unit, 1)
    for ids, masked, positions, labels in _masks(rows, vocabulary, unit, 0):
        row, position = np.nonzero(labels != IGNORED)
        tokens = vocabulary.maskable[ids].sum(1)
        exact += int((np.bincount(row, minlength=len(ids)) == np.maximum(1, np.rint(wanted * tokens))).sum())
        count, maskable = count + len(ids), maskable + int(tokens.sum())
        same += 0 if rows.stored else int((positions == next(again)[2]).all(1).sum())
        old.append(labels[row, position])
        new.append(masked[row, positions[row, position]])
    was, now = np.concatenate(old), np.concatenate(new)
    masked_share, kept = float((now == vocabulary.mask_id).mean()), float((now == was).mean())
    random = now[(now != vocabulary.mask_id) & (now != was)]
    share, z = len(was) / maskable, _uniformity(random, vocabulary.words)
    strange = int((~np.isin(random, vocabulary.words)).sum())
    print(f"unit={unit}: selected {share:.4%} of {maskable} maskable; rows with exactly round({wanted} n): {exact / count:.2%}")
    print(f"  [MASK] {masked_share:.3%}  random {len(random) / len(was):.3%}  kept {kept:.3%}")
    print(f"  random ids that are special or unused: {strange}; chi-square of the ordinary words: z = {z:+.2f}")
    print("" if rows.stored else f"  rows with equal masks in two epochs: {same} of {count}\n")
    close = abs(share - wanted) < 0.002 and abs(masked_share - 0.8) < 0.005 and abs(kept - 0.1) < 0.005
    return close and not strange and abs(z) < 5 and (unit == "word" or exact == count) and same < 0.01 * count


def _uniformity(random: Array, words: Array) -> float:
    """Return chi-square's distance from its mean, in standard deviations."""
    counts = np.bincount(random, minlength=int(words.max()) + 1)[words]
    expected, freedom = len(random) / len(words), len(words) - 1
    return float((((counts - expected) ** 2 / expected).sum() - freedom) / (2 * freedom) ** 0.5)


def _rates(rows: Rows, directory: Path, vocabulary: MaskVocabulary, seconds: float) -> None:
    generator = np.random.default_rng(0)

    def ours(unit: str) -> Callable[[], object]:
        most = predictions_per_row(rows.width, unit=unit)

        def batch() -> dict[str, Array]:
            numbers = generator.integers(0, len(rows.labels), BATCH)
            ids, types, attention = rows.gather(numbers)
            masked, positions, labels = mask(ids, vocabulary, seed=1, epoch=0, rows=numbers, max_predictions=most, unit=unit)
            return {
                "input_ids": masked.astype(np.int64),
                "token_type_ids": types.astype(np.int64),
                "attention_mask": attention.astype(np.int64),
                "masked_lm_positions": positions,
                "masked_lm_labels": labels,
                "next_sentence_label": rows.labels[numbers].astype(np.int64),
            }

        return batch

    runs = {f"bertdata, {unit}s: gather + mask + collate": ours(unit) for unit in UNITS} | _peers(rows, directory, vocabulary)
    found = {name: _rate(run, seconds) for name, run in runs.items()}
    for name, rate in found.items():
        print(f"{name:60} {rate:10.0f} rows/s  {rate / max(found.values()):6.1%}")
    for unit, peer in (("piece", "Hugging Face"), ("word", "Hugging Face, words")):
        if theirs := found.get(f"{peer}: mask + collate"):
            ours_of = found[f"bertdata, {unit}s: gather + mask + collate"]
            ratio(f"rows masked and collated, {unit}s, one core", ours_of, "rows/s", "Hugging Face's collator", theirs)


def _peers(rows: Rows, directory: Path, vocabulary: MaskVocabulary) -> dict[str, Callable[[], object]]:
    try:
        import transformers
    except ImportError:
        print("Hugging Face's collators are left out: pip install transformers torch", file=sys.stderr)
        return {}
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(directory))
    ids, types, attention = rows.gather(np.random.default_rng(0).integers(0, len(rows.labels), BATCH))
    starts = 2 * np.cumsum(~vocabulary.continues[ids], axis=1) + np.arange(rows.width)  # a gap before every word
    whole = {"input_ids": ids, "token_type_ids": types, "attention_mask": attention.astype(np.int64)}
    offsets = {**whole, "offset_mapping": np.stack([starts, starts + 1], axis=2)}

    def collate(columns: dict[str, Array], whole_word_mask: bool) -> Callable[[], object]:
        collator = transformers.DataCollatorForLanguageModeling(tokenizer, whole_word_mask=whole_word_mask)
        features = [{name: values[row].tolist() for name, values in columns.items()} for row in range(BATCH)]
        return lambda: collator([dict(feature) for feature in features])

    return {
        "Hugging Face: mask + collate": collate(whole, False),
        "Hugging Face, words: mask + collate": collate(offsets, True),
    }


def _rate(run: Callable[[], object], seconds: float) -> float:
    run()
    start, count = time.process_time(), 0
    while (spent := time.process_time() - start) < seconds:
        run()
        count += BATCH
    return count / spent


if __name__ == "__main__":
    sys.exit(main())
