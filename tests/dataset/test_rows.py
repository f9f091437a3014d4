"""Mapped rows: what was written is what is gathered, and a file that is not what its manifest says is named."""

from __future__ import annotations

import gc
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import Build, read_manifest, read_rows
from tiny import FIRST, PIECES, row_of, write_pairs

from bertdata.dataset import manifest
from bertdata.dataset.rows import Shards
from bertdata.errors import UsageError, VerificationError

LENGTHS = {"train": [[8, 30, 64, 9], [11], [40, 5, 5]], "validation": [[12, 13]]}
FLAT = [length for part in LENGTHS["train"] for length in part]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "pairs", LENGTHS)


def test_rows_are_numbered_through_the_shards(pairs: Path) -> None:
    shards = Shards(pairs)
    assert (len(shards), shards.rows, shards.vocab_size, shards.objective) == (8, [8], len(PIECES), "nsp")
    assert shards.columns == ("input_ids", "token_type_ids", "next_sentence_label")
    assert shards.lengths.tolist() == FLAT and len(Shards(pairs, split="validation")) == 2
    found = shards.gather(np.array([4, 0, 7]), 16)
    assert found["input_ids"].tolist() == [row + [0] * (16 - len(row)) for row in (row_of(n, FLAT[n]) for n in (4, 0, 7))]
    assert found["attention_mask"].sum(1).tolist() == [11, 8, 5]
    assert found["token_type_ids"][0].tolist() == [0] * 7 + [1] * 4 + [0] * 5
    assert shards.gather(np.array([1, 6, 4]), 32)["next_sentence_label"].tolist() == [1, 1, 0]  # each shard counts anew


def test_a_row_is_a_dict_of_its_columns(pairs: Path, sample_pairs: Path) -> None:
    shards = Shards(pairs)
    assert [row["input_ids"].tolist() for row in shards] == [row_of(n, length) for n, length in enumerate(FLAT)]
    assert shards[-1]["input_ids"].tolist() == row_of(7, 5) and shards[np.int64(1)]["input_ids"].dtype == np.uint16
    assert [len(row["input_ids"]) for row in shards[6:0:-2]] == [5, 11, 64] and shards[8:] == []
    for number in (8, -9):
        with pytest.raises(IndexError, match=f"row {number}: there are 8"):
            shards[number]
    rows = Shards(sample_pairs)
    gathered = rows.gather(np.arange(len(rows)), rows.max_seq_length)
    for number, (found, row) in enumerate(zip(rows, read_rows(sample_pairs), strict=True)):
        assert {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()} == row
        for name in ("input_ids", "token_type_ids"):
            assert gathered[name][number].tolist() == row[name] + [0] * (rows.max_seq_length - len(row[name]))


def test_masks_and_words(build: Build, tmp_path: Path, sample_corpus: Path, sample_vocab: Path) -> None:
    """Static masks lie in lists of their own; the flags of words lie eight in a byte, wherever a row begins."""
    options = ["--masking", "static", "--shards", 2]
    shards = Shards(build("make-pairs", tmp_path / "static", sample_corpus, "--vocab", sample_vocab, *options), verify=True)
    rows = read_rows(tmp_path / "static", "train")
    found = shards.gather(np.arange(len(rows)), 128)
    assert found["masked_lm_positions"].shape == (len(rows), shards.max_predictions) == (len(rows), 19)
    for number, row in enumerate(rows):
        used = found["masked_lm_labels"][number] != -100
        assert found["masked_lm_positions"][number][used].tolist() == row["masked_lm_positions"]
        assert found["masked_lm_labels"][number][used].tolist() == row["masked_lm_labels"]
        assert not found["masked_lm_positions"][number][~used].any()
    words = Shards(write_pairs(tmp_path / "words", LENGTHS, words=True)).gather(np.arange(8), 64)
    expected = (words["input_ids"] % 3 == 0) & (words["input_ids"] >= FIRST)
    assert words["continues_word"].dtype == bool and (words["continues_word"] == expected).all()


@pytest.mark.slow
def test_rows_are_not_copied_and_no_file_stays_open(tmp_path: Path) -> None:
    """Shards are mapped into memory: Arrow allocates nothing, and no descriptor stays open."""
    root = write_pairs(tmp_path / "pairs", {"train": [[20, 30]] * 300}, width=32)
    gc.collect()  # Arrow's memory of earlier tests
    allocated = pa.total_allocated_bytes()
    assert Shards(root).gather(np.arange(600), 32)["input_ids"].shape == (600, 32)
    assert pa.total_allocated_bytes() - allocated < 1000
    assert not [path for path in Path("/proc/self/fd").iterdir() if os.path.realpath(path).startswith(str(root))]


def _edit(root: Path, **changes: Any) -> None:
    made = read_manifest(root) | changes
    manifest.store(root, made | {"rows": sum(shard["rows"] for shard in made["shards"])})


def _no_shard(root: Path) -> str:
    (root / "data/train-00001-of-00003.arrow").unlink()
    return "train-00001-of-00003.arrow"


def _no_arrow(root: Path) -> str:
    path = root / "data/train-00000-of-00003.arrow"
    path.write_bytes(b"\x01" * (path.stat().st_size - 8) + path.read_bytes()[-8:])
    return path.name


