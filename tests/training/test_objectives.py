"""Masked next tokens, causal batches, shares by row, weights of tokens, no masks, and functions of one's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Build
from tiny import write_pairs

from bertdata.config.train import ModelConfig, Phase, TrainConfig
from bertdata.dataset.rows import Shards
from bertdata.errors import ResumeError, UsageError
from bertdata.labels import IGNORED
from bertdata.training.masks import MaskConfig, Rows, Schedule, is_causal
from bertdata.training.recipe import prepare
from bertdata.training.token_weights import token_weights

torch = pytest.importorskip("torch")
from bertdata.training import attention, loader  # noqa: E402
from bertdata.training.trainer import train  # noqa: E402
from bertdata.training.trainer.model import BertForPreTraining  # noqa: E402

LENGTH = 96
DENSE, UNPADDED = loader.BatchFormat(dense_labels=True), loader.BatchFormat(unpadded=True)
FORMS: list[dict[str, Any]] = [{}, {"format": DENSE, "for_model": "custom"}, {"format": UNPADDED}]
HALF = MaskConfig(labels="next", causal_share=0.5)


@pytest.fixture(scope="module")
def rows(build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Shards]:
    """Rows of the sample's documents, and packed ones."""
    root, common = tmp_path_factory.mktemp("rows"), ("--vocab", sample_vocab, "--objective", "documents")
    options = ("--max-seq-length", LENGTH, "--validation-fraction", 0.1)
    return {
        packed: Shards(build("make-pairs", root / str(packed), sample_corpus, *common, *options, *(["--pack"] if packed else [])))
        for packed in (False, True)
    }


def labels_of(batch: dict[str, Any]) -> Iterator[tuple[Any, int, int]]:
    """Yield the row, position and label of each prediction, where an unpadded batch is one row."""
    if "masked_lm_labels" in batch:
        for row, nth in (batch["masked_lm_labels"] != IGNORED).nonzero().tolist():
            yield row, int(batch["masked_lm_positions"][row, nth]), int(batch["masked_lm_labels"][row, nth])
    else:
        labels = batch["labels"].reshape(-1, batch["labels"].shape[-1])
        for row, at in (labels != IGNORED).nonzero().tolist():
            yield row, at, int(labels[row, at])


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", FORMS, ids=["sparse", "dense", "unpadded"])
def test_next_labels_stand_one_position_before_their_token(rows: dict[bool, Shards], packed: bool, form: dict[str, Any]) -> None:
    same, following = (
        loader.batches(rows[packed], 8, masks=MaskConfig(labels=labels), steps=3, **form) for labels in ("same", "next")
    )
    for one, other in zip(same, following, strict=True):
        assert torch.equal(one["input_ids"], other["input_ids"])
        expected = [(row, at - 1, label) for row, at, label in labels_of(one)]
        assert len(expected) > 8 and sorted(labels_of(other)) == sorted(expected)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", FORMS, ids=["sparse", "dense", "unpadded"])
def test_causal_batches_predict_each_next_token_of_a_document(
    rows: dict[bool, Shards], packed: bool, form: dict[str, Any]
) -> None:
    shards = rows[packed]
    batches = loader.batches(shards, 8, masks=HALF, steps=4, **form)
    whole = loader.batches(shards, 8, masks=MaskConfig(0.0), steps=4, **form)
    kinds = []
    for batch, unmasked in zip(batches, whole, strict=True):
        assert set(batch["causal"].tolist()) <= {0, 1} and len(set(batch["causal"].tolist())) == 1
        kinds.append(int(batch["causal"][0]))
        if not kinds[-1]:
            continue
        assert torch.equal(batch["input_ids"], unmasked["input_ids"])  # nothing is masked
        ids = batch["input_ids"].reshape(-1, batch["input_ids"].shape[-1])
        cls, pad = shards.special.cls, shards.special.pad
        expected = [
            (row, at, following)
            for row, tokens in enumerate(ids.tolist())
            for at, following in enumerate(tokens[1:])
            if following not in (cls, pad)  # [CLS] begins a document
        ]
        assert sorted(labels_of(batch)) == expected
    assert sum(kinds) == 2


def test_causal_steps_have_their_exact_share_and_follow_a_schedule() -> None:
    masks = MaskConfig(labels="next", causal_share=1 / 16)
    assert {sum(is_causal(masks, seed, step) for step in range(first, first + 64)) for seed in (1, 2) for first in (0, 7)} == {4}
    falling = MaskConfig(labels="next", causal_share=Schedule(1.0, 0.0, 1000))
    counts = [sum(is_causal(falling, 3, step) for step in range(first, first + 250)) for first in range(0, 1000, 250)]
    assert counts == pytest.approx([219, 156, 94, 31], abs=1.01) and sum(counts) == pytest.approx(500, abs=1)
    assert not any(is_causal(falling, 3, step) for step in range(1001, 1200))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("unpadded", [False, True])
