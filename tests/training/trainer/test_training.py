"""The loop: checkpoints that Hugging Face loads, resume to the bit, one gradient however it is cut, and clear refusals."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.utils.cpp_extension  # the compiler imports it, and setuptools, which must come before anything else of distutils
from processes import Started
from small import STILL, differ, pairs, small, weights
from tiny import PIECES

from bertdata.config.train import Phase, TrainConfig
from bertdata.dataset.rows import Shards
from bertdata.errors import BertDataError, OutputExistsError, ResumeError, UsageError, VerificationError
from bertdata.pieces import IGNORED
from bertdata.reports.metrics import Metrics, Record, read_metrics
from bertdata.training.loader import batches
from bertdata.training.recipe import prepare
from bertdata.training.trainer import train
from bertdata.training.trainer.learner import Learner

torch.set_num_threads(1)
TIMES = ("sequences_per_second", "tokens_per_second", "seconds_left")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pairs(tmp_path_factory.mktemp("pairs"))


def metrics(run: Path) -> list[dict[str, Any]]:
    """The metrics of a run, but for times."""
    return [
        {name: value for name, value in record.items() if name not in TIMES} for record in read_metrics(run / "metrics.jsonl")
    ]


class After:
    """Stop after so many steps."""

    def __init__(self, steps: int) -> None:
        self.steps, self.first = steps, -1

    def __call__(self, done: int, saved: int) -> bool:
        self.first = done if self.first < 0 else self.first
        return done - self.first + 1 == self.steps


@pytest.mark.slow
def test_a_run(data: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    seen: list[dict[str, Any]] = []
    done = train(small(data, 20, save_every=5, keep=2), tmp_path / "run", report=seen.append)
    assert done.checkpoint == tmp_path / "run" / "checkpoint-20"
    assert (done.step, done.complete) == (20, True)
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        ".bertdata",
        "checkpoint-15",
        "checkpoint-20",
        "metrics.jsonl",
        "report.html",
    }
    assert read_metrics(tmp_path / "run" / "metrics.jsonl") == seen
    assert [(record["kind"], record["step"]) for record in seen] == [
        ("train", 5),
        ("train", 10),
        ("evaluation", 10),
        ("train", 15),
        ("train", 20),
        ("evaluation", 20),
    ]
    assert done.evaluation == seen[-1]
    assert {"mlm_loss", "mlm_accuracy", "perplexity", "nsp_loss", "nsp_accuracy", "padding_share"} <= seen[-1].keys()
    assert {"learning_rate", "gradient_norm", "sequences_per_second", "tokens_per_second"} <= seen[-2].keys()
    assert seen[0]["mlm_loss"] == pytest.approx(math.log(len(PIECES)), abs=0.5)  # knows nothing yet
    assert seen[0]["perplexity"] == pytest.approx(math.exp(seen[0]["mlm_loss"]))

    model, about = transformers.BertForPreTraining.from_pretrained(done.checkpoint, output_loading_info=True)
    assert not any(about[name] for name in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(done.checkpoint)
    assert tokenizer.model_max_length == model.config.max_position_embeddings == 64
    cut = tokenizer("w1 " * 600, truncation=True, return_tensors="pt")
    assert cut.input_ids.shape == (1, 64) and model.eval()(**cut).prediction_logits.shape[:2] == (1, 64)
    text = tokenizer("w1 w2", "w3", return_tensors="pt")
    assert {"prediction_logits", "seq_relationship_logits"} <= model.eval()(**text).keys()
    assert torch.equal(model.cls.predictions.decoder.weight, model.bert.embeddings.word_embeddings.weight)


@pytest.mark.slow
def test_it_learns(data: Path, tmp_path: Path) -> None:
    """On a hundred rows again and again the loss of words falls below that of their frequencies."""
    config = small(data, 150, STILL | {"hidden_size": 64}, batch_size=20, optimizer={"learning_rate": 3e-3, "warmup_steps": 20})
    train(dataclasses.replace(config, log_every=50, evaluate_every=1000), tmp_path / "run")
    losses = [record["mlm_loss"] for record in metrics(tmp_path / "run") if record["kind"] == "train"]
    assert losses[0] > losses[1] > losses[2]
    assert losses[2] < losses[0] - 0.5


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[TrainConfig, Path]:
    """A run of two phases that was not stopped, and its configuration."""
    phases = (Phase(shards=(str(data),), steps=16), Phase(shards=(str(data),), steps=8, widths=(64,), accumulation=2))
    config = small(data, phases=phases, evaluate_every=6)
    return config, train(config, tmp_path_factory.mktemp("whole")).checkpoint


@pytest.mark.slow
def test_evaluation_has_the_masks_of_the_run(data: Path, tmp_path: Path) -> None:
    """The share of a phase and whole words, for the held-out rows too."""
    phase = Phase(shards=(str(data),), steps=2, masked_lm_prob=0.4)
    served: list[Any] = []
    config = small(data, phases=(phase,), unit="word")
    with pytest.MonkeyPatch.context() as patch:
        evaluate = Learner.evaluate

        def keep(self: Learner, loader: Any, origins: int) -> Any:
            found = [*loader]
            served.extend(found)
            return evaluate(self, found, origins)

        patch.setattr(Learner, "evaluate", keep)
        train(config, tmp_path / "run")
    masks = [batch["masked_lm_labels"] for batch, _ in served]
    tokens = sum(int((batch["attention_mask"].sum(1) - 3).sum()) for batch, _ in served)
    assert sum(int((labels != IGNORED).sum()) for labels in masks) / tokens == pytest.approx(0.4, abs=0.03)
    expected = batches(Shards(data, split="validation"), 8, whole=True, dense_labels=False, **_options(config))
    assert all(torch.equal(batch["input_ids"], own["input_ids"]) for (batch, _), own in zip(served, expected, strict=True))


def _options(config: TrainConfig) -> dict[str, Any]:
    """The options of the loader in the first phase."""
    part = prepare(config).parts[0]
    return {"masks": part.masks, **part.options}


def test_a_function_evaluates_each_checkpoint(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tasks.py").write_text(
        "def size(path, step):\n    return {'bytes': (path / 'model.safetensors').stat().st_size + step}"
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = train(small(data, 4, save_every=2, evaluate="tasks:size"), tmp_path / "run")
    size = (done.checkpoint / "model.safetensors").stat().st_size
    found = [(record["step"], record["bytes"]) for record in metrics(tmp_path / "run") if record["kind"] == "benchmark"]
    assert found == [(2, size + 2), (4, size + 4)]
    with pytest.raises(UsageError, match="evaluate: name a function as module:function"):
        small(data, evaluate="tasks")


@pytest.mark.parametrize("stop", [1, 7, 10, 19])
@pytest.mark.slow
def test_resume_is_to_the_bit(whole: tuple[TrainConfig, Path], tmp_path: Path, stop: int) -> None:
    """With dropout, across an epoch and from one phase to another; the metrics are equal too."""
    config, through = whole
    first = train(config, tmp_path / "parts", stop=After(stop))
    assert (first.step, first.complete) == (stop, False)
    assert first.checkpoint.is_dir()
    with (tmp_path / "parts" / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "train", "step": 23, "of": 24, "mlm_loss": 0.0}\n{"kind": "tr')  # of a run that was killed
    workers = dataclasses.replace(config, workers=1 if stop == 7 else 0)
    second = train(workers, tmp_path / "parts")
    assert second.complete
    assert differ(through, second.checkpoint) == 0
    assert metrics(through.parent) == metrics(tmp_path / "parts")
    states = [json.loads((path / "state.json").read_text()) for path in (through, second.checkpoint)]
    assert states[0] == states[1]


def test_a_stop_in_the_midst_of_a_step_ends_with_that_step(data: Path, tmp_path: Path) -> None:
    """Not with the one after it: of a large model on a CPU each takes minutes."""
    asked: list[int] = []

    def stop(done: int, saved: int) -> bool:
        asked.append(done)
        return asked.count(2) == 2  # it comes after step 3 has begun

    done = train(small(data, 20), tmp_path, stop=stop)
    assert (done.step, done.complete, done.checkpoint.is_dir()) == (3, False, True)


def test_resume_of_a_finished_run_does_nothing(data: Path, tmp_path: Path) -> None:
    first = train(small(data, 5), tmp_path)
    before = (first.checkpoint / "model.safetensors").read_bytes()
    told = [path.stat().st_mtime_ns for path in (tmp_path / "report.html", first.checkpoint)]
    reported: list[Record] = []
    again = train(small(data, 5), tmp_path, report=reported.append)
    assert first.new and again == first._replace(new=False) and not reported
    assert (first.checkpoint / "model.safetensors").read_bytes() == before
    assert told == [path.stat().st_mtime_ns for path in (tmp_path / "report.html", first.checkpoint)]


def test_a_run_that_ended_before_its_report_gets_it(data: Path, tmp_path: Path) -> None:
    first = train(small(data, 2), tmp_path)
    (tmp_path / "report.html").unlink()
    assert train(small(data, 2), tmp_path) == first
    assert (tmp_path / "report.html").exists()


def test_a_run_without_a_checkpoint_is_gone_on_with_or_refused(data: Path, tmp_path: Path) -> None:
    """Of one that was killed before its first the directory tells what it was; of strange files nothing does."""
    train(small(data, 2), tmp_path / "run")
    for path in (tmp_path / "run").glob("checkpoint-*"):
        shutil.rmtree(path)
    with pytest.raises(ResumeError, match=r"settings \(seed: 12345 then, 2 now"):
        train(small(data, 2, seed=2), tmp_path / "run")
    assert train(small(data, 2), tmp_path / "run").new
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "metrics.jsonl").write_text("")
    with pytest.raises(OutputExistsError, match="its run.json is missing: replace it with `overwrite`"):
        train(small(data, 2), tmp_path / "strange")


@pytest.mark.slow
def test_a_finished_run_continues_with_more_steps(data: Path, tmp_path: Path) -> None:
    seen: list[Record] = []
    first, more = small(data, 4, log_every=1), small(data, 9, log_every=1)
    assert train(first, tmp_path / "run").complete
    done = train(more, tmp_path / "run", report=seen.append)
    assert (done.step, done.complete, done.new) == (9, True, True)
    rates = {record["step"]: record["learning_rate"] for record in seen if record["kind"] == "train"}
    assert rates == {step: pytest.approx(more.optimizer.rate(step - 1, 9)) for step in range(5, 10)}
    steps = [record["step"] for record in read_metrics(tmp_path / "run" / "metrics.jsonl") if record["kind"] == "train"]
    assert steps == [*range(1, 10)]
    assert not train(more, tmp_path / "run").new
    with pytest.raises(ResumeError, match=r"settings \(phases.0.steps: 9 then, 4 now"):
        train(first, tmp_path / "run")
    with pytest.raises(ResumeError, match=r"settings \(seed: 12345 then, 2 now"):
        train(dataclasses.replace(more, seed=2), tmp_path / "run")


@pytest.mark.slow
def test_resume_names_what_changed(data: Path, tmp_path: Path) -> None:
    config = small(data, 6)
    train(config, tmp_path / "run", stop=After(2))
    other = pairs(tmp_path / "other", salt=1)
    phase = config.phases[0]
    changes: dict[str, dict[str, Any]] = {
        "seed": {"seed": 2},
        "batch_size": {"batch_size": 4},
        "precision": {"precision": "bf16"},
        "model.hidden_size": {"model": {**config.model, "hidden_size": 32}},
        "optimizer.learning_rate": {"optimizer": dataclasses.replace(config.optimizer, learning_rate=2e-3)},
        "phases.0.steps": {"phases": (dataclasses.replace(phase, steps=7),)},
        "phases.0.widths": {"phases": (dataclasses.replace(phase, widths=(64,)),)},
        "phases.0.shards": {"phases": (dataclasses.replace(phase, shards=(str(other),)),)},
        "phases.1": {"phases": (phase, phase)},
    }
    for name, change in changes.items():
        with pytest.raises(ResumeError, match=rf"settings \({name}: "):
            train(dataclasses.replace(config, **change), tmp_path / "run")
    moved = tmp_path / "moved"
    data_there = dataclasses.replace(phase, shards=(str(pairs(moved)),), accumulation=2)
    assert train(dataclasses.replace(config, phases=(data_there,), log_every=1, keep=1), tmp_path / "run").complete


@pytest.mark.slow
def test_accumulation_is_the_same_gradient(data: Path, tmp_path: Path) -> None:
    """Rows of a micro-batch have other numbers of masked words than those of another; their means would differ."""
    one, four = (train(small(data, 20, STILL, accumulation=n), tmp_path / str(n)).checkpoint for n in (1, 4))
    assert 0 < differ(one, four) < 1e-6


@pytest.mark.slow
def test_seed_and_dropout_matter(data: Path, tmp_path: Path) -> None:
    runs = [small(data, 4), small(data, 4), small(data, 4, seed=5), small(data, 4, STILL)]
    found = [train(config, tmp_path / str(index)).checkpoint for index, config in enumerate(runs)]
    assert differ(found[0], found[1]) == 0
    assert differ(found[0], found[2]) > 0
    assert differ(found[0], found[3]) > 0


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.long
def test_half_precision(data: Path, tmp_path: Path, precision: str) -> None:
    """Weights stay in fp32 and come near those of fp32; a run of fp16 goes on to the bit, its loss's scale too."""
    full = train(small(data, 10, STILL), tmp_path / "fp32")
    half = train(small(data, 10, STILL, precision=precision, evaluate_every=5), tmp_path / precision)
    assert 0 < differ(full.checkpoint, half.checkpoint) < 0.02
    assert all(values.dtype == torch.float32 for values in weights(half.checkpoint).values())
    losses = [[r["mlm_loss"] for r in metrics(tmp_path / name) if r["kind"] == "train"] for name in ("fp32", precision)]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)
    parts = small(data, 10, STILL, precision=precision, evaluate_every=5)
    train(parts, tmp_path / "parts", stop=After(4))
    assert differ(half.checkpoint, train(parts, tmp_path / "parts").checkpoint) == 0


