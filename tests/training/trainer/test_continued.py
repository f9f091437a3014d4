"""Models of `transformers`: new weights, continued ones, packed rows, resumed to the bit, other vocabularies."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from conftest import Build
from small import differ, small
from test_training import After, metrics

from bertdata import Shards
from bertdata.cli import cli
from bertdata.config.train import OptimizerConfig, TrainConfig
from bertdata.errors import UsageError, VerificationError
from bertdata.pieces import IGNORED
from bertdata.training.loader import batches
from bertdata.training.recipe import prepare
from bertdata.training.trainer import train

pytestmark = pytest.mark.long

transformers = pytest.importorskip("transformers")
torch.set_num_threads(1)
LENGTH = 64
SIZE = {
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 72,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "bert": {},
    "roberta": {},
    "modernbert": {"local_attention": 16, "global_attn_every_n_layers": 2},
    "deberta-v2": {"relative_attention": True, "position_buckets": 16, "pos_att_type": ["c2p", "p2c"], "type_vocab_size": 0},
}


@pytest.fixture(scope="module")
def data(build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root, common = tmp_path_factory.mktemp("rows"), ("--max-seq-length", LENGTH, "--validation-fraction", 0.2)
    kinds = {"packed": ("documents", "--pack"), "documents": ("documents",), "nsp": ("nsp",)}
    return {
        name: build("make-pairs", root / name, sample_corpus, "--vocab", sample_vocab, *common, "--objective", *options)
        for name, options in kinds.items()
    }


def model_of(kind: str, rows: Path, directory: Path, **more: Any) -> Path:
    """Save a small model with weights and the tokenizer of rows."""
    shards = Shards(rows)
    torch.manual_seed(1)
    special = {"pad_token_id": shards.special.pad, "cls_token_id": shards.special.cls, "sep_token_id": shards.special.sep}
    settings = {"vocab_size": shards.vocab_size, **SIZE, **special, **CONFIGS[kind], **more}
    config = transformers.AutoConfig.for_model(kind, **settings)
    model = transformers.AutoModelForMaskedLM.from_config(config)
    with torch.no_grad():
        for values in model.parameters():
            if values.ndim > 1:
                values.normal_(std=0.2)
    model.save_pretrained(directory)
    for name in shards.vocabulary_files:
        shutil.copy(rows / name, directory)
    return directory


def continued(rows: Path, directory: Path, steps: int = 8, **more: Any) -> TrainConfig:
    config = small(rows, steps, evaluate_every=4, evaluate_batches=2, log_every=1)
    return dataclasses.replace(config, **{"model": {}, "init_from": str(directory), **more})


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_continued_model_saves_and_resumes_to_the_bit(data: dict[str, Path], tmp_path: Path, kind: str) -> None:
    rows = data["documents" if kind == "deberta-v2" else "packed"]
    config = continued(rows, model_of(kind, rows, tmp_path / "model"))
    whole = train(config, tmp_path / "whole")
    assert train(config, tmp_path / "parts", stop=After(3)).step == 3
    parts = train(config, tmp_path / "parts")
    assert parts.complete and differ(whole.checkpoint, parts.checkpoint) == 0
    assert metrics(tmp_path / "whole") == metrics(tmp_path / "parts")
    model, told = transformers.AutoModelForMaskedLM.from_pretrained(whole.checkpoint, output_loading_info=True)
    assert not any(told[name] for name in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(whole.checkpoint)
    text = tokenizer("A river " * 90, truncation=True, return_tensors="pt")
    assert model(**text).logits.shape[2] == Shards(rows).vocab_size


CHANGES: list[dict[str, Any]] = [{}, {"accumulation": 2}, {"gradient_checkpointing": True}]


@pytest.mark.parametrize("change", CHANGES)
def test_the_loss_is_that_of_a_hand_written_loop(data: dict[str, Path], tmp_path: Path, change: dict[str, Any]) -> None:
    """The same batches, torch's AdamW with decay for matrices only, and the loss of `transformers` over all positions."""
    rows, steps = data["packed"], 6
    directory = model_of("modernbert", rows, tmp_path / "model")
    config = continued(rows, directory, steps, optimizer=OptimizerConfig(learning_rate=1e-3, warmup_steps=2))
    change = dict(change)
    phase = dataclasses.replace(config.phases[0], accumulation=change.pop("accumulation", 1))
    train(dataclasses.replace(config, phases=(phase,), **change), tmp_path / "run")
    losses = [record["mlm_loss"] for record in metrics(tmp_path / "run") if record["kind"] == "train"]

    model, wanted = transformers.AutoModelForMaskedLM.from_pretrained(directory, dtype=torch.float32).train(), []
    matrices = {"params": [each for each in model.parameters() if each.ndim > 1], "weight_decay": 0.01}
    vectors = {"params": [each for each in model.parameters() if each.ndim < 2], "weight_decay": 0.0}
    optimizer = torch.optim.AdamW([matrices, vectors], eps=1e-6)
    part = prepare(config).parts[0]
    for step, batch in enumerate(batches(part.shards, 8, steps=steps, for_model=model, masks=part.masks, **part.options)):
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = config.rate(step)
        optimizer.step()
        model.zero_grad()
        wanted.append(loss.item())
    assert losses == pytest.approx(wanted, abs=1e-4)
    assert abs(wanted[0] - wanted[-1]) > 0.01


