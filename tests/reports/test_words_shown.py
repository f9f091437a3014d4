"""The report and `inspect` of rows that tell words: words are masked whole, parted by lines, and counted."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from test_page import page_of
from tiny import FIRST, PIECES, corpus_manifest, write_pairs

import bertdata
from bertdata.cli import cli
from bertdata.codec import decode
from bertdata.config import PairsConfig
from bertdata.dataset.manifest_records import Amounts, SourceEntry
from bertdata.dataset.manifest_types import CorpusManifest, PairsManifest
from bertdata.reports.page.documents import key_figures
from bertdata.reports.page.measure import masks_of, words_of
from bertdata.reports.page.sample import RowSample, read_rows
from bertdata.reports.page.section import Subject
from bertdata.reports.page.tokens import language_of, marked, row_article
from bertdata.reports.summary import describe
from bertdata.tokens.read import read_any
from bertdata.tokens.vocab import SPECIAL, Vocabulary

KNOWN = Vocabulary([*SPECIAL, *"社会学家说，"], True, True)
ROW = [KNOWN.pieces.index(piece) for piece in ("[CLS]", *"社会，学家", "[SEP]", *"说", "[SEP]")]
CONTINUES = [0, 0, 1, 0, 0, 1, 0, 0, 0]


def test_borders_of_words_are_drawn_where_nothing_else_parts_them() -> None:
    columns = {"input_ids": [ROW], "token_type_ids": [[0] * 7 + [1] * 2], "next_sentence_label": [1]}
    cut = '<span class="cut" aria-hidden="true"></span>'
    told = []
    for words in ({}, {"continues_word": [[flag == 1 for flag in CONTINUES]]}):
        rows = RowSample(pa.table(columns | words), np.array([0]), np.array([0.0]))
        told.append(row_article(rows, None, 0, PairsConfig(), KNOWN, languages=["en", "zh"]))
    assert cut not in told[0]
    assert "社会，学家" in told[0] and "社会，学家" in told[1], "a mark parts words already"
    assert '<p lang="zh">' in told[1]
    assert marked(list("社会学家"), {2: "kept"}, begins={0, 2}).startswith(f"社会{cut}<mark")
    whole = marked(list("社会学家"), {1: "[MASK]", 2: "[MASK]", 3: "[MASK]"}, begins={0, 2})
    assert whole == f"社<mark>会</mark>{cut}<mark>学家</mark>", "the masked characters of one word share one mark"
    assert '<mark>会</mark><mark class="kept">学</mark>' in marked(list("社会学家"), {1: "[MASK]", 2: "kept"}, begins={0})


def test_words_are_measured() -> None:
    table = pa.table({"input_ids": [ROW], "continues_word": [[flag == 1 for flag in CONTINUES]]})
    lengths = words_of(RowSample(table, np.array([0]), np.array([0.0])), KNOWN)
    assert lengths is not None and lengths.tolist() == [2, 2, 1], "neither marks nor special tokens are words"
    assert words_of(RowSample(table.drop_columns("continues_word"), np.array([0]), np.array([0.0])), KNOWN) is None


@pytest.mark.parametrize("words", [True, False])
def test_words_are_masked_whole_and_the_page_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: bool) -> None:
    segmenter = {"chinese_words": "jieba"} if words else {}
    pairs = write_pairs(tmp_path / "pairs", {"train": [[40] * 60]}, words=words, **segmenter)
    manifest, known = bertdata.dataset.manifest.read(pairs, PairsManifest), read_any(pairs)
    rows, config = read_rows(pairs, manifest, known), manifest.settings
    assert rows is not None
    masks = masks_of(rows, config, known)
    assert masks is not None and 0.12 < len(masks.wanted) / masks.maskable < 0.18
    page = page_of(bertdata.report(pairs)).text
    if words:
        ids, ends = rows.flat("input_ids")
        special, inside = ids < FIRST, rows.flat("continues_word")[0].astype(bool)
        number = np.cumsum(~inside | special | np.roll(special, 1))
        hidden = np.bincount(number[ends[masks.rows] + masks.positions], minlength=number[-1] + 1)
        assert set(hidden[hidden > 0]) >= {1, 2} and (hidden[hidden > 0] == np.bincount(number)[hidden > 0]).all()
    assert ("by whole words" in page) == words and ("piece by piece" in page) != words
    assert ("found by jieba" in page) == ("words by jieba" in page) == words
    cli.main(["inspect", str(pairs), "--row", "3"], standalone_mode=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert ("masked (epoch 0, whole words):" in shown) == words and ("masked (epoch 0):" in shown) != words
    assert bool(re.search(r"words \(\d+, 1\.\d+ tokens each\): [\w ]+ \| ", shown)) == words
    assert f"vocabulary of {len(PIECES):,} pieces" in page and "64 tokens a row" in page


def test_language_of_samples() -> None:
    both = ["en", "ja", "zh"]
    assert [language_of(text, both) for text in ("お茶", "茶树", "tea")] == ["ja", "zh", ""]
    assert language_of("茶", ["en", "ja"]) == "ja" and language_of("tea", ["fr"]) == "fr"


@pytest.mark.parametrize(
    ("languages", "expected"),
    [
        ({"zh": (3, 130)}, [("characters", "130"), ("language", "1")]),
        ({"en": (20, 90)}, [("characters", "90"), ("words", "20"), ("language", "1")]),
        (
            {"ja": (3, 130), "en": (20, 90)},
            [("characters", "220"), ("words, in languages with spaces", "20"), ("languages", "2")],
        ),
    ],
)
def test_text_without_spaces_is_counted_in_characters(
    languages: dict[str, tuple[int, int]], expected: list[tuple[str, str]]
) -> None:
    spoken = {code: {"documents": 1, "words": words, "characters": size} for code, (words, size) in languages.items()}
    languages = decode(spoken, dict[str, Amounts])
    source = SourceEntry(documents=1, text_bytes=9, share=1.0, languages=languages)
    manifest = decode(corpus_manifest([]), CorpusManifest)
    manifest = msgspec.structs.replace(manifest, rows=1, sources={"books": source})
    told = re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", key_figures(Subject(Path(), manifest)))
    assert told[2:] == expected


def test_a_title_tells_of_its_data(sample_corpus: Path, sample_pairs: Path) -> None:
    titles = [
        re.search("<title>(.*?)</title>", (path / "report.html").read_text(encoding="utf-8"))
        for path in (sample_corpus, sample_pairs)
    ]
    corpus, rows = (found[1] for found in titles if found)
    assert corpus == "Corpus of sampleenwiki 2026-11-01, samplezhwiki 2026-11-01, books · bertdata"
    assert rows == corpus.replace("Corpus", "Rows")


def test_one_document_is_no_documents(sample_corpus: Path) -> None:
    manifest = bertdata.dataset.manifest.read(sample_corpus, CorpusManifest)
    one = {name: msgspec.structs.replace(source, documents=1) for name, source in manifest.sources.items()}
    manifest = msgspec.structs.replace(manifest, sources=one)
    assert "(1 document, " in describe(manifest, sample_corpus)


def test_the_card_counts_no_words_of_languages_without_spaces(sample_corpus: Path) -> None:
    rows = [
        line.split("|") for line in (sample_corpus / "README.md").read_text(encoding="utf-8").splitlines() if "| zh |" in line
    ]
    assert rows and all(row[4] == " – " for row in rows)