def test_rows_without_pairs_train_a_masked_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tiny

    columns = tiny.columns_of
    monkeypatch.setattr(tiny, "columns_of", lambda *args: {k: v for k, v in columns(*args).items() if k != "next_sentence_label"})
    done = train(small(pairs(tmp_path / "rows", objective="documents"), 2), tmp_path / "run")
    assert json.loads((done.checkpoint / "config.json").read_text())["architectures"] == ["BertForMaskedLM"]
    assert not any("nsp_loss" in record for record in metrics(tmp_path / "run"))


def test_no_validation_split(tmp_path: Path) -> None:
    from tiny import write_pairs

    data = write_pairs(tmp_path / "rows", {"train": [[20] * 30]})
    assert train(small(data, 2), tmp_path / "run").evaluation is None


def test_a_loss_that_is_not_finite_stops_with_its_rows(data: Path, tmp_path: Path) -> None:
    config = small(data, 20, save_every=1, optimizer={"learning_rate": 1e36, "warmup_steps": 2, "clip_norm": 0})
    with pytest.raises(BertDataError, match=r"step \d+: the loss or its gradient is not finite; its rows are \d+, ") as failed:
        train(config, tmp_path)
    assert failed.value.exit_code == 1
    error = read_metrics(tmp_path / "metrics.jsonl")[-1]
    assert error["kind"] == "error"
    assert "the loss or its gradient is not finite" in (tmp_path / "report.html").read_text()
    assert len(set(error["rows"])) == 8
    last = tmp_path / f"checkpoint-{error['step']}"  # as many steps went well
    assert all(bool(torch.isfinite(values).all()) for name, values in weights(last).items() if "optimizer" not in name)


