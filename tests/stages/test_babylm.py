"""Files of the shape of the BabyLM challenge become a corpus of exactly so many words."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from conftest import digests, read_manifest, read_rows

import bertdata
from bertdata.config import ChoiceConfig, CorpusConfig, PairsConfig, VocabConfig

WORDS = ["the", "tea", "is", "hot", "and", "more", "cake", "was", "left", "on", "an", "old", "table", "herons"]


def line(draw: random.Random) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randrange(3, 12))) + " ."


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a transcript, subtitles and articles, without blank lines between documents but for the last."""
    folder, draw = tmp_path_factory.mktemp("train_10M"), random.Random(3)
    turns = "".join(f"*{draw.choice(['MOT', 'CHI'])}:\t{line(draw)}\n" for _ in range(3000))
    (folder / "childes.train").write_text(turns, "utf-8")
    (folder / "open_subtitles.train").write_text("".join(f"- {line(draw)}\n" for _ in range(3000)), "utf-8")
    articles = (f"= = = Title {n} = = =\n{line(draw)}\n{line(draw)}\n\n" for n in range(100))
    (folder / "simple_wiki.train").write_text("".join(articles), "utf-8")
    return folder


def build(files: Path, output: Path, max_words: str, workers: int = 1, **more: Any) -> Path:
    choice = ChoiceConfig(dedup="none", max_words=max_words)
    config = CorpusConfig(text_documents="lines", text_lines=50, task_bytes=1 << 16, language="en", choice=choice)
    bertdata.build_corpus(text=files, output=output, config=config, workers=workers, **more)
    return output


def words_of(rows: list[dict[str, Any]]) -> int:
    return sum(len(sentence.split()) for row in rows for sentence in row["sentences"])


@pytest.mark.slow
def test_files_of_the_challenge_become_exactly_so_many_words(files: Path, tmp_path: Path) -> None:
    whole, one, two = (
        build(files, tmp_path / name, most, workers) for name, most, workers in (("w", "", 1), ("a", "7001", 1), ("b", "7001", 2))
    )
    every, rows = read_rows(whole), read_rows(one)
    texts = [text.split("\n") for text in (path.read_text("utf-8") for path in sorted(files.iterdir()))]
    given = sum(len(text.split()) for own in texts for text in own if not text.startswith("="))
    assert words_of(every) == given == read_manifest(whole)["sources"]["text"]["words"]
    assert sorted(row["title"] for row in every if row["title"]) == sorted(f"Title {n}" for n in range(100))
    made = read_manifest(one)
    (stage,), told = made["counts"], made["sources"]["text"]
    assert words_of(rows) == told["words"] == told["languages"]["en"]["words"] == 7001
    assert told["characters"] == sum(len(sentence) for row in rows for sentence in row["sentences"])
    assert stage["dropped"] == {"words": len(every) - len(rows)} and {row["id"].split(":")[1] for row in rows} == {
        path.name for path in files.iterdir()
    }
    ids = {row["id"]: row["sentences"] for row in every}
    (cut,) = (row for row in rows if row["sentences"] != ids[row["id"]])
    assert words_of([{"sentences": ids[cut["id"]]}]) - words_of([cut]) == told["removed_words"]
    assert " ".join(ids[cut["id"]]).startswith(" ".join(cut["sentences"]))
    assert digests(one) == digests(two)
    bertdata.verify(one)


@pytest.mark.slow
def test_tokens_are_counted_by_source_and_language(files: Path, tmp_path: Path) -> None:
    books = tmp_path / "buch.txt"
    verses = "\n\n".join(f"Am {n}. war der Tee {word} noch heiß und {n} blieb." for n, word in enumerate(WORDS * 3))
    books.write_text("*** START OF THIS PROJECT GUTENBERG EBOOK X ***\n\n" + verses, "utf-8")
    corpus = build(files, tmp_path / "c", "text=6000", books=books)
    vocab = bertdata.train_vocab(corpus, output=tmp_path / "v", config=VocabConfig(size=140), workers=1).path
    config = PairsConfig(objective="documents", max_seq_length=32, dupe_factor=2, validation_fraction=0.2)
    (pairs,) = bertdata.make_pairs(corpus, vocab=vocab, output=tmp_path / "p", config=config, workers=1)
    made = read_manifest(pairs.path)
    tally = [stage for stage in made["counts"] if stage["stage"].endswith("tokens")]
    told = made["tokens"]
    assert {source: {*own} for source, own in told.items()} == {"text": {"en"}, "books": {"en"}}
    assert 2 * sum(n for own in told.values() for n in own.values()) == sum(stage["in"] for stage in tally)
    assert all(stage["in"] == stage["out"] + sum(stage["dropped"].values()) for stage in tally)
