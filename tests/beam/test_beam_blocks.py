"""The building blocks of `bertdata.beam` in somebody else's pipeline: counts, reasons, rows, counters, same bytes."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import bertdata.beam
import pytest
from apache_beam import coders
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.display import DisplayData
from bertdata.beam import (
    Article,
    Document,
    ExtractParagraphs,
    ReadBooks,
    ReadText,
    ReadWikipedia,
    SkippedRecord,
    SplitSentences,
    WriteDocuments,
)
from conftest import SAMPLE, read_manifest, read_rows
from template_dump import page

from bertdata.config import FilterConfig
from bertdata.errors import EmptyResultError, OutputExistsError, UsageError
from bertdata.storage.files import to_path

TEA = Document("tea:1", "text", "en", "Tea", "", ["The kettle sings.", "Tea is ready."], [0, 1])


def pipeline(workers: int = 1) -> beam.Pipeline:
    return beam.Pipeline(runner="FnApiRunner", options=PipelineOptions([f"--direct_num_workers={workers}"]))


def write(path: Path, documents: list[Document], skipped: dict[str, list[SkippedRecord]] | None = None, **options: Any) -> Any:
    """Write documents, drops and rejects; return the manifest."""
    with pipeline() as p:
        given = {"documents": p | "Documents" >> beam.Create(documents)}
        given |= {name: p | name >> beam.Create(records) for name, records in (skipped or {}).items()}
        given | WriteDocuments(path, **options)
    return read_manifest(path)


def build(path: Path, workers: int = 1, **options: Any) -> dict[str, int]:
    """Build a corpus of the sample; return the counters by step and name."""
    p = pipeline(workers)
    pages = p | ReadWikipedia(SAMPLE, **options) | ExtractParagraphs() | "Split pages" >> SplitSentences()
    books = p | ReadBooks(SAMPLE / "books") | "Split books" >> SplitSentences()
    both = {name: (pages[name], books[name]) | f"All {name}" >> beam.Flatten() for name in pages}
    both | WriteDocuments(path, shards=2, **options)
    result = p.run()
    result.wait_until_finish()
    return {f"{c.key.step} {c.key.metric.name}": c.result for c in result.metrics().query()["counters"]}


@pytest.mark.slow
def test_the_corpus_has_the_documents_of_build_corpus(tmp_path: Path, sample_corpus: Path) -> None:
    counters = build(tmp_path / "corpus")
    ours, theirs = read_manifest(tmp_path / "corpus"), read_manifest(sample_corpus)
    assert ours["counts"] == theirs["counts"]
    for source, entry in theirs["sources"].items():
        for name in ("apparatus", "dropped_marks"):  # the blocks do not count text that is dropped within a document
            entry.pop(name, None)
        assert ours["sources"][source] == entry
    assert [[i["name"], i["bytes"]] for i in ours["inputs"]] == [[i["name"], i["bytes"]] for i in theirs["inputs"]]
    assert sorted(map(str, read_rows(tmp_path / "corpus"))) == sorted(map(str, read_rows(sample_corpus)))
    assert bertdata.verify(tmp_path / "corpus").problems == []
    dropped = ours["counts"][0]["dropped"]
    assert {name: counters[f"ReadWikipedia/Read drops: {name}"] for name in dropped} == dropped
    assert counters["WriteDocuments/Write shard documents"] == ours["rows"]
    corpus = bertdata.DataSet.read(tmp_path / "corpus")
    vocab = bertdata.train_vocab(corpus.path, output=tmp_path / "vocab", config=bertdata.VocabConfig(size=2000), workers=1)
    assert bertdata.make_pairs(corpus.path, vocab=vocab.path, output=tmp_path / "pairs", workers=1)[0].rows


@pytest.mark.long
def test_any_number_of_workers_and_any_ranges_give_the_same_bytes(tmp_path: Path) -> None:
    build(tmp_path / "one")
    build(tmp_path / "three", workers=3, task_bytes=1 << 16)
    one, three = (read_manifest(tmp_path / name) for name in ("one", "three"))
    assert one["shards"] == three["shards"] and len(one["shards"]) == 4


def test_records_are_counted_and_listed_by_reason(tmp_path: Path) -> None:
    broken = [TEA._replace(id="tea:2", sentences=[]), TEA._replace(id="tea:3", paragraph_starts=[1])]
    drops = [SkippedRecord("text", "namespace")] * 3 + [SkippedRecord("text", "too short", "tea:9", "1 word")]
    rejects = [SkippedRecord("text", "undecodable", "tea:8", "a.txt")]
    documents = [TEA, TEA._replace(as_of=5, title="Newer"), *broken]
    found = write(tmp_path / "c", documents, {"drops": drops, "rejects": rejects}, shards=3, max_rejects=0.5)
    (stage,) = found["counts"]
    assert stage["dropped"] == {"namespace": 3, "repeated id": 1, "too short": 1}
    assert stage["rejected"] == {"no-document": 2, "undecodable": 1}
    assert (stage["in"], stage["out"], found["rows"]) == (9, 1, 1)
    assert [row["title"] for row in read_rows(tmp_path / "c")] == ["Newer"]
    lines = [json.loads(line) for path in (tmp_path / "c" / "dropped").iterdir() for line in path.read_text().splitlines()]
    assert {line["id"]: line["detail"] for line in lines} == {"tea:1": "", "tea:9": "1 word"}
    assert bertdata.verify(tmp_path / "c").problems == []


@pytest.mark.parametrize("store", [False, True])
def test_a_failed_run_leaves_no_dataset_and_does_not_stop_the_next(tmp_path: Path, store: bool) -> None:
    path = to_path(f"memory://{tmp_path.name}/c" if store else str(tmp_path / "c"))
    with pytest.raises(UsageError, match="use one of wikipedia, wikibooks, .*, books, text"):
        write(path, [TEA._replace(source="mine")])
    assert not (path / "manifest.json").exists()
    assert write(path, [TEA])["rows"] == 1
    with pytest.raises(OutputExistsError, match="overwrite"):
        write(path, [TEA])
    assert write(path, [TEA, TEA._replace(id="tea:2")], overwrite=True)["rows"] == 2


def test_an_empty_corpus_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EmptyResultError, match="none of 0 records"):
        write(tmp_path / "c", [])


def test_own_wikitext_goes_through_rows_with_a_schema() -> None:
    with pipeline() as p:
        article = Article("mine:1", "en", "Tea", "", "'''Tea''' is [[hot]]. It is a drink.\n\nIt is green.", {})
        split = p | beam.Create([article]) | ExtractParagraphs() | SplitSentences()
        assert split["documents"].element_type == Document and split["drops"].element_type == SkippedRecord
        texts = split["documents"] | beam.Map(lambda row: (row.id, row.sentences, row.paragraph_starts))
        assert_that(texts, equal_to([("mine:1", ["Tea is hot.", "It is a drink.", "It is green."], [0, 2])]))
    coder = coders.registry.get_coder(Document)
    assert isinstance(coder, coders.RowCoder) and coder.decode(coder.encode(TEA)) == TEA


def test_pages_of_a_sister_project_keep_its_name(tmp_path: Path) -> None:
    head = "<mediawiki xml:lang='en'><siteinfo><base>https://en.wikivoyage.org/wiki/Main_Page</base></siteinfo>\n"
    pages = page(1, "Harbour", "The ferry leaves at eight.") + page(2, "Quay", "#REDIRECT [[Harbour]]")
    (tmp_path / "dump.xml").write_text(f"{head}{pages}</mediawiki>", "utf-8")
    with pipeline() as p:
        p | ReadWikipedia(tmp_path / "dump.xml") | ExtractParagraphs() | SplitSentences() | WriteDocuments(tmp_path / "corpus")
    (row,), found = read_rows(tmp_path / "corpus"), read_manifest(tmp_path / "corpus")
    assert (row["source"], row["title"]) == ("wikivoyage", "Harbour")
    assert [(stage["stage"], stage["in"], stage["out"]) for stage in found["counts"]] == [("wikivoyage pages", 2, 1)]
    assert [entry["source"] for entry in found["inputs"]] == ["wikivoyage"]
    assert bertdata.verify(tmp_path / "corpus").problems == []


def test_text_without_a_language_gets_the_detected_one(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("The tea is hot and nobody drinks it.\n茶树原产于中国。\n123\n", "utf-8")
    with pipeline() as p:
        prose = p | ReadText(tmp_path / "lines.txt", text_documents="lines", text_lines=1)
        languages = prose["documents"] | beam.Map(lambda row: row.language)
        assert_that(languages, equal_to(["en", "zh", "und"]))


def test_options_are_checked_and_shown() -> None:
    with pytest.raises((UsageError, TypeError)):
        ReadWikipedia("dumps", verze="keep")
    for options in ({"filters": FilterConfig(min_letters=0.9)}, {"learn_templates": True}, {"max_documents": 5}):
        for block in (SplitSentences, partial(WriteDocuments, "c")):
            with pytest.raises(UsageError, match="no block uses"):
                block(**options)
    shown = {item.key: item.value for item in DisplayData.create_from(ReadBooks("books", verse="keep")).items}
    assert shown == {"paths": "books", "verse": "keep"}
    assert {item.key for item in DisplayData.create_from(WriteDocuments("c")).items} == {"path", "shards", "format", "overwrite"}
    with pipeline() as p, pytest.raises(beam.typehints.decorators.TypeCheckError):
        p | beam.Create(["a string"]) | SplitSentences()


def test_the_provider_lists_every_transform() -> None:
    text = (Path(bertdata.beam.__file__).parent / "providers.yaml").read_text(encoding="utf-8")
    names = [name for name in bertdata.beam.__all__ if issubclass(getattr(bertdata.beam, name), beam.PTransform)]
    listed = {line.strip() for line in text.splitlines() if "bertdata.beam." in line}
    assert listed == {f"{name}: bertdata.beam.{name}" for name in names}