def test_refusals(data: Path, tmp_path: Path) -> None:
    causal, longer = pairs(tmp_path / "causal", objective="causal"), pairs(tmp_path / "longer", width=128)
    swapped = pairs(tmp_path / "swapped", objective="sop")
    refused: dict[str, Any] = {
        "objective causal": small(causal),
        "rows of 128 tokens are longer than max_position_embeddings of the model allows, 64": small(longer),
        "unknown key model.hiden_size: did you mean 'hidden_size'": small(data, model={"hiden_size": 64}),
        "transformers has no model 'bart-simpson'": small(data, model={"model_type": "bart-simpson"}),
        "transformers cannot build the model": small(data, model={"num_attention_heads": 3}),
        "no multiple of 1 processes x accumulation 3|must divide": {"accumulation": 3},
        "another vocabulary or objective than": small(
            data, phases=(Phase(shards=(str(data),), steps=1), Phase(shards=(str(swapped),), steps=1))
        ),
    }
    for message, config in refused.items():
        with pytest.raises(UsageError, match=message):
            train(small(data, **config) if isinstance(config, dict) else config, tmp_path / "run")
    with pytest.raises(UsageError, match="`output` is missing"):
        train(small(data))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(OutputExistsError, match=r"thesis\.txt"):
        train(small(data, 1), tmp_path / "full", overwrite=True)
    assert (tmp_path / "full" / "thesis.txt").exists()


