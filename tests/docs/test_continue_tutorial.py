"""The tutorial on continued training: its commands run as they stand, with a small model in the place of the Hub's."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import SAMPLE
from pages import DOCS, blocks, commands

import bertdata
from bertdata.cli import cli
from bertdata.config.train import OptimizerConfig, Phase, TrainConfig
from bertdata.reports.metrics import read_metrics

pytestmark = pytest.mark.nightly

ENGLISH_BOOKS = ("keeper-of-skarre-rock.txt", "anything-that-goes-round.txt")
SMALL_RUN = {
    "batch_size": 16,
    "precision": '"fp32"',
    "learning_rate": 1e-3,
    "warmup_steps": 10,
    "steps": 160,
    "accumulation": 1,
    "log_every": 20,
    "evaluate_every": 80,
    "save_every": 80,
}


def _small_checkpoint(directory: Path) -> None:
    """Write a small ModernBERT that has learned from the sample's Wikipedia pages, with its tokenizer."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(1)
    for line in (
        "build-corpus --wikipedia dumps --output general",
        "train-vocab general --model bpe --size 2000 --output general-bpe",
        "make-pairs general --vocab general-bpe --objective documents --max-seq-length 128 --dupe-factor 4 --output general-rows",
    ):
        ran = CliRunner().invoke(cli, [*line.split(), "--workers", "1"])
        assert ran.exit_code == 0, ran.output
    tokens = transformers.AutoTokenizer.from_pretrained("general-bpe")
    size = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 2}
    special = {f"{name}_token_id": getattr(tokens, f"{name}_token_id") for name in ("pad", "cls", "sep", "bos", "eos")}
    config = transformers.ModernBertConfig(vocab_size=len(tokens), max_position_embeddings=1024, **size, **special)
    transformers.ModernBertForMaskedLM(config).save_pretrained("new")
    tokens.save_pretrained("new")
    optimizer = OptimizerConfig(algorithm="adamw", learning_rate=3e-3, warmup_steps=20)
    phases = (Phase(shards=("general-rows",), steps=400),)
    settings: dict[str, Any] = {"batch_size": 16, "workers": 0, "masked_lm_prob": 0.3, "optimizer": optimizer}
    done = bertdata.train(TrainConfig(phases=phases, init_from="new", **settings), "pretrained")
    directory.parent.mkdir()
    done.checkpoint.rename(directory)


@pytest.mark.long
def test_continue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small checkpoint stands for the model of the Hub; the domain is the books of the sample."""
    monkeypatch.chdir(tmp_path)
    path = DOCS / "tutorials" / "continue.md"
    (tmp_path / "dumps").mkdir()
    for dump in SAMPLE.glob("*enwiki*.bz2"):
        shutil.copy(dump, tmp_path / "dumps")
    (toml,) = (block.text for block in blocks(path) if block.language == "toml")
    (model,) = re.findall(r'init_from = "(.*?)"', toml)
    _small_checkpoint(tmp_path / model)
    (tmp_path / "notes").mkdir()
    texts = [(SAMPLE / "books" / name).read_text(encoding="utf-8") for name in ENGLISH_BOOKS]
    paragraphs = [part for text in texts for part in text.partition("***\n")[2].split("\n\n") if len(part) > 80]
    documents = ["\n\n".join(paragraphs[start : start + 4]) for start in range(0, len(paragraphs), 4)]
    (tmp_path / "notes" / "notes.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    for name, value in SMALL_RUN.items():
        toml, found = re.subn(rf"(?m)^{name} = [^#\n]*", f"{name} = {value}  ", toml)
        assert found == 1, name
    (tmp_path / "continue.toml").write_text("workers = 0\n" + toml, encoding="utf-8")
    smaller = {"--max-seq-length 1024": "--max-seq-length 128 --dupe-factor 4", "fraction 0.05": "fraction 0.3"}
    for line in commands("\n".join(block.text for block in blocks(path) if block.language == "")):
        for old, new in smaller.items():
            line = line.replace(old, new)
        words = shlex.split(line)[1:]
        ran = CliRunner().invoke(cli, [*words, *([] if words[0] == "train" else ["--workers", "1"])])
        assert ran.exit_code == 0, f"{line}\n{ran.output}\n{ran.exception}"
    evaluations = [record for record in read_metrics(tmp_path / "run" / "metrics.jsonl") if record["kind"] == "evaluation"]
    losses = [{part["source"]: part["mlm_loss"] for part in record["by_origin"]} for record in evaluations]
    assert [record["step"] for record in evaluations] == [0, 80, 160]
    assert set(losses[0]) == {"text", "wikipedia"}
    assert losses[-1]["text"] < losses[1]["text"] < losses[0]["text"]
    assert losses[-1]["text"] < losses[0]["text"] - 0.1
    assert evaluations[0]["random_baseline"] > evaluations[0]["mlm_loss"]
    report = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Sources and languages" in report and "MLM loss after step 0" in report
