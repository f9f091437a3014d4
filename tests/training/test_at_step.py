"""The masks of a row at a step, as a trace shows them, are those that a loader gives then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Build, read_manifest
from tiny import write_pairs

from bertdata.cli import cli
from bertdata.config.train import Phase, TrainConfig, read_training
from bertdata.dataset.shards import Shards
from bertdata.errors import UsageError
from bertdata.labels import IGNORED
from bertdata.reports.mask_rules import MaskRule
from bertdata.training.served import masks_at

pytest.importorskip("torch")
from bertdata.training.loader import batches  # noqa: E402
from bertdata.training.recipe import prepare  # noqa: E402

LENGTHS = np.random.default_rng(7).integers(6, 65, 90).tolist()


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pairs(tmp_path_factory.mktemp("pairs"), {"train": [LENGTHS[:40], LENGTHS[40:]], "validation": [LENGTHS[:9]]})


def compare(rule: MaskRule, loader: Any, step: int, shards: Shards, first: int = 0, count: int = 10**9) -> int:
    """Mask each row of a step that is of a directory by itself, as the rule does it; return how many there are."""
    (batch,), planned, seen = list(loader), loader.dataset.plan[step], 0
    rows = list(zip(planned.rows.tolist(), planned.copies.tolist(), strict=True))
    for place, (number, copy) in enumerate(rows):
        if not first <= number < first + count or copy > min(c for n, c in rows if n == number):
            continue  # of a row that comes twice in a batch the first copy is named
        ids = shards.gather(np.array([number]), planned.width)["input_ids"][:, : int(batch["attention_mask"][place].sum())]
        masked, positions, labels = rule.mask(ids.astype(np.int64), np.array([number - first]), None)
        assert masked[0].tolist() == batch["input_ids"][place, : ids.shape[1]].tolist()
        used, own = labels[0] != IGNORED, batch["masked_lm_labels"][place] != IGNORED
        assert positions[0][used].tolist() == batch["masked_lm_positions"][place][own].tolist()
        assert labels[0][used].tolist() == batch["masked_lm_labels"][place][own].tolist()
        assert "not in its batch" not in rule.when(number - first)
        seen += 1
    return seen


def test_masks_of_words_are_those_of_a_run(pairs: Path) -> None:
    run = TrainConfig(phases=(Phase(shards=(str(pairs),), steps=30),), batch_size=8, masked_lm_prob=0.3, unit="word")
    (part,) = prepare(run).parts
    for step in (0, 13, 27):  # of several epochs
        loader = batches(part.shards, 8, start_step=step, steps=1, masks=part.masks, **part.options)
        assert compare(masks_at(pairs, step, run), loader, step, part.shards) == 8


def test_masks_are_those_of_a_run(pairs: Path, tmp_path: Path) -> None:
    """In the second phase, whose steps are counted on, of two directories of which one is served two times and a half."""
    other = write_pairs(tmp_path / "other", {"train": [LENGTHS[:20]]})
    both = Phase(shards=(str(other), str(pairs)), weights=(2.5, 1.0), steps=40)
    run = TrainConfig(
        phases=(Phase(shards=(str(pairs),), steps=7), both), batch_size=16, seed=3, masked_lm_prob=0.4, masked_lm_prob_end=0.2
    )
    part = prepare(run).parts[1]
    copies = 0
    for step in (7, 30, 33):
        seen = []
        for path, first, count in ((other, 0, 20), (pairs, 20, 90)):
            loader = batches(part.shards, 16, start_step=step - 7, steps=1, masks=part.masks, **part.options)
            seen.append(compare(masks_at(path, step, run), loader, step - 7, part.shards, first, count))
        copies += int(loader.dataset.plan[step - 7].copies.sum())  # type: ignore[attr-defined]
        assert sum(seen) == len(set(loader.dataset.plan[step - 7].rows.tolist()))  # type: ignore[attr-defined]
    assert copies
    with pytest.raises(UsageError, match="steps 0 to 46"):
        masks_at(pairs, 47, run)
    with pytest.raises(UsageError, match="the run then reads"):
        masks_at(other, 6, run)


def test_rows_held_out_are_in_no_step(pairs: Path) -> None:
    rule = masks_at(pairs, 2, TrainConfig(phases=(Phase(shards=(str(pairs),), steps=3),), batch_size=8))
    ids = np.full((1, 20), 7)
    masked, _, labels = rule.mask(ids, np.array([90]), None)
    assert (masked == ids).all() and (labels == IGNORED).all() and "held out" in rule.when(90)


def test_a_trace_shows_them(
    build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = build("make-pairs", tmp_path / "pairs", sample_corpus, "--vocab", sample_vocab)
    pieces = (pairs / "vocab.txt").read_text(encoding="utf-8").split("\n")
    asked = ["trace", str(sample_corpus), "sampleenwiki:107", "--pairs", str(pairs)]
    run = tmp_path / "run.toml"
    run.write_text(f'batch_size = 4\nmasked_lm_prob = 0.4\n[[phases]]\nshards = "{pairs}"\nsteps = 10\n')
    cli.main([*asked, "--step", "9", "--run", str(run)], standalone_mode=False)
    said = " ".join(capsys.readouterr().out.split())
    number = int(said.split("masked (step 9, epoch")[0].rpartition("row ")[2].split()[0])
    row = Shards(pairs)[number]["input_ids"]
    _, positions, labels = masks_at(pairs, 9, read_training(run)).mask(row[None].astype(np.int64), np.array([number]), None)
    wanted = [f"{at} {pieces[i]} (" for at, i in zip(positions[0], labels[0], strict=True) if i != IGNORED]
    assert len(wanted) > 20 and all(each in said for each in wanted)
    with pytest.raises(UsageError, match="pass --pairs and --run"):
        cli.main([*asked, "--step", "2"], standalone_mode=False)
    assert read_manifest(pairs)["kind"] == "pairs"
