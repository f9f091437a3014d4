"""The pipelines stay in the subset of Beam that every engine runs: one chain, no side inputs, every step labelled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.pipeline import PipelineVisitor
from bertdata.pipelines import corpus
from bertdata.pipelines.build_corpus import BuildCorpus, plan
from bertdata.pipelines.make_pairs import MakePairs, Output
from bertdata.pipelines.train_vocab import TrainVocab
from conftest import SAMPLE

from bertdata.config import ChoiceConfig, CorpusConfig, PairsConfig, VocabConfig
from bertdata.vocab import read

PRIMITIVES = {"Impulse", "ParDo", "FlatMap", "Map", "GroupByKey", "CombinePerKey", "_GroupByKeyOnly", "CombineValues"}
FORBIDDEN = ("Reshuffle", "Read", "Write", "Flatten", "Window", "WithKeys", "AsSingletons", "Partition")


class Lint(PipelineVisitor):
    """Collect what breaks the rules."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.consumers: dict[Any, list[str]] = {}
        self.labels: list[str] = []

    def enter_composite_transform(self, node: Any) -> None:
        self.look(node)

    def visit_transform(self, node: Any) -> None:
        self.look(node)
        kind = type(node.transform).__name__
        if kind not in PRIMITIVES:
            self.problems.append(f"{node.full_label}: the primitive {kind}")
        if node.side_inputs:
            self.problems.append(f"{node.full_label}: a side input")
        if set(node.outputs) - {None}:
            self.problems.append(f"{node.full_label}: tagged outputs {sorted(map(str, node.outputs))}")
        for source in node.inputs:
            if isinstance(source, beam.PCollection):
                self.consumers.setdefault(source, []).append(node.full_label)
        for output in node.outputs.values():
            self.consumers.setdefault(output, [])
        if isinstance(node.transform, beam.ParDo):
            self.look_at_dofn(node)

    def look(self, node: Any) -> None:
        if node.transform is None or not node.full_label:
            return
        self.labels.append(node.full_label)
        if type(node.transform).__name__.startswith(FORBIDDEN):
            self.problems.append(f"{node.full_label}: {type(node.transform).__name__}")

    def look_at_dofn(self, node: Any) -> None:
        signature = beam.runners.common.DoFnSignature(node.transform.fn)
        if signature.is_stateful_dofn() or signature.is_splittable_dofn():
            self.problems.append(f"{node.full_label}: state or a splittable DoFn")
        own = {
            name for kind in type(node.transform.fn).__mro__[:-1] if kind.__module__.startswith("bertdata") for name in vars(kind)
        }
        if own & {"start_bundle", "finish_bundle", "setup", "teardown"}:
            self.problems.append(f"{node.full_label}: {own & {'start_bundle', 'finish_bundle', 'setup', 'teardown'}}")


def chains(sample_corpus: Path, vocab: Path, tmp_path: Path) -> dict[str, beam.PTransform]:
    source = corpus.read(sample_corpus)
    dumps = [(path.name, str(path)) for path in SAMPLE.glob("*multistream.xml.bz2")]
    outputs = [Output(str(tmp_path / str(length)), PairsConfig(max_seq_length=length)) for length in (128, 512)]
    choice = ChoiceConfig(dedup="near", dedup_paragraphs=True, mix="wikipedia=1", sample_documents=9)
    everything = CorpusConfig(choice=choice)
    return {
        "build-corpus": BuildCorpus(plan(CorpusConfig(), {"wikipedia": dumps}), CorpusConfig(), tmp_path),
        "build-corpus choosing": BuildCorpus(plan(everything, {"wikipedia": dumps}), everything, tmp_path),
        "train-vocab": TrainVocab(source, VocabConfig(), tmp_path),
        "make-pairs": MakePairs(source, read(vocab), outputs, 2),
        "make-pairs by engine": MakePairs(source, read(vocab), outputs, 2, "engine"),
    }


@pytest.mark.parametrize("name", ["build-corpus", "build-corpus choosing", "train-vocab", "make-pairs", "make-pairs by engine"])
def test_graph(name: str, sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    pipeline = beam.Pipeline()
    _ = pipeline | name >> chains(sample_corpus, sample_vocab, tmp_path)[name]
    lint = Lint()
    pipeline.visit(lint)
    assert lint.problems == []
    assert len(set(lint.labels)) == len(lint.labels)
    assert [labels for labels in lint.consumers.values() if len(labels) > 1] == [], "one linear chain"
    assert sum(not labels for labels in lint.consumers.values()) == 1, "with one leaf"


def test_the_lint_sees_what_it_forbids() -> None:
    pipeline = beam.Pipeline()
    numbers = pipeline | "Numbers" >> beam.Create([1, 2, 3])
    total = numbers | "Total" >> beam.CombineGlobally(sum)
    _ = numbers | "Add" >> beam.Map(lambda x, y: x + y, beam.pvalue.AsSingleton(total))
    lint = Lint()
    pipeline.visit(lint)
    told = "\n".join(lint.problems)
    assert "Reshuffle" in told
    assert "side input" in told
    assert [labels for labels in lint.consumers.values() if len(labels) > 1]


def test_elements_are_small_and_plain(sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    """What crosses a stage boundary is made of str, int and bytes, and does not grow with the text."""
    source = corpus.read(sample_corpus)
    for task in source.tasks:
        assert all(isinstance(value, (str, int)) for value in task)
        assert sum(len(value) for value in task if isinstance(value, str)) < 1000