def test_no_position_of_a_causal_batch_sees_a_later_one(rows: dict[bool, Shards], packed: bool, unpadded: bool) -> None:
    torch.manual_seed(1)
    shape = ModelConfig(vocab_size=rows[packed].vocab_size, hidden_size=16, num_hidden_layers=2, num_attention_heads=2)
    model = BertForPreTraining(shape).eval()
    batch = next(batch for batch in loader.batches(rows[packed], 4, masks=HALF, steps=4) if batch["causal"].any())

    def logits(batch: dict[str, Any]) -> Any:
        with torch.no_grad():
            return model(**attention.for_bert(batch, unpadded=unpadded))[0].reshape(4, batch["input_ids"].shape[1], -1)

    at = 9
    changed = {**batch, "input_ids": batch["input_ids"].clone()}
    changed["input_ids"][:, at] = (changed["input_ids"][:, at] + 1) % rows[packed].vocab_size
    one, other = logits(batch), logits(changed)
    assert torch.allclose(one[:, :at], other[:, :at], atol=1e-6) and not torch.allclose(one[:, at], other[:, at], atol=1e-4)
    masked = {**batch, "causal": torch.zeros(4, dtype=torch.long)}
    assert not torch.allclose(logits(masked)[:, :at], one[:, :at], atol=1e-4)


def test_causal_batches_for_a_model_of_transformers(rows: dict[bool, Shards]) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=rows[True].vocab_size, hidden_size=16, num_attention_heads=2, intermediate_size=32
    )
    model = transformers.BertForMaskedLM(config).eval()
    step = next(step for step in range(4) if is_causal(HALF, 12345, step))
    for packed in (False, True):
        (batch,) = loader.batches(rows[packed], 4, masks=HALF, start_step=step, steps=1, for_model=model)
        assert not batch["attention_mask"][:, 0].triu(1).any() and torch.isfinite(model(**batch).loss)


def test_each_row_draws_its_share_between_two_bounds(rows: dict[bool, Shards]) -> None:
    shards = rows[True]
    masks = MaskConfig(masked_lm_prob_by_row="0.1-0.9")
    shares, again = (
        {
            int(row): (of_row != IGNORED).sum().item() / (seen.sum().item() - 2)
            for size in (sizes,)
            for batch, planned in (
                (b, made.dataset.plan[step])
                for made in (loader.batches(shards, size, masks=masks),)
                for step, b in enumerate(made)
            )
            for row, of_row, seen in zip(planned.rows, batch["masked_lm_labels"], batch["attention_mask"], strict=True)
        }
        for sizes in (8, 5)
    )
    common = shares.keys() & again.keys()
    assert len(common) > 30 and all(shares[row] == again[row] for row in common)
    values = np.array(list(shares.values()))
    assert values.min() < 0.25 and values.max() > 0.75 and abs(values.mean() - 0.5) < 0.12


@pytest.mark.parametrize("unit", ["piece", "word"])
def test_heavier_tokens_are_masked_more_often_and_as_many_in_all(rows: dict[bool, Shards], tmp_path: Path, unit: str) -> None:
    shards, path = rows[True], tmp_path / "weights.json"
    ids = np.concatenate([row["input_ids"] for row in shards])
    heavy = np.argsort(-np.bincount(ids, minlength=shards.vocab_size))[5:25].tolist()
    path.write_text(json.dumps({shards.pieces[token]: 9 for token in heavy}))

    def count(masks: MaskConfig) -> tuple[list[int], float]:
        labels = [batch["masked_lm_labels"] for batch in loader.batches(shards, 8, masks=masks)]
        of_rows = [n for each in labels for n in (each != IGNORED).sum(1).tolist()]
        chosen = torch.cat([each[each != IGNORED] for each in labels])
        return of_rows, float(np.isin(chosen.numpy(), heavy).mean())

    plain, weighted = (count(MaskConfig(unit=unit, token_weights=name)) for name in ("", str(path)))
    assert weighted[1] > 2 * plain[1]
    assert plain[0] == weighted[0] if unit == "piece" else abs(sum(plain[0]) / sum(weighted[0]) - 1) < 0.05


def test_weights_by_frequency_prefer_rare_tokens(rows: dict[bool, Shards]) -> None:
    shards = rows[True]
    weights, counts = token_weights(shards, "frequency"), np.bincount(np.concatenate([row["input_ids"] for row in shards]))
    assert weights[counts.argmax()] == weights.min() == counts.max() ** -0.5 and weights.max() == 10**-0.5


def test_no_masks(rows: dict[bool, Shards]) -> None:
    for form in FORMS:
        for batch in loader.batches(rows[True], 8, masks=MaskConfig(0.0), steps=2, **form):
            assert not list(labels_of(batch)) and not (batch["input_ids"] == rows[True].special.mask).any()


