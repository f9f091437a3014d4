"""make-pairs --chinese-words: the same ids, a flag for each token, and masks that take Chinese words whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Build, Run, digests, read_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata import rows as pairs
from bertdata.config import PairsConfig
from bertdata.tokens.encode import Encoder, choose
from bertdata.tokens.read import read_any
from bertdata.tokens.segment import encode_words, is_chinese, parts
from bertdata.tokens.vocab import SPECIAL, from_tokens

pytest.importorskip("jieba", reason="the extra `chinese` is not installed")
PIECES = [*SPECIAL, *"我们的北京大学研究起源。，ab", "##b", "##s"]
VOCABULARY = choose(from_tokens(PIECES, lowercase=True, strip_accents=True))
TEXT = st.text(
    st.one_of(
        st.sampled_from("我们的北京大学研究生命起源的。，a b\u0301㐀豈𠀀\u4db8\u9fff"), st.characters(exclude_categories=["Cs"])
    ),
    max_size=30,
)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(VOCABULARY)


def test_a_sentence_by_hand(encoder: Encoder) -> None:
    text = ["我们的abs北京大学。", "", "ab 北京大学"]
    tokens, ends, continues = encode_words(encoder, ["zh"], [text])
    flags = zip((PIECES[i] for i in tokens), continues.tolist(), strict=True)
    told = " ".join(f"+{piece}" if flag else piece for piece, flag in flags)
    assert told == "我 +们 的 a +##b +##s 北 +京 +大 +学 。 a +##b 北 +京 +大 +学"
    assert ends.tolist() == [11, 11, 17]
    continues = encode_words(encoder, ["ja"], [text])[2]
    assert np.flatnonzero(continues).tolist() == [4, 5, 12], "only ## tells in other languages"
    tokens, ends, continues = encode_words(encoder, [], [])
    assert len(tokens) == len(ends) == len(continues) == 0


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(["zh", "zh-tw", "en", ""]), st.lists(TEXT, max_size=4)), max_size=4))
@pytest.mark.slow
def test_ids_are_those_of_the_whole_sentences(encoder: Encoder, documents: list[tuple[str, list[str]]]) -> None:
    languages, texts = [language for language, _ in documents], [text for _, text in documents]
    tokens, ends, continues = encode_words(encoder, languages, texts)
    whole = encoder.encode([sentence for text in texts for sentence in text])
    assert tokens.tolist() == whole[0].tolist() and ends.tolist() == whole[1].tolist()
    expected: list[bool] = []
    tokenizer = VOCABULARY.tokenizer()
    tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
    for language, text in documents:
        for sentence in text:
            for part, word in parts(sentence) if is_chinese(language) else [(sentence, False)]:
                pieces = tokenizer.encode(part, add_special_tokens=False).tokens
                expected += [bool(word and position) or piece.startswith("##") for position, piece in enumerate(pieces)]
    assert continues.tolist() == expected


@pytest.mark.parametrize("objective", ["nsp", "sop", "documents", "causal"])
def test_flags_stay_with_their_tokens(objective: str) -> None:
    """Every token is another number; through cuts, exchanges and swaps its flag goes with it, and no row begins inside a word."""
    random = np.random.default_rng(0)
    continues = random.random(40 * 8 * 15) < 0.4
    continues[::15] = False
    tokens = np.arange(10, 10 + len(continues), dtype=np.uint32)
    starts = np.arange(0, len(tokens) + 1, 15)
    partition = pairs.Partition(tokens, continues, starts, np.arange(0, 40 * 8 + 1, 8), [f"w:{i}" for i in range(40)])
    words = "none" if objective == "causal" else "jieba"
    config = PairsConfig(objective=objective, max_seq_length=64, dupe_factor=2, chinese_words=words)
    built = pairs.build(partition, config, VOCABULARY.special)
    if words == "none":
        assert built.continues is None
        return
    assert built.continues is not None
    special = built.input_ids < 10
    assert not built.continues[special].any()
    assert (built.continues[~special] == continues[built.input_ids[~special] - 10]).all()
    assert built.continues.any() and not built.continues[np.flatnonzero(special[:-1]) + 1].any()


def _chinese(number: int) -> str:
    """Sentences of our own."""
    who = ["他的姐姐", "这位老师", "北京大学的学生", "那只猫", "我们的邻居", "图书馆"]
    when = ["昨天下午", "去年冬天", "每个星期", "很久以前"]
    what = ["经过中央公园", "研究历史问题", "准备参加比赛", "离开火车站", "写了一封信", "发现新的世界"]
    lines = []
    for position in range(6 + number % 9):
        pick = number * 7 + position * 5
        lines.append(f"{who[pick % 6]}{when[pick // 2 % 4]}{what[pick // 3 % 6]}，第{number}次no{position}。")
    return "".join(lines)


@pytest.fixture(scope="module")
def corpus(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents in Chinese, and as many in no language."""
    root = tmp_path_factory.mktemp("chinese")
    for language in ("zh", "en"):
        lines = [json.dumps({"id": f"{language}{i}", "text": _chinese(i)}, ensure_ascii=False) for i in range(60)]
        (root / f"{language}.jsonl").write_text("\n".join(lines), encoding="utf-8")
        options = ("--language", language, "--id-column", "id")
        build("build-corpus", root / f"corpus-{language}", "--text", root / f"{language}.jsonl", *options)
    build("train-vocab", root / "vocab", root / "corpus-zh", "--size", 300)
    return root


