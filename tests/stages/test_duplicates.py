"""Fingerprints, signatures and cuts: by hand, against plain Python, and on planted near-copies."""

from __future__ import annotations

import doctest
import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from bertdata.stages.selection.claims import Table
from bertdata.stages.selection.rounds import Received
from conftest import digests, read_rows
from hypothesis import given
from hypothesis import strategies as st
from test_choose import build, sentence

from bertdata.config import choice
from bertdata.errors import UsageError
from bertdata.stages.selection import claims, duplicates, facts, minhash, mixture, rounds
from bertdata.stages.selection.duplicates import fingerprint, first_of_each, normal, partition
from bertdata.stages.selection.mixture import ALL, Cut, cut, scaled
from bertdata.stages.shuffle import Pieces

ANY_KEY = st.integers(0, 2**64 - 1) | st.integers(0, 3) | st.integers(2**64 - 4, 2**64 - 1)


@pytest.mark.parametrize("module", [claims, duplicates, minhash, mixture, choice])
def test_the_examples(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


# --- the same text ---


def test_a_fingerprint_is_the_same_on_every_machine() -> None:
    assert fingerprint(normal(" Tea\u3000is\nHOT. ")) == fingerprint("tea is hot.")
    assert fingerprint("tea is hot.").hex() == "b1ae3c37ea58cb4397bc36fce5e8aded"
    assert fingerprint("tea") != fingerprint("te a")
    assert fingerprint("\ud800"), "half a pair has a fingerprint as well"


@given(st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 9)), max_size=4), max_size=5))
def test_the_first_of_each_hash(tasks: list[list[tuple[int, int, int]]]) -> None:
    """Claims are sorted by hash and position, whatever task they come from."""
    columns = np.dtype([("hash", "<u8", 2), ("row", "<u4")])
    pieces = []
    for task, rows in enumerate(tasks):
        made = np.zeros(len(rows), columns)
        for at, (high, low, row) in enumerate(sorted(rows, key=lambda own: own[2])):
            made[at] = (high, low), row
        pieces.append((task, Table(made).to_bytes()))
    claims = Received(Pieces(lambda: iter(pieces)), columns).by_hash()
    listed = [(*map(int, hash), task, row) for task, hash, row in claims.columns.tolist()]
    assert listed == sorted((high, low, task, row) for task, rows in enumerate(tasks) for high, low, row in rows)
    found = first_of_each(claims.columns["hash"]).tolist()
    assert [listed[at] for at in found] == [next(row for row in listed if row[:2] == own[:2]) for own in listed]


@given(st.lists(ANY_KEY), st.integers(1, 9999))
def test_a_partition_is_a_range_of_hashes(keys: list[int], count: int) -> None:
    found = partition(np.array(keys, np.uint64)[:, None], count).tolist()
    assert all(0 <= each < count and abs(each - (key * count >> 64)) <= 1 for each, key in zip(found, keys, strict=True))
    assert found == [each for _, each in sorted(zip(keys, found, strict=True))] or keys != sorted(keys)


# --- nearly the same ---


def test_signatures_are_the_same_with_every_release() -> None:
    """A known answer: another one would change what is dropped, and must not come unnoticed."""
    signer = minhash.Signer()
    signed = signer(["the tide turned at noon and the ferry left", "数据很多，时间不够", ""])
    assert signed.shape == (3, minhash.SIGNATURE_VALUES) and signed.dtype == np.uint8
    assert signed[0, :8].tolist() == KNOWN[0]
    assert signed[1, :8].tolist() == KNOWN[1]
    assert not signed[2].any()
    assert (signer(["the tide turned at noon and the ferry left"]) == signed[:1]).all()


KNOWN = [[114, 106, 167, 148, 27, 225, 48, 192], [186, 22, 75, 59, 238, 2, 155, 64]]