def test_losses_by_source_and_language_are_those_of_their_rows(data: dict[str, Path], tmp_path: Path) -> None:
    """Also before the first step."""
    rows = data["packed"]
    directory = model_of("modernbert", rows, tmp_path / "model")
    config = continued(rows, directory, 2, evaluate_batches=100)
    train(config, tmp_path / "run")
    first, last = (record for record in metrics(tmp_path / "run") if record["kind"] == "evaluation")
    assert (first["step"], last["step"]) == (0, 2)

    model = transformers.AutoModelForMaskedLM.from_pretrained(directory, dtype=torch.float32).eval()
    part, held_out, losses = prepare(config).parts[0], Shards(rows, split="validation"), dict[tuple[str, str], list[float]]()
    loader = batches(held_out, 1, whole=True, for_model=model, masks=part.masks, **part.options)
    for step, batch in enumerate(loader):
        (number,) = held_out.origins_of(loader.dataset.plan[step].rows)
        labels = batch.pop("labels")[0]
        with torch.no_grad():
            each = torch.nn.functional.cross_entropy(model(**batch).logits[0], labels, ignore_index=IGNORED, reduction="none")
        losses.setdefault(tuple(held_out.origins[number]), []).extend(each[labels != IGNORED].tolist())
    assert len(losses) > 1
    found = {(part["source"], part["language"]): part["mlm_loss"] for part in first["by_origin"]}
    assert found == pytest.approx({origin: sum(values) / len(values) for origin, values in losses.items()}, abs=1e-4)
    assert sum(part["rows"] for part in last["by_origin"]) == len(held_out)


def test_new_weights_for_the_vocabulary_of_the_rows(data: dict[str, Path], tmp_path: Path) -> None:
    """The directory may have the tokenizer and size of another vocabulary, and no weights."""
    directory = model_of("modernbert", data["packed"], tmp_path / "model", vocab_size=5000)
    (directory / "model.safetensors").unlink()
    config = dataclasses.replace(continued(data["packed"], directory), init_from="", model=str(directory))
    done = train(config, tmp_path / "run")
    model = transformers.AutoModelForMaskedLM.from_pretrained(done.checkpoint)
    assert type(model) is transformers.ModernBertForMaskedLM
    assert model.config.vocab_size == Shards(data["packed"]).vocab_size
    assert "resized from 5,000" in prepare(config).encoder.notes[0]
    other = train(dataclasses.replace(config, seed=2), tmp_path / "other").checkpoint
    assert differ(done.checkpoint, other) > 1e-3


