"""What a run writes of its model's predictions is what its last checkpoint predicts, bounded, and its report shows it."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import Build
from small import load, pairs, small
from tiny import write_pairs

import bertdata
from bertdata.config import OBJECTIVES
from bertdata.labels import IGNORED
from bertdata.training import predictions
from bertdata.training.attention import for_bert
from bertdata.training.loader import batches
from bertdata.training.recipe import prepare
from bertdata.training.trainer import train

torch.set_num_threads(1)


def told_of(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "predictions.json").read_text(encoding="utf-8"))
    return found


def check(config: Any, run: Path, checkpoint: Path) -> None:
    """Compare with the probabilities of the checkpoint, worked out anew."""
    part = prepare(config).parts[0]
    assert part.validation is not None
    (batch,) = batches(part.validation, 4, whole=True, steps=1, masks=part.masks, **part.options)
    with torch.no_grad():
        words, relations = load(checkpoint).eval()(**for_bert(batch))
    told, names = told_of(run), OBJECTIVES[part.shards.objective].labels
    assert told["held_out"] and len(told["rows"]) == len(batch["input_ids"]) and words.std() > 0
    for row, own in enumerate(told["rows"]):
        labels = batch["masked_lm_labels"][row]
        truths = [part.shards.pieces[i] for i in labels.tolist() if i != IGNORED][:16]
        assert [word["truth"] for word in own["words"]] == truths and truths
        mask = part.shards.pieces[part.shards.special.mask]
        assert mask not in own["pieces"], "it is the row as it was before it was masked"
        for place, word in enumerate(own["words"]):
            shares, best = words[row, place].softmax(0).topk(3)
            assert [piece for piece, _ in word["guesses"]] == [part.shards.pieces[i] for i in best.tolist()]
            assert [share for _, share in word["guesses"]] == pytest.approx(shares.tolist(), abs=1e-3)
            assert own["pieces"][word["at"]] == word["truth"]
        if names:
            wanted = [i for i in batch["next_sentence_label"][row].reshape(-1).tolist() if i != IGNORED]
            assert [pair["truth"] for pair in own["pairs"]] == [names[i] for i in wanted[:8]]
            first = relations[row].reshape(-1, 2)[0].softmax(0)
            assert own["pairs"][0]["guess"] == names[int(first.argmax())]
            assert own["pairs"][0]["share"] == pytest.approx(float(first.max()), abs=1e-3)
        else:
            assert "pairs" not in own


def test_predictions_are_the_checkpoints(tmp_path: Path) -> None:
    config = small(pairs(tmp_path / "pairs"), 6)
    done = train(config, tmp_path / "run")
    check(config, tmp_path / "run", done.checkpoint)
    page = html.unescape((tmp_path / "run" / "report.html").read_text(encoding="utf-8"))
    told = told_of(tmp_path / "run")
    assert told["step"] == 6 and "after step 6, on rows held out" in page
    for word in told["rows"][0]["words"]:
        assert f"<bdi>{word['guesses'][0][0].removeprefix('##')}" in page.replace("<bdi>##", "<bdi>")
    (tmp_path / "run" / "predictions.json").write_text('{"rows": [{}], "mark": 1}', encoding="utf-8")
    assert "Predictions" not in bertdata.report(tmp_path / "run").read_text(encoding="utf-8")


def test_of_packed_rows_without_padding(build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    words = ("--vocab", sample_vocab, "--pack", "--max-seq-length", 64, "--validation-fraction", 0.2)
    config = small(build("make-pairs", tmp_path / "pairs", sample_corpus, *words), 2, unpadded=True)
    check(config, tmp_path / "run", train(config, tmp_path / "run").checkpoint)


def test_without_rows_held_out_they_are_of_the_last_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And few, however many there are."""
    for name, most in (("_MAX_ROWS", 2), ("_MAX_WORDS", 3), ("_MAX_PIECES", 20)):
        monkeypatch.setattr(predictions, name, most)
    data = write_pairs(tmp_path / "pairs", {"train": [[60] * 40]})
    train(small(data, 3), tmp_path / "run")
    told = told_of(tmp_path / "run")
    assert not told["held_out"] and len(told["rows"]) == 2
    assert all(len(row["words"]) <= 3 and len(row["pieces"]) == 20 and row["tokens"] == 60 for row in told["rows"])
    assert not any("[MASK]" in row["pieces"] for row in told["rows"])
    assert all(word["at"] < 20 for row in told["rows"] for word in row["words"])