def test_what_is_wrong_removes_no_earlier_run(data: Path, tmp_path: Path) -> None:
    train(small(data, 2), tmp_path / "run")
    static = pairs(tmp_path / "static", masking="static")
    for message, config in {
        "rows of 64 tokens are longer": small(data, model={"max_position_embeddings": 32}),
        "is masked already, so `masked_lm_prob` 0.2 has no effect": small(static, masked_lm_prob=0.2),
    }.items():
        with pytest.raises(UsageError, match=message):
            train(config, tmp_path / "run", overwrite=True)
    assert (tmp_path / "run" / "checkpoint-2").exists()


@pytest.mark.parametrize("name", ["report.html.mine", "checkpoint-old", "metrics.jsonl.bak", "tensorboards"])
def test_overwrite_keeps_files_of_others(data: Path, tmp_path: Path, name: str) -> None:
    train(small(data, 1), tmp_path)
    (tmp_path / name).write_text("mine")
    with pytest.raises(OutputExistsError, match=name):
        train(small(data, 1), tmp_path, overwrite=True)
    assert (tmp_path / name).read_text() == "mine" and (tmp_path / "checkpoint-1").exists()


def test_an_earlier_run_is_kept_unless_told(data: Path, tmp_path: Path) -> None:
    train(small(data, 2), tmp_path)
    with pytest.raises(OutputExistsError, match="use the old ones, replace it with `overwrite`"):
        train(small(data, 1), tmp_path)
    assert train(small(data, 1), tmp_path, overwrite=True).step == 1
    assert not (tmp_path / "checkpoint-2").exists()


