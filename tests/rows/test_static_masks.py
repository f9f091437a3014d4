"""Masks that rows are stored with: exact shares, one for each copy of the text, the same bytes however they are made."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Build, Run, digests, read_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata import rows as pairs
from bertdata.config import PairsConfig
from bertdata.errors import UsageError
from bertdata.rows import masking
from bertdata.stages.rows import static_masks
from bertdata.tokens.read import read_any
from bertdata.tokens.vocab import SPECIAL, from_tokens

VOCABULARY = from_tokens([*SPECIAL, *(f"w{i}" for i in range(300)), *(f"##x{i}" for i in range(100))], True, True)
INSIDE = 305  # the first piece that continues a word
MASKS = {"masking": "static", "max_seq_length": 64}


def _partition(documents: int, sentences: int, length: int, seed: int = 0) -> pairs.Partition:
    """Documents of words of one to three pieces."""
    random = np.random.default_rng(seed)
    count = documents * sentences * length
    tokens = random.integers(5, INSIDE + 100, count).astype(np.uint16)
    tokens[::length] = 7  # a sentence begins with a word
    starts = np.arange(0, count + 1, length)
    names = [f"w:{i}" for i in range(documents)]
    return pairs.Partition(tokens, tokens >= INSIDE, starts, np.arange(0, documents * sentences + 1, sentences), names)


def _build(partition: pairs.Partition, config: PairsConfig) -> pairs.Pairs:
    return pairs.build(partition, config, VOCABULARY.special)


def _mask(built: pairs.Pairs, config: PairsConfig, split: str = "train", partition: int = 0) -> dict[str, Any]:
    return static_masks.mask_rows(built, VOCABULARY, config, split, partition)[0]


def _positions(columns: dict[str, Any], row: int) -> np.ndarray:
    return columns["masked_lm_positions"][columns["masked_lm_ends"][row] : columns["masked_lm_ends"][row + 1]]


def _unmasked(columns: dict[str, Any], ends: np.ndarray) -> np.ndarray:
    ids = columns["input_ids"].copy()
    counts = np.diff(columns["masked_lm_ends"])
    ids[np.repeat(ends[:-1], counts) + columns["masked_lm_positions"]] = columns["masked_lm_labels"]
    return ids


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from([{}, {"whole_word": True}]),
    st.sampled_from(["nsp", "sop", "documents"]),
    st.floats(0.01, 1),
    st.integers(0, 30),
    st.integers(0, 9),
)
def test_masks_are_undone_by_positions_and_labels(
    unit: dict[str, bool], objective: str, prob: float, most: int, seed: int
) -> None:
    config = PairsConfig(**MASKS, **unit, objective=objective, masked_lm_prob=prob, max_predictions=most, seed=seed)
    built = _build(_partition(30, 6, 9, seed), config)
    columns, counts = static_masks.mask_rows(built, VOCABULARY, config, "train", 0)
    assert (_unmasked(columns, built.ends) == built.input_ids).all()
    assert columns["masked_lm_positions"].dtype == np.uint16 and columns["masked_lm_labels"].dtype == np.uint16
    maskable = built.input_ids >= 5
    assert counts == {"maskable": maskable.sum(), "masked": len(columns["masked_lm_labels"])}
    limit = masking.max_predictions_of(config)
    assert limit == most or most == 0
    for row, (start, end) in enumerate(zip(built.ends[:-1], built.ends[1:], strict=True)):
        positions, n = _positions(columns, row), int(maskable[start:end].sum())
        assert (np.diff(positions.astype(int)) > 0).all() and maskable[start + positions.astype(int)].all()
        assert len(positions) <= limit
        if config.unit == "piece":
            assert len(positions) == min(n, limit, max(1, np.rint(n * prob)))


def test_equal_rows_of_two_copies_have_other_masks() -> None:
    """Documents of one chunk that was not exchanged give the same row in each copy."""
    config = PairsConfig(**MASKS, dupe_factor=5, short_seq_prob=0)
    built = _build(_partition(200, 2, 30), config)
    columns = _mask(built, config)
    masks: dict[bytes, list[bytes]] = defaultdict(list)
    for row, (start, end) in enumerate(zip(built.ends[:-1], built.ends[1:], strict=True)):
        masks[built.input_ids[start:end].tobytes()].append(_positions(columns, row).tobytes())
    repeated = [found for found in masks.values() if len(found) > 1]
    assert len(repeated) > 100
    assert all(len(set(found)) == len(found) for found in repeated)


def test_masks_go_by_seed_split_partition_and_row_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    config = PairsConfig(**MASKS)
    built = _build(_partition(40, 5, 20), config)
    first = _mask(built, config)["masked_lm_positions"]
    others = [
        _mask(built, config, "validation"),
        _mask(built, config, partition=1),
        _mask(built, PairsConfig(**MASKS, seed=1)),
    ]
    assert all((other["masked_lm_positions"] != first).mean() > 0.5 for other in others)
    monkeypatch.setattr(static_masks, "_TOKENS_PER_CALL", 7 * 64)
    assert (_mask(built, config)["masked_lm_positions"] == first).all()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"masking": "dynamic"}, "`masking` is 'dynamic': use one of none, static"),
        ({"whole_word": True}, "`whole_word` does nothing with `masking` none"),
        ({"masked_lm_prob": 0.15}, "`masked_lm_prob` does nothing with `masking` none"),
        (
            {"max_predictions": 20},
            "`max_predictions` does nothing with `masking` none, where rows are masked when they are read: use",
        ),
        ({"masking": "static", "objective": "causal"}, "`masking` static does nothing with `objective` causal"),
        ({"chinese_words": "jieba", "objective": "causal"}, "`chinese_words` does nothing with `objective` causal"),
        ({"masking": "static", "chinese_words": "jieba"}, "`chinese_words` has no effect on masks of single tokens"),
        ({"masking": "static", "masked_lm_prob": 0.0}, "`masked_lm_prob`: use a share over 0"),
        ({"masking": "static", "masked_lm_prob": float("nan")}, "`masked_lm_prob` is nan"),
        ({"masking": "static", "max_predictions": 129}, "`max_predictions`: use 1 to `max_seq_length`"),
        ({"chinese_words": "thulac"}, "`chinese_words` is 'thulac': use one of none, jieba"),
    ],
)
def test_nonsense_is_refused(values: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        PairsConfig(**values)


def test_a_manifest_names_what_masks_are_only_where_there_are_some() -> None:
    assert "masked_lm_prob" not in PairsConfig().identity()
    assert PairsConfig(masking="static").identity()["masked_lm_prob"] == 0.15
    assert PairsConfig(masking="static") == PairsConfig(masking="static", masked_lm_prob=0.15)
    given = [PairsConfig(masking="static", max_seq_length=n, whole_word=w) for n, w in ((128, False), (512, False), (128, True))]
    assert [masking.max_predictions_of(config) for config in given] == [19, 76, 27]


OPTIONS = ("--max-seq-length", 64, "--shards", 6, "--dupe-factor", 2, "--validation-fraction", 0.2)
STATIC = ("--masking", "static", "--whole-word")


def _make(run: Run, root: Path, output: Path, *options: object) -> Path:
    run("make-pairs", root / "corpus", "--vocab", root / "vocab", "--output", output, *OPTIONS, *options)
    return output


@pytest.fixture(scope="module")
def made(build: Build, text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of some text, with masks and without, and what they are made of."""
    root = tmp_path_factory.mktemp("masks")
    corpus = build("build-corpus", root / "corpus", "--text", text, "--task-bytes", 1 << 16)
    vocab = build("train-vocab", root / "vocab", corpus, "--size", 200)
    build("make-pairs", root / "static", corpus, "--vocab", vocab, *OPTIONS, *STATIC)
    build("make-pairs", root / "none", corpus, "--vocab", vocab, *OPTIONS)
    return root


