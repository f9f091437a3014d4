"""Training: the same vocabulary in every process and order, BERT's ids, and files that every library reads alike."""

from __future__ import annotations

import doctest
import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_encode import CHARACTERS, SENTENCE
from tokenizers import Tokenizer

from bertdata.codec import decode
from bertdata.config import VocabConfig
from bertdata.dataset import manifest, shards
from bertdata.dataset.manifest_records import Coverage
from bertdata.dataset.manifest_types import CorpusManifest, VocabManifest
from bertdata.errors import EmptyResultError
from bertdata.reports import coverage
from bertdata.tokens import read, train, vocab, vocab_txt
from bertdata.tokens.encode import Encoder
from bertdata.tokens.read import read_any
from bertdata.tokens.vocab import SPECIAL

LAW = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])

SYLLABLES = ["ba", "ko", "ri", "ten", "sou", "mal", "ix", "quo", "ver", "la"]
CHINESE = "茶树原产于中国南部是一种常绿灌木叶子可以用来制作饮料"


def _words(count: int = 3000) -> Counter[str]:
    """Words of a made-up language, some accented, and Chinese characters, as `count_words` gives them."""
    chooser = random.Random(4)
    words: Counter[str] = Counter()
    for _ in range(count):
        words["".join(chooser.choices(SYLLABLES, k=chooser.randint(1, 4)))] += 1
    words.update({character: 2 + i for i, character in enumerate(CHINESE)})
    words.update({"été": 5, "naïve": 5, ".": 900, ",": 700, "rare": 1, "☃": 1})
    return words


CONFIG = VocabConfig(size=400)
CASED = VocabConfig(size=400, lowercase=False, strip_accents=False)
BPE = VocabConfig(model="bpe", size=400)
RUN = """
import json, random, sys
from bertdata.config import VocabConfig
from bertdata.tokens.train import train
words = list(json.load(sys.stdin).items())
random.Random(sys.argv[1]).shuffle(words)
print(json.dumps([train(dict(words), VocabConfig(size=400, model=model)).form for model in ("wordpiece", "bpe")]))
"""


def test_doctests() -> None:
    assert (
        doctest.testmod(train).failed
        == doctest.testmod(read).failed
        == doctest.testmod(vocab_txt).failed
        == doctest.testmod(coverage).failed
        == 0
    )


@pytest.mark.slow
def test_training_is_equal_in_every_process_and_order() -> None:
    """Many pairs of these words are equally frequent, so that any order that leaks in shows."""
    words = _words()
    found = set()
    for seed in ("0", "1"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "TOKENIZERS_PARALLELISM": "true" if seed == "1" else "false"}
        command = [sys.executable, "-c", RUN, seed]
        found.add(subprocess.run(command, input=json.dumps(words), env=env, capture_output=True, text=True, check=True).stdout)
    assert [json.loads(out) for out in found] == [[train.train(words, config).form for config in (CONFIG, BPE)]]


