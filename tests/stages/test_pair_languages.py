"""NotNext pairs join text of one language and script: documents of rare languages meet, and the label is not given away."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from conftest import Build, read_manifest, read_rows
from tiny import corpus_manifest

from bertdata.codec import decode
from bertdata.commands.make_pairs import warnings_of
from bertdata.config import PairsConfig
from bertdata.dataset.data_set import DataSet
from bertdata.dataset.manifest_types import CorpusManifest
from bertdata.stages.corpus_reader import read
from bertdata.stages.rows.partitions import Layout, shard_count
from bertdata.stages.rows.partners import MIN_DOCUMENTS_PER_PARTITION, DocumentOrigin, Partners, fill
from bertdata.verification import verify

WORDS = {  # our own: language and script -> words
    "en": ["the", "ferry", "crossed", "harbour", "and", "a", "miller", "measured", "seven", "lamps", "near", "old", "bridge"],
    "de": ["die", "Fähre", "kam", "spät", "und", "der", "Müller", "zählte", "sieben", "Lampen", "an", "alter", "Brücke"],
    "zh Hans": ["他", "们", "说", "这", "个", "国", "家", "有", "很", "多", "鱼", "和", "鸟", "还", "会", "来"],
    "zh Hant": ["他", "們", "說", "這", "個", "國", "家", "有", "很", "多", "魚", "和", "鳥", "還", "會", "來"],
    "sr Cyrl": ["брод", "је", "касно", "дошао", "и", "млинар", "мери", "седам", "лампи", "код", "старог", "моста"],
    "sr Latn": ["brod", "je", "kasno", "došao", "i", "mlinar", "meri", "sedam", "lampi", "kod", "starog", "mosta"],
    "yi": ["א", "שיף", "איז", "געקומען", "שפעט", "און", "דער", "מילנער", "ציילט", "לאמפן"],
}
DOCUMENTS = {"en": 420, "de": 40, "zh Hans": 60, "zh Hant": 24, "sr Cyrl": 20, "sr Latn": 18, "yi": 1}
SHARDS = 8
Made = dict[str, Path]


def text_of(kind: str, number: int) -> str:
    words = WORDS[kind]
    ends, space = ("。", "") if kind.startswith("zh") else (". ", " ")
    sentences = []
    for place in range(6 + number * 7 % 15):
        picked = [words[(number * 31 + place * 17 + k * (3 + number % 5)) % len(words)] for k in range(5 + (number + place) % 8)]
        sentences.append(space.join([*picked, str(number * 100 + place)]).capitalize() + ends)
    return "".join(sentences)


@pytest.fixture(scope="module")
def made(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Made:
    root = tmp_path_factory.mktemp("languages")
    lines = [
        {"id": f"{kind}:{number}", "language": kind.split()[0], "text": text_of(kind, number)}
        for kind, count in DOCUMENTS.items()
        for number in range(count)
    ]
    (root / "text.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    corpus = build("build-corpus", root / "corpus", "--text", root / "text.jsonl", "--id-column", "id", "--task-bytes", 1 << 16)
    vocab = build("train-vocab", root / "vocab", corpus, "--size", 1500)
    common = (corpus, "--vocab", vocab, "--max-seq-length", 64, "--provenance", "--shards", SHARDS)
    across = build("make-pairs", root / "across", *common, "--pair-across-languages")
    return {"corpus": corpus, "vocab": vocab, "across": across, "pairs": build("make-pairs", root / "pairs", *common)}


def kind_of(document: str) -> str:
    return document.split(":")[-2]


def by_shard(root: Path) -> list[list[dict[str, Any]]]:
    rows = iter(read_rows(root))
    return [[next(rows) for _ in range(shard["rows"])] for shard in read_manifest(root)["shards"]]


def test_no_pair_joins_two_languages_or_scripts(made: Made) -> None:
    rows = read_rows(made["pairs"])
    assert len(rows) > 1000
    assert all(kind_of(row["a_document"]) == kind_of(row["b_document"]) for row in rows)
    crossing = [row for row in read_rows(made["across"]) if kind_of(row["a_document"]) != kind_of(row["b_document"])]
    assert len(crossing) > 200 and all(row["next_sentence_label"] == 1 for row in crossing), "two languages give the label away"


def test_rare_languages_meet_and_no_shard_has_one_language(made: Made) -> None:
    shards = by_shard(made["pairs"])
    documents = [{row["a_document"] for row in rows} for rows in shards]
    for kind, count in DOCUMENTS.items():
        holding = [n for names in documents if (n := sum(kind_of(name) == kind for name in names))]
        if kind != "yi":
            assert len(holding) <= max(1, count // MIN_DOCUMENTS_PER_PARTITION) and min(holding) >= 4, (kind, holding)
    assert all(len(set(map(kind_of, names))) >= 2 for names in documents)


def test_a_language_of_one_document_a_shard_keeps_its_text(build: Build, tmp_path: Path) -> None:
    """64 documents of several chunks in 64 shards meet in few of them, and lose at most a tenth of their tokens."""
    counts = {"en": 1100, "de": 64}
    lines = [
        {"id": f"{kind}:{number}", "language": kind, "text": text_of(kind, number)}
        for kind, count in counts.items()
        for number in range(count)
    ]
    (tmp_path / "text.jsonl").write_text("\n".join(map(json.dumps, lines)))
    corpus = build("build-corpus", tmp_path / "corpus", "--text", tmp_path / "text.jsonl", "--id-column", "id")
    vocab = build("train-vocab", tmp_path / "vocab", corpus, "--size", 1500)
    options = ("--max-seq-length", 48, "--provenance", "--shards", 64)
    root = build("make-pairs", tmp_path / "pairs", corpus, "--vocab", vocab, *options)
    rows = [row for row in read_rows(root) if kind_of(row["a_document"]) == "de"]
    used, entered = sum(len(row["input_ids"]) - 3 for row in rows), read_manifest(root)["tokens"]["text"]["de"]
    assert len(read_manifest(root)["shards"]) == 64 and len(rows) > 2 * counts["de"]
    assert used >= 0.9 * entered, (used, entered)


def test_what_has_no_partner_is_dropped_and_counted(made: Made) -> None:
    documents, chunks, tokens = read_manifest(made["pairs"])["counts"]
    lost = documents["dropped"]["no-partner"]  # the one of its language, and a few of one chunk
    assert 1 <= lost <= 3 * SHARDS and documents["out"] == documents["in"] - lost
    assert chunks["dropped"]["no-partner"] >= 1 and tokens["dropped"]["no-partner"] > 10
    assert read_manifest(made["across"])["counts"][0]["dropped"].get("no-partner", 0) < lost
    (warning, *_) = warnings_of(DataSet.read(made["pairs"]))
    lone = read_manifest(made["pairs"])["tokens"]["text"]["yi"]
    assert f"1 document each of yi ({lone} tokens) is not in any row" in warning
    assert not any("1 document" in warning for warning in warnings_of(DataSet.read(made["across"])))


def test_the_manifest_counts_pairs_by_language_script_and_source(made: Made) -> None:
    for name in ("pairs", "across"):
        contents, rows = read_manifest(made[name]), read_rows(made[name])
        for fact, of in (("language", lambda kind: kind.split()[0]), ("source", lambda kind: "text")):
            expected: dict[str, Counter[str]] = defaultdict(Counter)
            for row in rows:
                a, b = (of(kind_of(row[f"{side}_document"])) for side in "ab")
                expected[a].update(pairs=1, not_next=row["next_sentence_label"], other=a != b)
            assert contents["pairings"][fact] == expected
        assert set(contents["pairings"]["script"]) >= {"Hans", "Hant", "Cyrl", "Latn"}


def test_pairs_within_a_source(build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    options = ("--pair-within", "source", "--provenance")
    root = build("make-pairs", tmp_path / "within", sample_corpus, "--vocab", sample_vocab, *options)
    sources = read_manifest(root)["pairings"]["source"]
    assert set(sources) == {"books", "wikipedia"}
    groups = {"books": 1, "wikipedia": 2}  # languages; an odd number of pairs in each is off by up to 3
    for source, entry in sources.items():
        assert entry["other"] == 0 and abs(2 * entry["not_next"] - entry["pairs"]) <= 3 * groups[source], source
    assert verify(root, workers=1).problems == []
    page = (root / "report.html").read_text()
    assert all(f"{fact} of A and B" in page for fact in ("language", "script", "source"))


def languages(**documents: int) -> CorpusManifest:
    """A manifest of a corpus with so many documents by language."""
    counts = {code: {"documents": n, "words": 1, "characters": 1} for code, n in documents.items()}
    source = {"documents": 1, "text_bytes": 1, "words": 1, "characters": 1, "share": 1.0, "languages": counts}
    return decode({**corpus_manifest([]), "sources": {"text": source}}, CorpusManifest)


def test_as_many_shards_as_leave_languages_together() -> None:
    config = PairsConfig()
    assert fill(languages(en=1600), config) == 100, "one language: as before"
    assert fill(languages(en=1600, de=1600), config) == 100, "each of two fills all shards"
    assert fill(languages(en=1600, de=16), config) == 100
    assert fill(languages(**{f"x{n:02}": 20 for n in range(40)}), config) == 20, "small ones meet two by two"
    assert fill(languages(en=1600, de=1600), PairsConfig(objective="documents")) == 200
    assert shard_count(config, 1 << 40, 10**9, 7) == 7


def test_small_groups_lie_in_a_ring_of_partitions(made: Made) -> None:
    source = read(made["corpus"])
    partners = Partners.of(PairsConfig()).spread(source, PairsConfig(), 8, 1)
    train, validation = partners.windows
    assert train["en", "Latn"] == (0, 8)
    small = [train[group] for group in (("zh", "Hans"), ("de", "Latn"), ("zh", "Hant"), ("sr", "Cyrl"))]
    assert [count for _, count in small] == [3, 2, 1, 1]
    load = Counter((start + step) % 8 for start, count in train.values() if count < 8 for step in range(count))
    assert max(load.values()) - min(load[partition] for partition in range(8)) <= 1
    assert set(validation.values()) == {(0, 1)}
    layout = Layout(1, 8, 0.0, partners)
    start, count = train["zh", "Hant"]
    partitions = {layout.of_documents([f"zh:{n}"], [DocumentOrigin("text", "zh-tw", "Hant")])[0] for n in range(50)}
    assert partitions == {(start + step) % 8 for step in range(count)}
    english = DocumentOrigin("text", "en", "Latn")
    assert {layout.of_documents([f"d{n}"], [english])[0] for n in range(200)} == set(range(8))
    assert all(
        layout.of_documents([f"d{n}"], [english])[0] == Layout(1, 8, 0.0).of_documents([f"d{n}"], [DocumentOrigin("", "")])[0]
        for n in range(50)
    )
