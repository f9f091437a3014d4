"""The data card: its front matter is what the Hub reads, its lines of Python run, and it states rights and shares."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import read_manifest
from processes import Started

import bertdata
from bertdata.cli import cli
from bertdata.config import PairsConfig


def parts(path: Path) -> tuple[dict[str, Any], str]:
    """Return the front matter of a card, and its text."""
    _, matter, text = (path / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(matter), text


def test_front_matter(sample_corpus: Path, sample_pairs: Path, tmp_path: Path) -> None:
    parquet = bertdata.export(sample_corpus, to="parquet", output=tmp_path / "parquet", workers=1).path
    for path, suffix in ((sample_corpus, "arrow"), (sample_pairs, "arrow"), (parquet, "parquet")):
        matter, text = parts(path)
        assert matter["license"] == ["cc-by-sa-4.0", "other"] and matter["language"] == ["en", "zh"]
        assert matter["size_categories"] == ["n<1K"]
        assert matter["task_categories"] == ["fill-mask", "text-generation"][: 1 if path == sample_pairs else 2]
        assert matter["tags"] == ["bertdata", "pretraining", "wikipedia", "books"]
        assert matter["configs"][0]["data_files"] == [{"split": "train", "path": f"data/train-*.{suffix}"}]
        assert f"Rows: {read_manifest(path)['rows']:,} in " in text
    assert not bertdata.verify(parquet, workers=1).problems


@pytest.mark.long
@pytest.mark.parametrize("tool", ["torch", "datasets"])
@pytest.mark.parametrize("kind", ["pairs", "parquet"])
def test_lines_of_the_card_run(sample_corpus: Path, sample_pairs: Path, tmp_path: Path, tool: str, kind: str) -> None:
    pytest.importorskip(tool)
    path = sample_pairs
    if kind == "parquet":
        path = bertdata.export(sample_corpus, to="parquet", output=tmp_path / "parquet", workers=1).path
    blocks = re.findall(r"```python\n(.*?)\n```", parts(path)[1], re.DOTALL)
    (code,) = [block for block in blocks if f"import {'bertdata' if tool == 'torch' else tool}\n" in block] or [""]
    assert bool(code) is not (tool == "torch" and kind == "parquet"), "a model reads rows, not text"
    env = {"HF_DATASETS_CACHE": str(tmp_path), "HOME": str(tmp_path), "PATH": "", "HF_HUB_OFFLINE": "1"}
    done = Started([], path, env, code or "print(1)")
    out, err = done.communicate(timeout=100)
    assert done.returncode == 0 and out.strip(), err.decode()


def test_packed_rows_are_read_by_the_same_lines(
    sample_corpus: Path, sample_vocab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loader refuses padded batches of packed rows unless the lines say that no model of transformers reads them."""
    pytest.importorskip("torch")
    config = PairsConfig(pack=True, max_seq_length=64)
    (rows,) = bertdata.make_pairs(sample_corpus, vocab=sample_vocab, output=tmp_path / "rows", config=config, workers=1)
    monkeypatch.chdir(rows.path)
    (code,) = [block for block in re.findall(r"```python\n(.*?)\n```", parts(rows.path)[1], re.DOTALL) if "bertdata" in block]
    exec(code, {})


def test_rights_and_shares(sample_corpus: Path, sample_pairs: Path) -> None:
    for path in (sample_corpus, sample_pairs):
        _, text = parts(path)
        assert re.search(r"pages-articles-multistream.xml.bz2 \| wikipedia \| CC BY-SA, as the wiki states \|", text)
        assert "https://creativecommons.org/licenses/by-sa/4.0/" in text and "whose history names its authors" in text
        assert re.search(r"\| wikipedia \| zh \| 11 \| – \| ([\d,]+ \| ){1,2}0\.\d{4} \|", text), "Chinese has no words to count"


@pytest.mark.filterwarnings("ignore:.* of the text tokens are not in any row")
def test_special_tokens_have_the_names_of_the_vocabulary(
    sample_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of a RoBERTa, whose [CLS] is <s> and whose [MASK] is <mask>, in the card, the page and `inspect`."""
    tokenizers = pytest.importorskip("tokenizers")
    models, pre_tokenizers = tokenizers.models, tokenizers.pre_tokenizers
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(["The ferry left at noon.", "Tea is grown on the hills."], trainer)
    (tmp_path / "own").mkdir()
    tokenizer.save(str(tmp_path / "own" / "tokenizer.json"))
    roles = dict(zip(("cls_token", "pad_token", "sep_token", "unk_token", "mask_token"), special, strict=True))
    (tmp_path / "own" / "tokenizer_config.json").write_text(json.dumps(roles), encoding="utf-8")
    (made,) = bertdata.make_pairs(sample_corpus, vocab=tmp_path / "own", output=tmp_path / "pairs", workers=1)
    card, page = ((made.path / name).read_text(encoding="utf-8") for name in ("README.md", "report.html"))
    assert "`<s> A </s> B </s>`" in card and "are `<unk>`" in card and "[CLS]" not in card and "[UNK]" not in card
    assert "A token that begins with `Ġ`, a space, begins a word" in card
    assert "[MASK]" not in page and "[UNK]" not in page and "<mark>&lt;mask&gt;</mark>" in page and "Ġ" not in page
    cli.main(["inspect", str(made.path), "--n", "2"], standalone_mode=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert " <mask> " in shown and "(<mask>)" in shown and "[MASK]" not in shown and "Ġ" not in shown