def half(given: Rows) -> tuple[Any, Any]:
    """Mask half of the tokens."""
    chosen = given.vocabulary.maskable[given.ids] & (given.random(0) < 0.5)
    return np.where(chosen, given.vocabulary.mask_id, given.ids), np.where(chosen, given.ids, IGNORED)


def wrong(given: Rows) -> tuple[Any, Any]:
    return given.ids[:, 1:], given.ids


def test_a_function_of_ones_own_masks_rows(rows: dict[bool, Shards]) -> None:
    masks = MaskConfig(mask=f"{__name__}:half")
    for form in FORMS:
        one, other = (list(loader.batches(rows[True], 8, masks=masks, steps=3, workers=n, **form)) for n in (0, 1))
        for batch, again in zip(one, other, strict=True):
            assert torch.equal(batch["input_ids"], again["input_ids"])
            found = list(labels_of(batch))
            assert len(found) / (batch["input_ids"] > 4).sum() > 0.4 and found == list(labels_of(again))
    with pytest.raises(UsageError, match="must return masked ids and labels, both of shape"):
        list(loader.batches(rows[True], 8, masks=MaskConfig(mask=f"{__name__}:wrong"), steps=1))
    with pytest.raises(UsageError, match="more than `max_predictions` 2"):
        list(loader.batches(rows[True], 8, masks=MaskConfig(mask=f"{__name__}:half", max_predictions=2), steps=1))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"causal_share": 0.5}, "`causal_share` needs `labels` next"),
        ({"causal_share": 1.5, "labels": "next"}, "`causal_share` is 1.5: use a share up to 1"),
        ({"masked_lm_prob_by_row": "0.9-0.1"}, "`masked_lm_prob_by_row` 0.9-0.1: use two shares"),
        ({"masked_lm_prob_by_row": "0.9"}, "use two shares"),
        ({"masked_lm_prob": Schedule(0.3, 0.0, 9)}, "`masked_lm_prob` is Schedule"),
        ({"labels": "last"}, "`labels` last: use one of same, next"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        MaskConfig(**options)


def test_options_without_effect_are_refused(rows: dict[bool, Shards], tmp_path: Path) -> None:
    (tmp_path / "weights.json").write_text('{"no such token": 1}')
    with pytest.raises(UsageError, match="'no such token' is not a token with a weight"):
        loader.batches(rows[True], 8, masks=MaskConfig(token_weights=str(tmp_path / "weights.json")))
    with pytest.raises(UsageError, match="no such file"):
        loader.batches(rows[True], 8, masks=MaskConfig(token_weights=str(tmp_path / "none.json")))


@pytest.mark.parametrize(
    ("name", "value"),
    [("labels", "next"), ("masked_lm_prob_by_row", "0.1-0.4"), ("token_weights", "frequency"), ("mask", "a:b"), ("unit", "span")],
)
def test_options_for_rows_with_static_masks_are_refused_by_name(tmp_path: Path, name: str, value: str) -> None:
    static = write_pairs(tmp_path / "static", {"train": [[32] * 8]}, masking="static")
    config = TrainConfig(phases=(Phase(shards=(str(static),), steps=2),), batch_size=4, **{name: value})  # type: ignore[arg-type]
    for refused in (lambda: prepare(config), lambda: loader.batches(Shards(static), 4, masks=MaskConfig(**{name: value}))):
        with pytest.raises(UsageError, match=f"is masked already, so `{name}` {value} has no effect"):
            refused()


def test_a_hybrid_run_learns_and_resumes_to_the_bit(rows: dict[bool, Shards], tmp_path: Path) -> None:
    model = ModelConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    (tmp_path / "weights.json").write_text(json.dumps({rows[True].pieces[9]: 2}))
    config = TrainConfig(
        phases=(Phase(shards=(str(rows[True].paths[0]),), steps=12),),
        model=model,
        batch_size=8,
        labels="next",
        causal_share=0.5,
        causal_share_end=0.0,
        workers=0,
        token_weights=str(tmp_path / "weights.json"),
        masked_lm_prob_by_row="0.1-0.4",
        log_every=4,
    )
    whole = train(config, tmp_path / "whole")
    train(config, tmp_path / "parts", stop=lambda done, saved: done == 5)
    parts = train(config, tmp_path / "parts")
    assert whole.evaluation and parts.evaluation and whole.evaluation["mlm_loss"] == parts.evaluation["mlm_loss"]
    one, other = ((done.checkpoint / "model.safetensors").read_bytes() for done in (whole, parts))
    assert one == other
    (tmp_path / "weights.json").write_text(json.dumps({rows[True].pieces[9]: 3}))
    with pytest.raises(ResumeError, match="token_weights file"):
        train(config, tmp_path / "whole")
