"""Pages, search and traces of rows whose vocabulary is not BERT's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Build, read_manifest, read_rows
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import bertdata
from bertdata.cli import cli
from bertdata.reports.page.tokens import marked

ELLYN = "sampleenwiki:107"


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_rows_are_told_of(
    build: Build, sample_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], model: str
) -> None:
    vocab = build("train-vocab", tmp_path / "vocab", sample_corpus, "--model", model, "--size", 900)
    pairs = build("make-pairs", tmp_path / "pairs", sample_corpus, "--vocab", vocab, "--provenance")
    for made in (vocab, pairs):
        page = (made / "report.html").read_text(encoding="utf-8")
        assert "could not be made" not in page
    assert "<mark>" in page
    cli.main(["inspect", str(pairs), "--search", "Cold Moss", "--n", "2"], standalone_mode=False)
    assert "Cold Moss" in " ".join(capsys.readouterr().out.split())
    found = bertdata.trace(sample_corpus, "sampleenwiki:107", pairs=pairs)
    assert found.rows and all(ELLYN in (row.columns["a_document"], row.columns["b_document"]) for row in found.rows)
    card = (pairs / "README.md").read_text(encoding="utf-8")
    cli.main(["trace", str(sample_corpus), ELLYN, "--pairs", str(pairs)], standalone_mode=False)
    seen = " ".join(capsys.readouterr().out.split())
    cli.main(["inspect", str(vocab)], standalone_mode=False)
    for told in (seen, capsys.readouterr().out):
        assert not {"Ġ", "▁", "Ã"} & set(told), "pieces are shown as their text"
    assert "␣the" in seen
    assert f"A token that begins with `{'Ġ' if model == 'bpe' else '▁'}`, a space, begins a word" in card
    for role, token in read_manifest(pairs)["special_tokens"].items():
        assert f"{role} `{token}`" in card


def test_special_tokens_have_their_own_names(
    build: Build, sample_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of a RoBERTa, whose [CLS] is <s> and whose [MASK] is <mask>."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([row["sentences"][0] for row in read_rows(sample_corpus)], trainer)
    (tmp_path / "own").mkdir()
    tokenizer.save(str(tmp_path / "own" / "tokenizer.json"))
    roles = dict(zip(("cls_token", "pad_token", "sep_token", "unk_token", "mask_token"), special, strict=True))
    (tmp_path / "own" / "tokenizer_config.json").write_text(json.dumps(roles), encoding="utf-8")
    pairs = build("make-pairs", tmp_path / "pairs", sample_corpus, "--vocab", tmp_path / "own")
    card, page = ((pairs / name).read_text(encoding="utf-8") for name in ("README.md", "report.html"))
    assert "`<s> A </s> B </s>`" in card and "are `<unk>`" in card and "[CLS]" not in card and "[UNK]" not in card
    assert "[MASK]" not in page and "[UNK]" not in page and "shown as &lt;mask&gt;" in page
    cli.main(["inspect", str(pairs), "--n", "2"], standalone_mode=False)
    told = " ".join(capsys.readouterr().out.split())
    assert " <mask> " in told and "(<mask>)" in told and "[MASK]" not in told


def test_bytes_of_a_character_are_read_together() -> None:
    told = marked(["Ġtea", "s", "è", "Į", "¶", "Ġcup"], {4: "[MASK]", 5: "kept"}, "Ġ")
    assert str(told) == ' teas<mark>茶</mark> <mark class="kept">cup</mark>'.strip()