def test_static_rows_are_the_others_masked(made: Path) -> None:
    masked, plain = read_rows(made / "static"), read_rows(made / "none")
    vocabulary, total, changed = read_any(made / "static"), 0, 0
    pieces, maskable = vocabulary.pieces, masking.mask_vocabulary(vocabulary.pieces, vocabulary.special).maskable
    assert list(masked[0]) == [*plain[0], "masked_lm_positions", "masked_lm_labels"]
    assert len(masked) == len(plain) > 500
    for row, other in zip(masked, plain, strict=True):
        positions, answers = row.pop("masked_lm_positions"), row.pop("masked_lm_labels")
        assert 1 <= len(positions) == len(answers) <= 9 + 8, "a row of 64 has 9 at most, and the last word may reach over that"
        inside = [pieces[i].startswith("##") for i in other["input_ids"]]
        assert all(position + 1 in positions for position in positions if inside[position + 1]), "words are masked whole"
        changed += row != other
        for position, answer in zip(positions, answers, strict=True):
            row["input_ids"][position] = answer
        assert row == other
        total += len(positions)
    assert changed > 0.95 * len(plain), "in a short row the one position may have been kept"
    manifest = json.loads((made / "static" / "manifest.json").read_text())
    statistics, splits = manifest["statistics"], manifest["splits"]
    assert statistics["masked"] == total == sum(split["masked"] for split in splits.values())
    assert statistics["masked_share"] == total / sum(int(maskable[row["input_ids"]].sum()) for row in plain)
    assert statistics["max_predictions"] == 9 + 8
    assert statistics["masked_share"] == pytest.approx(0.15, abs=0.005)
    assert manifest["config"]["whole_word"] and manifest["config"]["masked_lm_prob"] == 0.15
    same = ("rows", "tokens", "not_next", "unknown_share")
    assert {k: statistics[k] for k in same} == {
        k: json.loads((made / "none" / "manifest.json").read_text())["statistics"][k] for k in same
    }


def test_what_is_shown_of_static_rows(run: Run, made: Path) -> None:
    row = read_rows(made / "static")[3]
    pieces = read_any(made / "static").pieces
    shown = run("inspect", made / "static", "--row", 3).stdout
    summary = run("inspect", made / "static", "--n", 0).stdout
    assert "masked 1" in summary and "[UNK]" in summary
    words = " ".join(shown.split())
    assert f"to predict ({len(row['masked_lm_positions'])}): {row['masked_lm_positions'][0]} " in words
    assert f" {pieces[row['masked_lm_labels'][-1]]} (" in words
    body = words.split(" A: ")[1].split(" token_type_ids")[0]
    assert "[MASK]" not in body, "A and B are shown as they are without the mask"
    assert "[MASK]" in words.split(" masked: ")[1]
    assert "have static masks" in run("inspect", made / "static", "--epoch", 1, code=2).stderr
    card = (made / "static" / "README.md").read_text()
    assert "Rows are masked: 1" in card and "at most 17 per row" in card
    assert "Rows are masked" not in (made / "none" / "README.md").read_text()


def test_same_bytes_by_two_workers(run: Run, made: Path, tmp_path: Path) -> None:
    assert digests(_make(run, made, tmp_path / "again", *STATIC, "--workers", 2)) == digests(made / "static")
