"""The building blocks of `bertdata.beam` make the same bytes on a Dask cluster as in one process."""

from __future__ import annotations

from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from bertdata.beam import ExtractParagraphs, ReadWikipedia, SplitSentences, WriteDocuments
from clusters import dask_cluster
from conftest import SAMPLE, read_manifest

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'apache-beam[dask]'")
pytestmark = pytest.mark.nightly


def build(output: Path, *options: str) -> None:
    with beam.Pipeline(options=PipelineOptions([*options])) as pipeline:
        documents = pipeline | ReadWikipedia(SAMPLE, task_bytes=1 << 16) | ExtractParagraphs() | SplitSentences()
        documents | WriteDocuments(output, shards=3, task_bytes=1 << 16)


def test_same_bytes(tmp_path: Path) -> None:
    with dask_cluster(tmp_path) as cluster:
        build(tmp_path / "dask", *cluster.options)
    build(tmp_path / "here", "--runner=FnApiRunner")
    assert read_manifest(tmp_path / "dask") == read_manifest(tmp_path / "here")
