"""The transforms in somebody else's pipeline: documents of build-corpus, counters by reason, options that are checked."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to
from conftest import SAMPLE, read_manifest, read_rows

from bertdata.errors import NoInputError
from bertdata.pipelines.transforms import ExtractParagraphs, ReadWikipedia, SplitSentences
from bertdata.records import Prose


@pytest.mark.slow
def test_documents_are_those_of_build_corpus(sample_corpus: Path, tmp_path: Path) -> None:
    pipeline = beam.Pipeline(runner="FnApiRunner")
    (
        pipeline
        | ReadWikipedia(str(SAMPLE))
        | ExtractParagraphs()
        | SplitSentences()
        | beam.Map(lambda document: json.dumps(document._asdict()))
        | beam.io.WriteToText(str(tmp_path / "text"), ".jsonl")
    )
    result = pipeline.run()
    result.wait_until_finish()
    lines = [line for path in tmp_path.glob("text*") for line in path.read_text(encoding="utf-8").splitlines()]
    found = {document["id"]: document["sentences"] for document in map(json.loads, lines)}
    expected = {row["id"]: row["sentences"] for row in read_rows(sample_corpus) if row["source"] == "wikipedia"}
    assert found == expected
    counters = {counter.key.metric.name: counter.result for counter in result.metrics().query()["counters"]}
    dropped = Counter[str]()
    for stage in read_manifest(sample_corpus)["counts"]:
        dropped.update(stage["dropped"])
    assert dropped["redirect"] and counters["drops: redirect"] == dropped["redirect"]


@pytest.mark.slow
def test_prose_without_a_language_gets_one() -> None:
    prose = Prose("a", "text", "", "", "", ["Der Tee ist heiß, und das Wasser war nicht kalt. Er trank ihn erst am Abend."])
    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        documents = pipeline | beam.Create([prose]) | SplitSentences()
        assert_that(documents | beam.Map(lambda found: (found.language, len(found.sentences))), equal_to([("de", 2)]))


def test_wrong_options_and_paths_are_refused_while_the_pipeline_is_built(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="verze"):
        ReadWikipedia(str(SAMPLE), verze="keep")
    with pytest.raises(NoInputError):
        ReadWikipedia(str(tmp_path / "*.bz2"))