def test_pairs_train_their_head_too(data: dict[str, Path], tmp_path: Path) -> None:
    """Continued from a model without this head, which starts anew."""
    directory = model_of("bert", data["nsp"], tmp_path / "model")
    done = train(continued(data["nsp"], directory, 4, precision="bf16"), tmp_path / "run")
    assert done.evaluation is not None and done.evaluation["nsp_loss"] > 0 and done.evaluation["mlm_loss"] > 0
    model = transformers.BertForPreTraining.from_pretrained(done.checkpoint)
    assert torch.equal(model.cls.predictions.decoder.weight, model.bert.embeddings.word_embeddings.weight)


def test_what_does_not_fit_is_named(data: dict[str, Path], tmp_path: Path) -> None:
    rows, fine = data["packed"], model_of("bert", data["packed"], tmp_path / "bert")
    other = model_of("bert", rows, tmp_path / "other")
    pieces = (other / "vocab.txt").read_text(encoding="utf-8").split("\n")
    (other / "vocab.txt").write_text("\n".join([*pieces[:20], "strange", *pieces[21:]]), encoding="utf-8")
    (other / "tokenizer.json").unlink(missing_ok=True)
    (tmp_path / "empty").mkdir()
    refused = {
        "no model*.safetensors or pytorch_model*.bin found. Pass the directory of a model": continued(rows, tmp_path / "empty"),
        f"token 20 is 'strange', and in the rows of {rows} it is {pieces[20]!r}. Make the rows with --vocab": continued(
            rows, other
        ),
        "it is not tested with packed or unpadded rows. Make rows without --pack": continued(
            rows, model_of("deberta-v2", rows, tmp_path / "deberta")
        ),
        "rows of 64 tokens are longer than max_position_embeddings of the model allows, 32": continued(
            rows, model_of("bert", rows, tmp_path / "short", max_position_embeddings=32)
        ),
    }
    for message, config in refused.items():
        with pytest.raises(UsageError, match=re.escape(message)):
            train(config, tmp_path / "run")
    with pytest.raises(UsageError, match=r"omit \[model\]"):
        continued(rows, fine, model={"hidden_size": 12})
    assert not (tmp_path / "run").exists()
    done = train(continued(rows, fine, 2), tmp_path / "run", stop=After(1))
    path = done.checkpoint / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(VerificationError, match="is missing or damaged"):
        train(continued(rows, fine, 2), tmp_path / "run")


def test_added_tokens_get_embeddings(data: dict[str, Path], tmp_path: Path) -> None:
    """The rows have more tokens than the model, at the end."""
    rows = data["packed"]
    directory, shards = model_of("bert", rows, tmp_path / "model", vocab_size=(size := Shards(rows).vocab_size - 3)), Shards(rows)
    (directory / "vocab.txt").write_text("\n".join(shards.pieces[:size]) + "\n", encoding="utf-8")
    (directory / "tokenizer.json").unlink(missing_ok=True)
    recipe = prepare(continued(rows, directory))
    assert recipe.encoder.notes == (
        f"the embeddings are resized from {size:,} to {size + 3:,} tokens, the vocabulary of the rows",
    )
    model = recipe.encoder.build()
    before = transformers.AutoModelForMaskedLM.from_pretrained(directory)
    assert torch.equal(model.get_input_embeddings().weight[:size], before.get_input_embeddings().weight)
    assert len(model.get_output_embeddings().bias) == size + 3


def test_the_command_continues_a_model(data: dict[str, Path], tmp_path: Path) -> None:
    directory = model_of("modernbert", data["packed"], tmp_path / "model")
    phase = f'[[phases]]\nshards = "{data["packed"]}"\nsteps = 2'
    (tmp_path / "run.toml").write_text(f"batch_size = 4\nworkers = 0\n{phase}\n")
    for option, made in (("--init-from", "continued from"), ("--model", "new weights, configuration of")):
        arguments = ["train", str(tmp_path / "run.toml"), option, str(directory), "--output", str(tmp_path / option)]
        planned = CliRunner().invoke(cli, [*arguments, "--dry-run"])
        assert f"train: ModernBertForMaskedLM, {made} {directory}" in planned.output
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == 0 and "transformers.ModernBertForMaskedLM.from_pretrained" in done.output