def test_a_damaged_checkpoint_is_named(data: Path, tmp_path: Path) -> None:
    done = train(small(data, 4), tmp_path, stop=After(2))
    path = done.checkpoint / "optimizer.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(VerificationError, match="is missing or damaged"):
        train(small(data, 4), tmp_path)


def test_a_larger_vocabulary_than_the_shards(data: Path, tmp_path: Path) -> None:
    done = train(small(data, 1, {"vocab_size": 1024}), tmp_path)
    assert len(weights(done.checkpoint)["cls.predictions.bias"]) == 1024


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")  # by torch's own compiler
def test_compiled(data: Path, tmp_path: Path) -> None:
    """The graph that torch makes trains the same model."""
    phase = Phase(shards=(str(data),), steps=3, widths=(64,))
    model = {**STILL, "num_hidden_layers": 1}
    one, two = (
        train(small(data, phases=(phase,), model=model, compile=on), tmp_path / str(on)).checkpoint for on in (False, True)
    )
    assert differ(one, two) < 1e-5


@pytest.mark.slow
def test_tensorboard(data: Path, tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    train(small(data, 10, tensorboard=True), tmp_path)
    origin = {"source": "books", "language": "en", "rows": 3, "mlm_loss": 2.0}
    Metrics(tmp_path, 10, tensorboard=True).write({"kind": "evaluation", "step": 10, "by_origin": [origin]})
    found = events.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    names = {"train/mlm_loss", "evaluation/nsp_accuracy", "evaluation/mlm_loss/books.en"}
    assert names <= set(found.Tags()["tensors"] + found.Tags()["scalars"])


@pytest.mark.slow
def test_torch_is_named_where_it_is_missing(data: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(f'batch_size = 8\nphases = [{{ shards = "{data}", steps = 1 }}]')
    code = "import sys; assert 'torch' not in sys.modules; sys.modules['torch'] = None\nfrom bertdata.cli import main; main()"

    def run(*options: object) -> tuple[int, bytes, bytes]:
        process = Started(["train", str(tmp_path / "run.toml"), *map(str, options)], tmp_path, dict(os.environ), code)
        return process.wait(60), *process.communicate()

    failed, _, said = run("--output", tmp_path / "run")
    assert failed == 2 and b"pip install torch safetensors transformers" in said
    assert not (tmp_path / "run").exists()
