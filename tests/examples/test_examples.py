"""Each example explains itself without torch, runs once on the sample, and learns; each recipe can be read."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import REPOSITORY, read_rows

import bertdata
from bertdata.config.train import read_training

pytestmark = pytest.mark.filterwarnings("default")  # of transformers and torch
EXAMPLES = REPOSITORY / "examples"
SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))
Run = Callable[..., str]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_help_needs_no_package(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("torch", "transformers", "datasets", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sys, "argv", [path.name, "--help"])
    with pytest.raises(SystemExit) as done:
        runpy.run_path(str(path), run_name="__main__")
    assert not done.value.code and f"python examples/{path.name} " in capsys.readouterr().out


def test_the_readme_has_a_line_for_each_example() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"^\| \[`([^`]+)`\]\(([^)]+)\)", text, re.M)
    assert {name for name, link in links if name == link} == {p.name for p in EXAMPLES.iterdir() if p.suffix in (".py", ".toml")}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_recipes_can_be_read(path: Path) -> None:
    assert read_training(path).phases


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run an example in this process, in an empty directory; return what it prints."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch, "get_num_threads", torch.get_num_threads)
    torch.set_num_threads(1)

    def call(name: str, *arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return call


def losses(printed: str) -> list[float]:
    return [float(loss) for loss in re.findall(r"^step \d+  loss (\S+)$", printed, re.M)]


@pytest.mark.nightly
def test_train_loop_learns_and_resumes(run: Run, sample_pairs: Path) -> None:
    options = [sample_pairs, "--batch-size", 8, "--hidden", 32, "--workers", 0, "--learning-rate", 1e-3]
    whole = losses(run("train_loop.py", *options, "--steps", 12, "--checkpoint", "whole.pt"))
    first = losses(run("train_loop.py", *options, "--steps", 5, "--checkpoint", "parts.pt"))
    rest = losses(run("train_loop.py", *options, "--steps", 12, "--checkpoint", "parts.pt"))
    assert first + rest == pytest.approx(whole, abs=0.3) and first == whole[:5], "dropout of a resumed loop differs"
    assert sum(whole[-3:]) < sum(whole[:3])


@pytest.mark.nightly
@pytest.mark.parametrize("masking", ["none", "static"])
def test_hf_trainer_learns(run: Run, sample_corpus: Path, sample_vocab: Path, tmp_path: Path, masking: str) -> None:
    pytest.importorskip("accelerate")
    config = bertdata.PairsConfig(masking=masking, max_seq_length=64)
    (pairs,) = bertdata.make_pairs(sample_corpus, vocab=sample_vocab, output=tmp_path / "pairs", config=config, workers=1)
    options = ["--steps", 20, "--batch-size", 8, "--hidden", 32, "--learning-rate", 1e-3, "--output", "bert"]
    found = losses(run("hf_trainer.py", pairs.path, *options))
    assert len(found) >= 9 and found[-1] < found[0]
    assert (tmp_path / "bert" / "model.safetensors").exists()


@pytest.mark.nightly
def test_gpt_and_elmo_learn(run: Run, sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    config = bertdata.PairsConfig(objective="causal", max_seq_length=32, validation_fraction=0.2, shards=1)
    (rows,) = bertdata.make_pairs(sample_corpus, vocab=sample_vocab, output=tmp_path / "rows", config=config, workers=1)
    for name, *words in (
        ("gpt.py", rows.path, "--steps", 12, "--hidden", 32, "--learning-rate", 0.01),
        ("elmo.py", sample_corpus, "--steps", 10),
    ):
        printed = run(name, *words)
        assert sum(losses(printed)[-3:]) < sum(losses(printed)[:3]) - 1
        *perplexities, vocabulary = map(float, re.findall(r"[\d.]+", printed.splitlines()[-1]))
        assert perplexities and all(1 < perplexity < vocabulary + 3 for perplexity in perplexities)


@pytest.fixture
def checkpoint(sample_vocab: Path, tmp_path: Path) -> Path:
    """A small untrained BERT."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    size = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 64}
    torch.manual_seed(0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(sample_vocab)
    transformers.BertModel(transformers.BertConfig(vocab_size=len(tokenizer), **size)).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.nightly
def test_features_tell_more_than_chance(run: Run, checkpoint: Path) -> None:
    found = re.search(r"accuracy ([\d.]+)", run("features.py", checkpoint))
    assert found and 0.55 < float(found[1]) <= 1


@pytest.mark.nightly
def test_finetune_finds_the_best_point(run: Run, checkpoint: Path, tmp_path: Path) -> None:
    printed = run("finetune.py", checkpoint, "--batch", 16, "--rate", 1e-6, 1e-3, "--epochs", 6)
    best = re.search(r"^best: batch 16, rate 0.001, 6 epochs: accuracy ([\d.]+)$", printed, re.M)
    assert best and float(best[1]) > 0.8, printed


def test_contacts_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    (tmp_path / "a.txt").write_text("Write to anna@example.org or call (212) 555-0123. The ferry leaves at 9.")
    made = bertdata.build_corpus(text=tmp_path / "a.txt", maps=["contacts:redact"], output=tmp_path / "corpus", workers=1)
    (document,) = read_rows(made.path)
    assert document["sentences"] == ["Write to [EMAIL] or call [PHONE].", "The ferry leaves at 9."]