@pytest.mark.parametrize("shared", [0, 30, 60, 90, 100])
def test_the_estimate_is_near_the_true_similarity(shared: int) -> None:
    signer, draw = minhash.Signer(), random.Random(shared)
    errors = []
    for _ in range(40):
        words = [str(draw.randrange(10**9)) for _ in range(400)]
        other = [*words[: 4 * shared], *(str(draw.randrange(10**9)) for _ in range(400 - 4 * shared))]
        one, two = ({*signer._shingles(" ".join(own)).tolist()} for own in (words, other))
        signed = signer([" ".join(words), " ".join(other)])
        errors.append(float(minhash.similarity(signed[:1], signed[1:])[0]) - len(one & two) / len(one | two))
    assert abs(sum(errors)) / 40 < 0.02, "no bias, though places of eight bits agree by chance"
    assert max(map(abs, errors)) < 0.16


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 1.0])
def test_the_layout_finds_what_is_as_similar_as_asked(threshold: float) -> None:
    bands, rows = minhash.layout(threshold)
    assert bands * rows <= minhash.SIGNATURE_VALUES
    assert 1 - (1 - threshold**rows) ** bands >= 0.98
    assert rows == 128 or 1 - (1 - threshold ** (rows + 1)) ** (128 // (rows + 1)) < 0.99


def test_bands_of_equal_places_are_equal() -> None:
    signed = np.random.default_rng(1).integers(0, 256, (2, minhash.SIGNATURE_VALUES)).astype(np.uint8)
    signed[1, 6:12] = signed[0, 6:12]
    hashes = minhash.band_hashes(signed, 21, 6)
    assert (hashes[0] == hashes[1]).tolist() == [value == 1 for value in range(21)]
    same = minhash.band_hashes(np.zeros((1, minhash.SIGNATURE_VALUES), np.uint8), 21, 6)[0]
    assert len({*same.tolist()}) == 21, "a band of one number is not one of another"


def test_without_the_package_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rensa", None)
    with pytest.raises(UsageError, match=r"pip install 'rensa>=0\.5,<0\.6'"):
        minhash.Signer()


def new(draw: random.Random) -> str:
    return "".join(draw.choices("abcdefghiklmnoprstu", k=8))


def plant(path: Path) -> None:
    """Write 60 documents, and copies: the same but for a run of words, of 5 % or half of them; and one chain of copies."""
    draw = random.Random(2)
    originals = [" ".join(sentence(draw, 12) + f" Not the {new(draw)}." for _ in range(30)) for _ in range(60)]
    texts = {f"original-{n}": text for n, text in enumerate(originals)}
    for n, text in enumerate(originals[:40]):
        words = text.split()
        length = len(words) // (20 if n % 2 else 2)
        words[40 : 40 + length] = [new(draw) for _ in range(length)]
        texts[f"{'near' if n % 2 else 'far'}-{n}"] = " ".join(words)
    words = originals[50].split()
    for link in range(8):  # each is a near-copy of the one before, and the last is far from the first
        words = [*words[:-40], *(new(draw) for _ in range(10)), *words[-30:]][10:]
        texts[f"chain-{link}"] = " ".join(words)
    lines = [json.dumps({"id": id, "text": text}) for id, text in texts.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.slow
def test_near_copies_go_and_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path / "a.jsonl")
    files = {"text": [("a.jsonl", str(tmp_path / "a.jsonl"))]}
    made = build(tmp_path / "out", files, dedup="near")
    left = {row["id"].rpartition(":")[2] for row in read_rows(made)}
    assert {id for id in left if id.startswith("original")} == {f"original-{n}" for n in range(60)}
    assert {id for id in left if id.startswith("far")} == {f"far-{n}" for n in range(0, 40, 2)}
    assert not {id for id in left if id.startswith(("near", "chain"))}, "a link of a chain goes by the one before it"
    entries = [json.loads(line) for path in (made / "dropped").iterdir() for line in path.read_text().splitlines()]
    told = {entry["id"].rpartition(":")[2]: entry for entry in entries}
    assert {entry["reason"] for entry in entries} == {"near-duplicate"}
    assert all(told[f"near-{n}"]["detail"].endswith(f"original-{n}") for n in range(1, 40, 2))
    monkeypatch.setattr(rounds, "CLAIMS_PER_PARTITION", 64)
    monkeypatch.setattr(facts, "ROWS_PER_BATCH", 5)
    assert digests(build(tmp_path / "partitions", files, dedup="near")) == digests(made)


def test_texts_without_a_word_are_no_copies_of_each_other(tmp_path: Path) -> None:
    lines = [json.dumps({"id": n, "text": text}) for n, text in enumerate(("Tea is hot.", "— ! —", "… ? …"))]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = build(tmp_path / "out", {"text": [("a.jsonl", str(tmp_path / "a.jsonl"))]}, dedup="near")
    assert all("near" not in path.read_text() for path in (made / "dropped").glob("*"))


# --- cuts ---


@pytest.mark.slow
@given(st.lists(st.lists(st.tuples(ANY_KEY, st.integers(0, 50)), max_size=6), max_size=5), st.integers(0, 400))
def test_a_cut_takes_the_smallest_keys_that_fit(parts: list[list[tuple[int, int]]], limit: int) -> None:
    arrays = [(np.array([k for k, _ in part], np.uint64), np.array([s for _, s in part], np.int64)) for part in parts]
    found = cut(lambda: iter(arrays), limit)
    before, admitted = 0, []
    for keys, sizes in arrays:
        own = found.admits(keys, before)
        admitted += sizes[own].tolist()
        before += 0 if found == ALL else int((keys == np.uint64(found.key)).sum())
    room, expected = limit, []
    for _, _, size in sorted((k, n, s) for n, (k, s) in enumerate(item for part in parts for item in part)):
        if size > room:
            break
        room -= size
        expected.append(size)
    assert sorted(admitted) == sorted(expected)


@given(st.lists(ANY_KEY, min_size=1), ANY_KEY.filter(bool))
def test_scaled_keys_keep_their_order(keys: list[int], end: int) -> None:
    below = sorted(key % end for key in keys)
    found = scaled(np.array(below, np.uint64), Cut(end, 0))
    assert (np.diff(found.astype(object)) >= 0).all()


def test_scaled_keys_spread_over_all_bits() -> None:
    keys = np.linspace(0, 2.0**62, 1000, endpoint=False).astype(np.uint64)
    found = scaled(keys, Cut(1 << 62, 0)).astype(np.float64) / 2.0**64
    assert np.abs(found - np.linspace(0, 1, 1000, endpoint=False)).max() < 1e-9
