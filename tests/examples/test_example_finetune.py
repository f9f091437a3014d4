"""examples/finetune.py and minimal_pairs.py run on a checkpoint of bertdata, and score as they say."""

from __future__ import annotations

import random
import re
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import REPOSITORY, Build

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.nightly]  # those of transformers are not ours
PATH = str(REPOSITORY / "examples" / "finetune.py")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def example() -> Any:
    """The script's names."""
    sys.modules.setdefault("finetune", module := type(sys)("finetune"))  # where dataclasses look up a class's module
    found = runpy.run_path(PATH, run_name="finetune")
    vars(module).update(found)
    return SimpleNamespace(**found)


@pytest.fixture(scope="module")
def checkpoint(build: Build, tmp_path_factory: pytest.TempPathFactory, sample_corpus: Path, sample_vocab: Path) -> Path:
    """A tiny checkpoint that has learnt for one step."""
    from bertdata.config.train import ModelConfig, Phase, TrainConfig
    from bertdata.training.trainer import train

    root = tmp_path_factory.mktemp("finetune")
    build("make-pairs", root / "pairs", sample_corpus, "--vocab", sample_vocab, "--max-seq-length", 32)
    size = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    model = ModelConfig(**size, max_position_embeddings=64)
    phases = (Phase(shards=(str(root / "pairs"),), steps=1),)
    return train(TrainConfig(phases=phases, model=model, batch_size=8, workers=0), root / "run").checkpoint


@pytest.mark.slow
def test_all_four_tasks_run_and_what_can_be_learnt_is(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new model needs another rate than a trained one; what one word tells is learnt even by this one."""
    point = ["--batch", "16", "--rate", "3e-3", "--epochs", "4", "--examples", "300", "--length", "64"]
    monkeypatch.setattr(sys, "argv", [PATH, str(checkpoint), *point])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(PATH, run_name="__main__")
    assert end.value.code == 0
    printed = capsys.readouterr().out
    best = dict(zip(re.findall(r"^(\w+): 200 examples", printed, re.M), re.findall(r"best .* ([\d.]+): ", printed), strict=True))
    assert list(best) == ["pair", "sentence", "span", "tags"]
    assert re.findall(r"best (.*) [\d.]+: ", printed) == ["accuracy", "accuracy", "exact match", "entity F1"]
    assert float(best["sentence"]) > 0.8
    assert float(best["tags"]) > 0.8
    assert all(0 <= float(score) <= 1 for score in best.values())


def test_the_grid_is_the_papers(example: Any) -> None:
    assert example.GRID == {"batch": (16, 32), "rate": (5e-5, 3e-5, 2e-5), "epochs": (2, 3, 4)}


def test_labels_are_at_the_places_of_their_words(example: Any, checkpoint: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    tasks = {task.kind: task for task in example.TASKS}
    draw = random.Random(1)
    for _ in range(20):
        made = example.make_span(draw)
        found = example.encode(tokenizer, made, tasks["span"], 64)
        start, end = found["start_positions"], found["end_positions"]
        assert found["passage"][start]
        assert tokenizer.decode(found["input_ids"][start : end + 1]) == made["b"][made["label"][0]].lower()
        made = example.make_tags(draw)
        found = example.encode(tokenizer, made, tasks["tags"], 64)
        assert [label for label in found["labels"] if label != example.NO_LABEL] == made["label"]
    cut = example.encode(tokenizer, made | {"a": ["who"], "b": ["word"] * 40 + ["Paris"], "label": [40, 40]}, tasks["span"], 32)
    assert (cut["start_positions"], cut["end_positions"]) == (0, 0)
    assert example.words_of("ab 中文c") == ["ab", "中", "文", "c"]


def test_scores(example: Any) -> None:
    logits = torch.nn.functional.one_hot(torch.tensor([[0, 1, 1, 2, 0], [0, 1, 0, 0, 0]]), 3).float()
    labels = torch.tensor([[-100, 1, 1, 2, -100], [-100, 2, 0, 1, 0]])  # two entities, found; two others, one guess
    assert example.count_entities(SimpleNamespace(logits=logits), {"labels": labels}) == (2, 3, 4)
    starts, ends = torch.tensor([[9.0, 0, 3, 1], [0, 5, 0, 1]]), torch.tensor([[9.0, 4, 1, 2], [0, 0, 0, 3]])
    told = SimpleNamespace(start_logits=starts, end_logits=ends)
    passage = torch.tensor([[False, True, True, True]] * 2)  # [CLS] is not in it, and an end before its start is none
    batch = {"passage": passage, "start_positions": torch.tensor([2, 1]), "end_positions": torch.tensor([3, 3])}
    assert example.count_spans(told, batch) == (2, 2, 2)
    rows = [{"input_ids": [1, 2], "labels": [5, 6]}, {"input_ids": [3], "labels": [7]}]
    (made,) = example.batches(rows, 2, 0)
    assert made["input_ids"].tolist() == [[1, 2], [3, 0]]
    assert made["labels"].tolist() == [[5, 6], [7, -100]]


def test_minimal_pairs_score_each_checkpoint_of_a_run(checkpoint: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The trainer finds a copy of the example in the current directory."""
    from bertdata.config.train import Phase, TrainConfig
    from bertdata.reports.metrics import read_metrics
    from bertdata.training.trainer import train

    shutil.copy(REPOSITORY / "examples" / "minimal_pairs.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    phases = (Phase(shards=(str(checkpoint.parent.parent / "pairs"),), steps=1),)
    config = TrainConfig(phases=phases, init_from=str(checkpoint), batch_size=8, workers=0, evaluate="minimal_pairs:evaluate")
    train(config, "run")
    (scores,) = (record for record in read_metrics(tmp_path / "run" / "metrics.jsonl") if record["kind"] == "benchmark")
    assert {"agreement", "order", "reflexive", "mean"} <= scores.keys()
    assert "Benchmarks" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")

    pairs = sys.modules["minimal_pairs"]
    swapped = [{**pair, "good": pair["bad"], "bad": pair["good"]} for pair in pairs.PAIRS]
    found, other = (pairs.evaluate(checkpoint, pairs=each) for each in (pairs.PAIRS, swapped))
    assert {kind: found[kind] + other[kind] for kind in found} == pytest.approx(dict.fromkeys(found, 1.0))
