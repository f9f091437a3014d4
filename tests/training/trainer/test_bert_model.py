"""The model: Hugging Face's BERT to the fifth digit, loaded from it and loaded by it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from small import load
from torch import Tensor

from bertdata.config.train import ModelConfig
from bertdata.labels import IGNORED
from bertdata.reports.metrics import SUMS
from bertdata.training.trainer.model import BertForPreTraining, score

transformers = pytest.importorskip("transformers")
torch.set_num_threads(1)

CONFIGS = [
    ModelConfig(vocab_size=90, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40),
    ModelConfig(
        vocab_size=31,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=40,
        hidden_act="gelu_new",
        layer_norm_eps=1e-6,
        initializer_range=0.2,
    ),
]


def batch_of(config: ModelConfig, rows: int = 6, width: int = 20, masked: int = 4) -> dict[str, Tensor]:
    """Random rows of many lengths, with segments, padding and positions not used."""
    generator = torch.Generator().manual_seed(3)
    lengths = torch.randint(6, width + 1, (rows, 1), generator=generator)
    columns = torch.arange(width)[None, :]
    labels = torch.randint(0, config.vocab_size, (rows, masked), generator=generator)
    positions = torch.stack([torch.randperm(5, generator=generator)[:masked] for _ in range(rows)])
    labels[::2, -1], positions[::2, -1] = IGNORED, 0
    return {
        "input_ids": torch.randint(5, config.vocab_size, (rows, width), generator=generator) * (columns < lengths),
        "token_type_ids": ((columns >= lengths // 2) & (columns < lengths)).long(),
        "attention_mask": (columns < lengths).long(),
        "masked_lm_positions": positions,
        "masked_lm_labels": labels,
        "next_sentence_label": torch.randint(0, 2, (rows,), generator=generator),
    }


def ours(model: BertForPreTraining, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    names = ("input_ids", "token_type_ids", "attention_mask", "masked_lm_positions")
    found: tuple[Tensor, Tensor] = model(*(batch[name] for name in names))
    return found


def dense(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """The batch as Hugging Face's model takes it."""
    labels = torch.full_like(batch["input_ids"], IGNORED)
    for row, (positions, words) in enumerate(zip(batch["masked_lm_positions"], batch["masked_lm_labels"], strict=True)):
        labels[row, positions[words != IGNORED]] = words[words != IGNORED]
    return {
        **{name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask", "next_sentence_label")},
        "labels": labels,
    }


@pytest.mark.parametrize("config", CONFIGS)
def test_theirs_loads_and_is_the_same(config: ModelConfig, tmp_path: Path) -> None:
    torch.manual_seed(1)
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**config.identity())).eval()
    theirs.save_pretrained(tmp_path)
    model, batch = load(tmp_path).eval(), batch_of(config)
    with torch.no_grad():
        words, relations = ours(model, batch)
        their = theirs(**dense(batch))
    at = torch.arange(len(words))[:, None], batch["masked_lm_positions"]
    assert torch.allclose(words, their.prediction_logits[at], atol=1e-5)
    assert torch.allclose(relations, their.seq_relationship_logits, atol=1e-5)
    mlm, nsp, sums = score(words, relations, batch)
    told = dict(zip(SUMS, sums.tolist(), strict=True))
    assert float(mlm / told["masked"] + nsp / told["pairs"]) == pytest.approx(float(their.loss), abs=1e-5)
    assert told["masked"] == int((batch["masked_lm_labels"] != IGNORED).sum())
    assert (told["rows"], told["places"], told["tokens"]) == (6, 120, int(batch["attention_mask"].sum()))


def test_gradients_are_theirs(tmp_path: Path) -> None:
    config = CONFIGS[0]
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**config.identity())).eval()
    theirs.save_pretrained(tmp_path)
    model, batch = load(tmp_path).eval(), batch_of(config)
    theirs(**dense(batch)).loss.backward()
    mlm, nsp, sums = score(*ours(model, batch), batch)
    (mlm / sums[1].float() + nsp / 6).backward()
    found = {name: values.grad for name, values in theirs.named_parameters()}
    for name, values in model.named_parameters():
        if name == "bert.embeddings.word_embeddings.weight":
            assert torch.allclose(values.grad[1:], found[name][1:], atol=1e-5)  # theirs leaves [PAD] as it is
        else:
            assert torch.allclose(values.grad, found[name], atol=1e-5), name


@pytest.mark.parametrize("config", CONFIGS)
def test_number_of_parameters(config: ModelConfig) -> None:
    assert config.parameters == sum(values.numel() for values in BertForPreTraining(config).parameters())


def test_first_weights() -> None:
    """Normal, cut at two deviations (which leaves 0.88 of the deviation); ones and zeros in LayerNorms and biases."""
    torch.manual_seed(0)
    model = BertForPreTraining(ModelConfig(vocab_size=5000, hidden_size=64, num_attention_heads=2, intermediate_size=256))
    for name, values in model.named_parameters():
        if "LayerNorm.weight" in name:
            assert bool((values == 1).all())
        elif name.endswith("bias"):
            assert bool((values == 0).all())
        else:
            assert float(values.detach().abs().max()) <= 0.04
    deviation = float(model.bert.embeddings.word_embeddings.weight.detach().std())
    assert deviation == pytest.approx(0.02 * 0.8796, rel=0.01)


@pytest.mark.parametrize("label", [0, 1])
def test_both_labels_teach(label: int) -> None:
    config = CONFIGS[0]
    model, batch = BertForPreTraining(config), batch_of(config)
    batch["next_sentence_label"] = torch.full((6,), label)
    _, nsp, _ = score(*ours(model, batch), batch)
    nsp.backward()
    grad = model.cls.seq_relationship.bias.grad
    assert float(grad[label]) < 0 < float(grad[1 - label])
    assert float(model.bert.embeddings.word_embeddings.weight.grad.abs().sum()) > 0


def test_gradient_checkpointing_changes_nothing() -> None:
    config = CONFIGS[0]
    batch, gradients = batch_of(config), []
    for checkpointing in (False, True):
        torch.manual_seed(5)
        model = BertForPreTraining(config, gradient_checkpointing=checkpointing)
        torch.manual_seed(6)  # dropout is on, and is drawn again as it was
        mlm, nsp, _ = score(*ours(model, batch), batch)
        (mlm + nsp).backward()
        gradients.append([values.grad for values in model.parameters()])
    assert all(torch.equal(one, two) for one, two in zip(*gradients, strict=True))


def test_dropout_is_on_in_training_alone() -> None:
    model, batch = BertForPreTraining(CONFIGS[0]), batch_of(CONFIGS[0])
    assert not torch.equal(ours(model, batch)[0], ours(model, batch)[0])
    model.eval()
    assert torch.equal(ours(model, batch)[0], ours(model, batch)[0])