def test_special_tokens_stand_at_the_stated_ids() -> None:
    compact = train.train(_words(), CONFIG).pieces
    assert compact[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    layout = train.train(_words(), VocabConfig(size=2048, layout="bert")).pieces
    places = {
        name: layout.index(name)
        for name in ("[PAD]", "[unused0]", "[unused98]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused99]")
    }
    assert list(places.values()) == [0, 1, 99, 100, 101, 102, 103, 104]  # as in bert-base-uncased
    assert layout[998] == "[unused993]" and not layout[999].startswith("[")
    assert sum(piece.startswith("[unused") for piece in layout) == 994


@pytest.mark.parametrize("config", [CONFIG, CASED, VocabConfig(size=64), VocabConfig(size=400, alphabet=5)])
def test_a_vocabulary_has_the_size_asked_and_no_piece_twice(config: VocabConfig) -> None:
    pieces = train.train(_words(), config).pieces
    assert len(pieces) <= config.size and len(set(pieces)) == len(pieces)
    if config.alphabet > 5:
        assert len(pieces) == config.size


def test_the_alphabet_keeps_chinese_and_ends_with_the_rarest() -> None:
    words = _words()
    pieces = set(train.train(words, CONFIG).pieces)
    assert set(CHINESE) <= pieces
    small = train.train(words, VocabConfig(size=400, alphabet=20)).pieces
    letters = {piece.removeprefix("##") for piece in small if piece not in SPECIAL}
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    kept = {piece for piece in letters if len(piece) == 1}
    assert len(kept) == 20 and min(counts[c] for c in kept) >= max(counts[c] for c in counts.keys() - kept)


def test_characters_that_are_equally_frequent_are_kept_in_order() -> None:
    """Ten letters of one frequency, room for four: those of a hash map's order would differ from run to run."""
    pieces = train.train(dict.fromkeys("jihgfedcba", 3), VocabConfig(size=64, alphabet=4)).pieces
    assert pieces == [*SPECIAL, "a", "b", "c", "d"]


def test_training_on_nothing_says_so() -> None:
    with pytest.raises(EmptyResultError, match="no text to train on.*`sample_bytes`"):
        train.train({}, CONFIG)


def test_one_word_worked_by_hand() -> None:
    """abab x 9 with its letters as pieces: ab, then ##ab... the merges that make the whole word, all seen 9 times."""
    pieces = train.train({"abab": 9}, VocabConfig(size=64)).pieces
    assert pieces[:5] == list(SPECIAL)
    assert {"a", "b", "##a", "##b", "abab"} <= set(pieces)
    assert all(piece.removeprefix("##") in "abab" for piece in pieces[5:])
    assert train.train({"abab": 1}, VocabConfig(size=64)).pieces[5:] == ["##a", "##b", "a", "b"]  # under --min-frequency 2


def test_a_sample_is_a_share_of_documents_by_name() -> None:
    ids = [f"w:{i}" for i in range(20_000)]
    tenth, half = ({i for i in ids if train.is_sampled(1, i, share)} for share in (0.1, 0.5))
    assert len(tenth) == pytest.approx(2000, abs=200) and len(half) == pytest.approx(10_000, abs=400)
    assert tenth < half  # a larger sample keeps the smaller
    assert all(train.is_sampled(1, i, 1.0) for i in ids) and not any(train.is_sampled(1, i, 0.0) for i in ids)
    assert {i for i in ids if train.is_sampled(2, i, 0.1)} != tenth


def test_bpe_encodes_every_text_and_pads() -> None:
    """No text has [UNK], and special tokens in a text are text."""
    config = VocabConfig(model="bpe", size=400, pad_to_multiple_of=64, extra_tokens=("<|one|>", "<|two|>"))
    words = train.parts_to_words(train.count_parts(["The tea, the sea. " * 9], "bpe"), train.blank(config))
    made = train.train(words, config)
    assert made.pieces[:7] == [*SPECIAL, "<|one|>", "<|two|>"] and made.special[:5] == (0, 1, 2, 3, 4)
    unused = [i for i, piece in enumerate(made.pieces) if piece.startswith("[unused")]
    assert len(made.pieces) % 64 == 0 and {5, 6, *unused} == set(made.special.others)
    library = made.tokenizer()
    for text in ["☃ tea ☃☃", "Ωmega\n\nx"]:
        ids = library.encode(text, add_special_tokens=False).ids
        assert 1 not in ids and library.decode(ids) == text
    assert library.encode("a<|two|>b").ids.count(6) == 1
    ids, _ = Encoder(made).encode(["a<|two|>b [unused1] [SEP]"])
    assert not set(ids.tolist()) & made.special.never


# --- words ---


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [True, False])
def test_words_are_those_of_the_library_and_normal_already(lowercase: bool) -> None:
    """Counting parts between ASCII punctuation and Chinese changes nothing, and what it makes of a text stays as it is."""
    tokenizer = train.blank(VocabConfig(lowercase=lowercase))
    texts = [f"x{chr(c)}Y {chr(c)}\u201c{chr(c)}e\u0301" for c in CHARACTERS if c < 0x3000 or c % 7 == 0]
    for text in texts:
        normal = tokenizer.normalizer.normalize_str(text)
        expected = Counter(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal))
        words = train.parts_to_words(train.count_parts([text], "wordpiece"), tokenizer)
        assert words == expected, ascii(text)
        assert train.parts_to_words(train.count_parts(words, "wordpiece"), tokenizer) == Counter(dict.fromkeys(words, 1))


@LAW
@given(sentences=st.lists(SENTENCE, max_size=6), cut=st.integers(0, 6))
def test_counts_of_parts_add_up(sentences: list[str], cut: int) -> None:
    for model in ("wordpiece", "bpe"):
        parts = train.count_parts(sentences[:cut], model) + train.count_parts(sentences[cut:], model)
        assert parts == train.count_parts(sentences, model)


# --- files ---


@pytest.mark.parametrize("config", [CONFIG, CASED, BPE], ids=["uncased", "cased", "bpe"])
def test_a_directory_reads_back(tmp_path: Path, config: VocabConfig) -> None:
    made = train.train(_words(), config)
    names = vocab.write(tmp_path, made)
    assert names == [*(["vocab.txt"] if config.model == "wordpiece" else []), "tokenizer.json", "tokenizer_config.json"]
    assert read_any(tmp_path) == read_any(tmp_path / "tokenizer.json") == made
    if config.model == "wordpiece":
        assert read_any(tmp_path / "vocab.txt") == made