def _make(build: Build, corpus: Path, output: Path, *options: object, language: str = "zh") -> Path:
    arguments = (corpus / f"corpus-{language}", "--vocab", corpus / "vocab", "--max-seq-length", 64, "--shards", 2)
    return build("make-pairs", output, *arguments, *options)


@pytest.fixture(scope="module")
def words(build: Build, corpus: Path) -> Path:
    """Pairs of the documents in Chinese, with their words."""
    return _make(build, corpus, corpus / "words", "--chinese-words", "jieba")


def _words(pieces: Sequence[str], row: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for token, continues_word in zip(row["input_ids"], row["continues_word"], strict=True):
        if continues_word:
            words[-1] += pieces[token].removeprefix("##")
        else:
            words.append(pieces[token])
    return words


def test_words_are_a_column(run: Run, corpus: Path, words: Path, tmp_path: Path) -> None:
    rows, pieces = read_rows(words), read_any(words).pieces
    assert len(rows) > 100
    found = {word for row in rows for word in _words(pieces, row)}
    assert {"北京大学", "图书馆", "火车站", "研究", "[SEP]", "的"} <= found and not found & {"北", "京", "研"}
    segmented = {word for i in range(60) for word, whole in parts(_chinese(i)) if whole}
    assert {word for word in found if len(word) > 1 and word[0] > "一"} <= segmented
    manifest = json.loads((words / "manifest.json").read_text())
    assert manifest["config"]["chinese_words"] == "jieba" and manifest["versions"]["jieba"]
    assert "continues_word" in (words / "README.md").read_text()
    options = ("--vocab", corpus / "vocab", "--output", tmp_path / "again", "--max-seq-length", 64, "--shards", 2)
    run("make-pairs", corpus / "corpus-zh", *options, "--chinese-words", "jieba", "--workers", 2)
    assert digests(tmp_path / "again") == digests(words)


def test_static_masks_take_chinese_words_whole(build: Build, corpus: Path, tmp_path: Path) -> None:
    masks = ("--masking", "static", "--whole-word")
    rows = read_rows(_make(build, corpus, tmp_path / "words", *masks, "--chinese-words", "jieba"))
    split = whole = 0
    for row in rows:
        starts = np.cumsum(~np.array(row["continues_word"]))
        chosen = np.bincount(starts[row["masked_lm_positions"]], minlength=starts[-1] + 1)
        sizes = np.bincount(starts)
        split += int(((chosen > 0) & (chosen < sizes)).sum())
        whole += int(((chosen > 1) & (chosen == sizes)).sum())
    assert not split and whole > 200
    without = read_rows(_make(build, corpus, tmp_path / "characters", *masks))
    assert "continues_word" not in without[0]
    assert any(len(row["masked_lm_positions"]) % 2 for row in without)


def test_masks_of_characters_as_words_are_warned_of(run: Run, corpus: Path, words: Path, tmp_path: Path) -> None:
    arguments = ("make-pairs", corpus / "corpus-zh", "--vocab", corpus / "vocab", "--max-seq-length", 64)
    made = run(*arguments, "--output", tmp_path / "static", "--masking", "static", "--whole-word")
    assert "warning: masks of whole words mask each Chinese character on its own" in made.stderr
    run(*arguments, "--output", tmp_path / "rows")
    for rows, warned in ((tmp_path / "rows", True), (words, False)):
        recipe = f'batch_size = 8\nunit = "word"\n[[phases]]\nshards = "{rows}"\nsteps = 5\n'
        (tmp_path / "run.toml").write_text(recipe)
        plan = run("train", tmp_path / "run.toml", "--dry-run")
        assert ("jieba to mask words" in plan.stdout) == warned
        assert "warmup_steps = 10,000 is not below the number of steps" in plan.stdout


def test_only_documents_in_chinese_are_segmented(build: Build, corpus: Path, tmp_path: Path) -> None:
    made = _make(build, corpus, tmp_path / "p", "--chinese-words", "jieba", language="en")
    pieces = read_any(made).pieces
    inside = [[pieces[i].startswith("##") for i in row["input_ids"]] for row in read_rows(made)]
    assert inside == [row["continues_word"] for row in read_rows(made)]
    plain = _make(build, corpus, tmp_path / "plain", language="en")
    assert [row["input_ids"] for row in read_rows(plain)] == [row["input_ids"] for row in read_rows(made)]
    assert list(read_rows(plain)[0]) == ["input_ids", "token_type_ids", "next_sentence_label", "origin"]


def test_without_jieba_the_message_names_the_fix(run: Run, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "jieba.py").write_text("raise ImportError('absent')")
    arguments = ("make-pairs", corpus / "corpus-zh", "--vocab", corpus / "vocab", "--output", tmp_path / "p", "--dry-run")
    done = run(*arguments, "--chinese-words", "jieba", code=2, PYTHONPATH=str(tmp_path))
    assert "pip install jieba opencc" in done.stderr
    run(*arguments, PYTHONPATH=str(tmp_path))