def _wrong_rows(root: Path) -> str:
    _edit(root, shards=[shard | {"rows": 2} for shard in read_manifest(root)["shards"]])
    return "train-00000-of-00003.arrow contains 4 rows, but its manifest lists 2"


def _wrong_vocabulary(root: Path) -> str:
    path = root / "vocab.txt"
    path.write_bytes(path.read_bytes().replace(b"w11\n", b"x11\n"))
    return "vocab.txt"


def _wrong_size(root: Path) -> str:
    _edit(root, vocab_size=7)
    return "the vocabulary in .* has 1,005 tokens, but 7 in the manifest"


@pytest.mark.parametrize("damage", [_no_shard, _no_arrow, _wrong_rows, _wrong_vocabulary, _wrong_size])
def test_damage_is_named_and_the_other_split_may_be_missing(pairs: Path, damage: Callable[[Path], str]) -> None:
    (pairs / "data/validation-00000-of-00001.arrow").unlink()
    assert len(Shards(pairs)) == 8
    named = damage(pairs)
    with pytest.raises(VerificationError, match=named):
        Shards(pairs)


def test_flipped_bits_in_rows_and_in_where_they_end(tmp_path: Path, pairs: Path) -> None:
    """Arrow sees neither: `verify` hashes the shards, and a length that cannot be is damage."""
    path = pairs / "data/train-00000-of-00003.arrow"
    data = bytearray(path.read_bytes())
    data[data.index(np.array(row_of(1, 30)[5:9], np.uint16).tobytes())] ^= 1
    path.write_bytes(data)
    assert len(Shards(pairs)) == 8
    with pytest.raises(VerificationError, match=path.name):
        Shards(pairs, verify=True)
    root = write_pairs(tmp_path / "more", {"train": [[20, 30, 25]]}, width=32)
    path = root / "data/train-00000-of-00001.arrow"
    ends, others = (np.array([0, 20, end, 75], np.int32).tobytes() for end in (50, 18))
    path.write_bytes(path.read_bytes().replace(ends, others))
    with pytest.raises(VerificationError, match=r"more: a row has 65534 tokens, over the maximum of 32 in the manifest"):
        _ = Shards(root).lengths


def test_what_cannot_be_read_says_why(tmp_path: Path, pairs: Path, sample_corpus: Path) -> None:
    with pytest.raises(UsageError, match="contains a corpus"):
        Shards(sample_corpus)
    with pytest.raises(UsageError, match=r"no split 'test', but train, validation"):
        Shards(pairs, split="test")
    for weights in ([1.0, 2.0], [0.0], [float("nan")]):
        with pytest.raises(UsageError, match="weights"):
            Shards(pairs, weights=weights)
    shards = Shards(pairs)
    with pytest.raises(ValueError, match="row 2 has 64 tokens"):
        shards.gather(np.array([0, 2]), 32)
    for rows in ([8], [-1]):
        with pytest.raises(IndexError, match="there are 8"):
            shards.gather(np.array(rows), 64)
    root = write_pairs(tmp_path / "empty", {"train": [[], []], "validation": [[], [9, 9]]})
    with pytest.raises(VerificationError, match="empty has no rows of split train"):
        Shards(root)
    assert len(Shards(root, split="validation").lengths) == 2


def test_directories_together(tmp_path: Path, pairs: Path) -> None:
    other = write_pairs(tmp_path / "other", {"train": [[6, 7]]}, salt=3)
    both = Shards([pairs, other], weights=[1, 0.5])
    assert (len(both), both.rows, both.weights) == (10, [8, 2], [1.0, 0.5])
    assert both.gather(np.array([9, 0]), 8)["input_ids"][0].tolist() == [*row_of(1, 7, 3), 0]


@pytest.mark.parametrize(
    ("what", "options"),
    [("objective", {"objective": "sop"}), ("columns", {"words": True}), ("masking", {"masking": "static"}), ("vocabulary", {})],
)
def test_directories_that_do_not_belong_together(
    tmp_path: Path, pairs: Path, sample_pairs: Path, what: str, options: dict[str, Any]
) -> None:
    other = write_pairs(tmp_path / "other", {"train": [[6, 7]]}, **options) if options else sample_pairs
    with pytest.raises(VerificationError, match=f"{other.name} and .*pairs differ in their {what}"):
        Shards([pairs, other])


def test_identity_tells_data_from_other_data_and_is_pickled_as_paths(tmp_path: Path, pairs: Path) -> None:
    one, moved = Shards(pairs).identity, write_pairs(tmp_path / "elsewhere", LENGTHS)
    assert one == Shards(pairs).identity == Shards(moved).identity
    other, validation = write_pairs(tmp_path / "other", LENGTHS, salt=1), Shards(pairs, split="validation", weights=[0.5])
    found = {one, Shards(other).identity, Shards(pairs, weights=[2]).identity, validation.identity}
    assert len(found | {Shards([pairs, moved]).identity}) == 5
    assert len(pickle.dumps(validation)) < 1000 and pickle.loads(pickle.dumps(validation)).identity == validation.identity