@pytest.fixture(scope="module", params=[CONFIG, CASED], ids=["uncased", "cased"])
def libraries(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every way to turn text into ids."""
    root = tmp_path_factory.mktemp("vocabulary")
    vocabulary = train.train(_words(), request.param)
    vocab.write(root, vocabulary)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_HOME", str(root / "home"))
        transformers = pytest.importorskip("transformers")
        fast = transformers.BertTokenizerFast.from_pretrained(str(root))
        auto = transformers.AutoTokenizer.from_pretrained(str(root))
    file = Tokenizer.from_file(str(root / "tokenizer.json"))
    own = vocabulary.tokenizer()
    return {
        "own": lambda text: own.encode(text).ids,
        "tokenizers": lambda text: file.encode(text).ids,
        "fast": lambda text: fast(text)["input_ids"],
        "auto": lambda text: auto(text)["input_ids"],
        "transformers": (fast, auto),
        "vocabulary": vocabulary,
    }


SAMPLE = st.text(max_size=40) | st.lists(
    st.sampled_from([*SYLLABLES, " ", "É", "e\u0301", "茶", "İ", "ǅ", ".", "##", "\u200b", "😀"])
).map("".join)


@LAW
@given(text=SAMPLE)
def test_every_library_gives_equal_ids(libraries: dict[str, Any], text: str) -> None:
    expected = libraries["own"](text)
    for name in ("tokenizers", "fast", "auto"):
        assert libraries[name](text) == expected, name


def test_ids_of_a_sentence(libraries: dict[str, Any]) -> None:
    pieces = libraries["vocabulary"].pieces
    ids = libraries["auto"]("ba, 茶树!")
    assert [pieces[i] for i in ids] == ["[CLS]", "ba", ",", "茶", "树", "[UNK]", "[SEP]"]
    for tokenizer in libraries["transformers"]:
        assert tokenizer.mask_token_id == pieces.index("[MASK]") and tokenizer.pad_token_id == pieces.index("[PAD]")
        assert len(tokenizer) == len(pieces)
        pair = tokenizer("ba", "ko")
        assert pair["token_type_ids"] == [0, 0, 0, 1, 1]
    assert libraries["own"]("[MASK] ba")[1] == pieces.index("[MASK]")  # written out it is the token, as in BERT's fill-mask


# --- coverage ---


def test_coverage_is_that_of_the_text(sample_corpus: Path, sample_vocab: Path) -> None:
    """For each language of the sample: the library cuts the whole text, word by word, and the shares are the same."""
    found = manifest.read(sample_vocab, VocabManifest).coverage
    tokenizer = read_any(sample_vocab).tokenizer()
    texts: dict[str, list[str]] = {}
    for document in _documents(sample_corpus):
        texts.setdefault(document["language"], []).extend(document["sentences"])
    assert found.keys() == texts.keys() and len(texts) > 1
    for language, sentences in texts.items():
        normal = tokenizer.normalizer.normalize_str("\n".join(sentences))
        words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal)]
        cut = {word: [piece.value for piece in tokenizer.model.tokenize(word)] for word in words}
        own = found[language]
        assert own.words == len(words)
        assert own.unknown_share == round(sum(cut[word] == ["[UNK]"] for word in words) / len(words), 6)
        assert own.split_share == round(sum(len(cut[word]) > 1 for word in words) / len(words), 6)
        assert own.pieces_per_word == round(sum(len(cut[word]) for word in words) / len(words), 4)
        longest = sorted((word for word in cut if len(cut[word]) > 1), key=lambda word: (-len(word), word))[:10]
        assert list(own.longest_split.items()) == [(word, " ".join(cut[word])) for word in longest]


def _documents(corpus: Path) -> list[dict[str, Any]]:
    found = manifest.read(corpus, CorpusManifest)
    batches = [b for s in found.shards for b in shards.read_batches(corpus / s.name)]
    return [row for batch in batches for row in batch.to_pylist()]


def test_coverage_of_files_adds_up() -> None:
    """Words in two files are counted once for each, and named once."""
    whole, halves = coverage.Coverage(), coverage.Coverage()
    words, pieces = ["tea", "teas", "teasing", "q"], np.array([1, 2, 3, 1])
    unknown = np.array([False, False, False, True])
    whole.add(words, np.array([6, 4, 2, 8]), pieces, unknown)
    for _ in range(2):
        halves.add(words, np.array([3, 2, 1, 4]), pieces, unknown)
    assert whole.result(str.upper) == halves.result(str.upper)
    assert list(whole.result(str.upper).longest_split.items()) == [("teasing", "TEASING"), ("teas", "TEAS")]


def test_the_table_shows_a_line_for_each_language() -> None:
    own = {"unknown_share": 0.0, "split_share": 0.5, "pieces_per_word": 1.5, "longest_split": {}}
    many = {f"l{i:02}": {**own, "words": i} for i in range(25)} | {"": {**own, "words": 1000}}
    lines = coverage.table(decode(many, dict[str, Coverage])).splitlines()
    assert len(lines) == 22 and lines[1].split()[:2] == ["unknown", "1,000"] and lines[2].split()[0] == "l24"
    assert lines[-1].strip() == "and 6 more languages, in manifest.json"
