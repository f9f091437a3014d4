"""The commands and snippets of the tutorials run in their order, on the sample or on small models."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import SAMPLE, read_manifest, read_rows
from pages import DOCS, blocks, commands, copy_sample, run

import bertdata
from bertdata.config.train import OptimizerConfig, Phase, TrainConfig
from bertdata.dataset.rows import Shards
from bertdata.reports.metrics import read_metrics

ELSEWHERE = ("bertdata download", "bertdata doctor", "bertdata trace")  # network, or tests of their own


def lines_of(name: str, replace: dict[str, str]) -> list[str]:
    """Return the commands of a tutorial. `replace` has values that are too large for the sample."""
    text = "\n".join(block.text for block in blocks(DOCS / "tutorials" / name) if block.language == "")
    for old, new in replace.items():
        assert old in text, old
        text = text.replace(old, new)
    return [line for line in commands(text) if not line.startswith(ELSEWHERE)]


def snippet(name: str, language: str, word: str = "") -> str:
    """Return the one snippet of a tutorial in a language that contains a word."""
    (text,) = (block.text for block in blocks(DOCS / "tutorials" / name) if block.language == language and word in block.text)
    return text


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a directory with the dumps and books of the sample."""
    copy_sample(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
@pytest.mark.slow
def test_english_wikipedia(place: Path) -> None:
    pytest.importorskip("torch")
    toml = snippet("english-wikipedia.md", "toml")
    (place / "tiny.toml").write_text(re.sub(r"(?m)^(batch_size|steps) = \d+", r"\1 = 2", toml), encoding="utf-8")
    small = {"--validation-fraction 0.01": "--validation-fraction 0.2", "--max-seq-length 512": "--max-seq-length 256"}
    printed = [run(line) for line in lines_of("english-wikipedia.md", small | {"pairs-512": "pairs-256"})]
    assert len(printed) == 8 and (place / "tiny" / "report.html").is_file()
    for line in snippet("english-wikipedia.md", "text").splitlines()[1:]:  # sizes depend on versions of packages
        assert line in printed[0]


@pytest.mark.nightly
@pytest.mark.slow
def test_chinese_wikipedia(place: Path) -> None:
    for package in ("torch", "jieba", "opencc"):
        pytest.importorskip(package)
    for line in lines_of("chinese-wikipedia.md", {}):
        if line.startswith("bertdata build-corpus") and "--text" in line:
            row = {"title": "歷史", "text": "歷史學家每天喝茶，也讀書。", "language": "zh", "licence": "CC0"}
            (place / "text" / "data" / "added.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
            exec(snippet("chinese-wikipedia.md", "python", "opencc"), {})
        run(line)
    assert set(read_manifest(place / "corpus")["sources"]["wikipedia"]["languages"]) == {"zh"}
    assert "continues_word" in Shards("pairs")[0] and "masked_lm_labels" in Shards("pairs-static")[0]
    exec(snippet("chinese-wikipedia.md", "python", "MaskConfig"), {})
    (added,) = (row for row in read_rows(place / "corpus-simplified") if row["title"].endswith("史"))
    assert (added["title"], added["sentences"]) == ("历史", ["历史学家每天喝茶，也读书。"])


def test_the_chinese_page_has_the_same_commands() -> None:
    english, chinese = (blocks(DOCS / name) for name in ("tutorials/chinese-wikipedia.md", "zh/tutorial.md"))
    runs = [[line for block in page for line in commands(block.text)] for page in (english, chinese)]
    assert runs[0] == [line for line in runs[1] if line in runs[0]]
    assert [block for block in english if block.language == "python"] == [b for b in chinese if b.language == "python"]


@pytest.mark.nightly
def test_beam(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pipeline in Python runs, with Beam's own options, and the commands after it."""
    monkeypatch.setattr("sys.argv", ["pipeline"])  # whose options Beam reads
    for block in blocks(DOCS / "tutorials" / "beam.md"):
        if block.language == "python":
            exec(block.text, {})
        for line in commands(block.text) if block.language == "" else ():
            run(line)


@pytest.mark.nightly
def test_continue(place: Path) -> None:
    """A small checkpoint stands for the model of the Hub; the domain is the books of the sample."""
    toml = snippet("continue.md", "toml")
    (model,) = re.findall(r'init_from = "(.*?)"', toml)
    small_checkpoint(place / model)
    (place / "notes").mkdir()
    names = ("keeper-of-skarre-rock.txt", "anything-that-goes-round.txt")
    texts = [(SAMPLE / "books" / name).read_text(encoding="utf-8") for name in names]
    paragraphs = [part for text in texts for part in text.partition("***\n")[2].split("\n\n") if len(part) > 80]
    documents = ["\n\n".join(paragraphs[start : start + 4]) for start in range(0, len(paragraphs), 4)]
    (place / "notes" / "notes.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    small = {"batch_size": 16, "precision": '"fp32"', "learning_rate": 1e-3, "warmup_steps": 10, "steps": 160, "accumulation": 1}
    for name, value in (small | {"log_every": 20, "evaluate_every": 80, "save_every": 80}).items():
        toml = re.sub(rf"(?m)^{name} = [^#\n]*", f"{name} = {value}  ", toml)
    (place / "continue.toml").write_text("workers = 0\n" + toml, encoding="utf-8")
    replace = {"--max-seq-length 1024": "--max-seq-length 128 --dupe-factor 4", "fraction 0.05": "fraction 0.3"}
    for line in lines_of("continue.md", replace):
        run(line)
    evaluations = [record for record in read_metrics(place / "run" / "metrics.jsonl") if record["kind"] == "evaluation"]
    losses = [{part["source"]: part["mlm_loss"] for part in record["by_origin"]} for record in evaluations]
    assert set(losses[0]) == {"text", "wikipedia"} and losses[-1]["text"] < losses[0]["text"] - 0.1


def small_checkpoint(directory: Path) -> None:
    """Write a small ModernBERT that has learned from the sample's English pages, with its tokenizer."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(1)
    run("bertdata build-corpus --wikipedia 'dumps/*enwiki*.xml.bz2' --output general")
    run("bertdata train-vocab general --model bpe --size 2000 --output general-bpe")
    run("bertdata make-pairs general --vocab general-bpe --objective documents --dupe-factor 4 --output general-rows")
    tokens = transformers.AutoTokenizer.from_pretrained("general-bpe")
    size = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 2}
    special = {f"{name}_token_id": getattr(tokens, f"{name}_token_id") for name in ("pad", "cls", "sep", "bos", "eos")}
    config = transformers.ModernBertConfig(vocab_size=len(tokens), max_position_embeddings=1024, **size, **special)
    transformers.ModernBertForMaskedLM(config).save_pretrained("new")
    tokens.save_pretrained("new")
    optimizer = OptimizerConfig(learning_rate=3e-3, warmup_steps=20)
    settings: dict[str, Any] = {"batch_size": 16, "workers": 0, "masked_lm_prob": 0.3, "optimizer": optimizer}
    phases = (Phase(shards=("general-rows",), steps=400),)
    done = bertdata.train(TrainConfig(phases=phases, init_from="new", **settings), "pretrained")
    directory.parent.mkdir()
    done.checkpoint.rename(directory)
