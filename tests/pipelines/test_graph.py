"""The pipelines stay in the subset of Beam that every engine runs: one chain, no side inputs, every step labelled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.pipeline import PipelineVisitor
from apache_beam.transforms.display import DisplayData
from apache_beam.typehints.typehints import AnyTypeConstraint
from bertdata.chains import transforms
from bertdata.chains.build_corpus import BuildCorpus
from bertdata.chains.export import Export
from bertdata.chains.local import Stage
from bertdata.chains.make_pairs import MakePairs
from bertdata.chains.steps import GroupByKey, Step
from bertdata.chains.train_vocab import TrainVocab
from bertdata.chains.transforms import Gather, TaskRunner
from bertdata.pipelines.engines.on_beam import on_beam
from conftest import SAMPLE, Build

from bertdata.config import ChoiceConfig, CorpusConfig, ExportConfig, PairsConfig, VocabConfig
from bertdata.dataset import versions
from bertdata.dataset.tasks import TaskReport
from bertdata.errors import UsageError, VerificationError
from bertdata.exports.base import read as read_data_set
from bertdata.records import ReportReference, Task
from bertdata.stages import corpus_reader as corpus
from bertdata.stages.corpus.plan_tasks import plan
from bertdata.storage.files import is_local
from bertdata.tokens.read import read_any

PRIMITIVES = {"Impulse", "ParDo", "FlatMap", "Map", "GroupByKey", "CombinePerKey", "_GroupByKeyOnly", "CombineValues"}
FORBIDDEN = ("Reshuffle", "Read", "Write", "Flatten", "Window", "WithKeys", "AsSingletons", "Partition")


class Lint(PipelineVisitor):
    """Collect what breaks the rules."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.consumers: dict[Any, list[str]] = {}
        self.labels: list[str] = []
        self.types: dict[str, Any] = {}  # of what comes out of each step

    def enter_composite_transform(self, node: Any) -> None:
        self.look(node)

    def visit_transform(self, node: Any) -> None:
        self.look(node)
        kind = type(node.transform).__name__
        if kind not in PRIMITIVES:
            self.problems.append(f"{node.full_label}: the primitive {kind}")
        if node.transform.get_resource_hints() or node.resource_hints:
            self.problems.append(f"{node.full_label}: resource hints")
        if node.side_inputs:
            self.problems.append(f"{node.full_label}: a side input")
        if set(node.outputs) - {None}:
            self.problems.append(f"{node.full_label}: tagged outputs {sorted(map(str, node.outputs))}")
        for source in node.inputs:
            if isinstance(source, beam.PCollection):
                self.consumers.setdefault(source, []).append(node.full_label)
        for output in node.outputs.values():
            self.consumers.setdefault(output, [])
            self.types[node.full_label] = output.element_type
        if isinstance(node.transform, beam.ParDo):
            self.look_at_dofn(node)

    def look(self, node: Any) -> None:
        if node.transform is None or not node.full_label:
            return
        self.labels.append(node.full_label)
        outer, own = node.parent.transform if node.parent else None, node.full_label.rpartition("/")[2]
        if (outer is None or type(outer).__module__.startswith("bertdata")) and ("(" in own or own == "GroupByKey"):
            self.problems.append(f"{node.full_label}: no label")  # but the one that Beam makes up, such as ``Map(function)``
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


def chains(sample_corpus: Path, vocab: Path, tmp_path: Path) -> dict[str, Step]:
    source = corpus.read(sample_corpus)
    dumps = [(path.name, str(path)) for path in SAMPLE.glob("*multistream.xml.bz2")]
    roots = {length: tmp_path / str(length) for length in (128, 512)}
    choice = ChoiceConfig(dedup="near", dedup_paragraphs=True, mix="wikipedia=1", sample_documents=9)
    everything = CorpusConfig(choice=choice)
    exported, tasks = read_data_set(sample_corpus, "train")
    return {
        "build-corpus": BuildCorpus(plan(CorpusConfig(), {"wikipedia": dumps}), CorpusConfig(), tmp_path),
        "build-corpus choosing": BuildCorpus(plan(everything, {"wikipedia": dumps}), everything, tmp_path),
        "train-vocab": TrainVocab(source, VocabConfig(), tmp_path),
        "make-pairs": MakePairs(source, read_any(vocab), PairsConfig(shards=2), roots),
        "export": Export(tasks, exported, ExportConfig(), None, tmp_path),
    }


@pytest.mark.parametrize("name", ["build-corpus", "build-corpus choosing", "train-vocab", "make-pairs", "export"])
def test_graph(name: str, sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    pipeline = beam.Pipeline()
    chain = chains(sample_corpus, sample_vocab, tmp_path)[name]
    _ = pipeline | on_beam(chain)
    lint = Lint()
    pipeline.visit(lint)
    assert lint.problems == []
    assert len(set(lint.labels)) == len(lint.labels)
    assert [labels for labels in lint.consumers.values() if len(labels) > 1] == [], "one linear chain"
    assert sum(not labels for labels in lint.consumers.values()) == 1, "with one leaf"
    assert {label.partition("/")[0] for label in lint.labels} == {type(chain).__name__}
    assert [label for label, kind in lint.types.items() if isinstance(kind, AnyTypeConstraint)] == [], "all have a type hint"
    shown = {item.key: item.value for item in DisplayData.create_from(on_beam(chain)).items}
    assert shown["step"] == type(chain).__name__ and int(shown["tasks"]) > 0 and shown["output"].startswith(str(tmp_path))


def test_the_lint_sees_what_it_forbids() -> None:
    pipeline = beam.Pipeline()
    numbers = pipeline | "Numbers" >> beam.Create([1, 2, 3])
    total = numbers | "Total" >> beam.CombineGlobally(sum)
    _ = numbers | "Add" >> beam.Map(lambda x, y: x + y, beam.pvalue.AsSingleton(total))
    _ = (
        pipeline
        | "Names" >> beam.Create(["a"])
        | beam.Map(is_local)
        | "Hinted" >> beam.Map(str).with_resource_hints(min_ram="1GB")
    )
    lint = Lint()
    pipeline.visit(lint)
    told = "\n".join(lint.problems)
    assert "Reshuffle" in told
    assert "side input" in told
    assert "Map(is_local): no label" in told
    assert "Hinted: resource hints" in told
    assert [labels for labels in lint.consumers.values() if len(labels) > 1]


SEEN: list[Any] = []  # the elements that went through `note`
PLAIN = (str, int, bytes)
LARGEST = 100  # characters and bytes of an element


def note(element: Any) -> Any:
    SEEN.append(element[1] if isinstance(element, tuple) and isinstance(element[1], ReportReference) else element)
    return element


def strange(value: Any) -> set[str]:
    """Name the types in an element that are neither plain nor a tuple of plain ones; an int of NumPy's is no int."""
    if isinstance(value, tuple):
        return {name for part in value for name in strange(part)}
    if type(value) is int and abs(value) >= 1 << 63:
        return {"an int of over 63 bits"}
    return set() if type(value) in PLAIN else {type(value).__name__}


def length(value: Any) -> int:
    return sum(map(length, value)) if isinstance(value, tuple) else len(value) if isinstance(value, (str, bytes)) else 8


def paths(value: Any) -> list[str]:
    """Return the paths that an element names."""
    if isinstance(value, Task):
        return [part.path for part in value.parts]
    return [path for part in value for path in paths(part)] if isinstance(value, tuple) else []


@pytest.mark.parametrize("name", ["build-corpus", "build-corpus choosing", "train-vocab", "make-pairs"])
def test_what_crosses_between_stages_is_small_and_plain(
    name: str, build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Look at every element that a GroupByKey or the last Combine gets in a real run, all of whose names are relative."""
    do = Stage.__or__

    def watch(self: Stage, step: Step) -> Stage:
        return do(Stage(self._pool, map(note, self.results())) if isinstance(step, (GroupByKey, Gather)) else self, step)

    (tmp_path / "in").mkdir()
    for source, at in ((SAMPLE, "in/sample"), (sample_corpus, "in/corpus"), (sample_vocab, "in/vocab")):
        (tmp_path / at).symlink_to(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Stage, "__or__", watch)
    SEEN.clear()
    command, *options = RUNS[name]
    build(command, Path("out"), *options)
    reports = [element for element in SEEN if isinstance(element, ReportReference)]
    assert len(reports) >= 1 and len(SEEN) > len(reports)
    assert {found for element in SEEN for found in strange(element)} == set()
    assert all(Path(path).is_absolute() for element in SEEN for path in paths(element))
    assert max(map(length, SEEN)) < LARGEST


_BUILD = ("build-corpus", "--wikipedia", "in/sample/*multistream.xml.bz2", "--books", "in/sample/books", "--task-bytes", 1 << 16)
_PAIRS = ("make-pairs", "in/corpus", "--vocab", "in/vocab", "--shards", 2)
RUNS: dict[str, tuple[Any, ...]] = {
    "build-corpus": _BUILD,
    "build-corpus choosing": (*_BUILD, "--dedup", "near", "--dedup-paragraphs", "--sample-documents", 40),
    "train-vocab": ("train-vocab", "in/corpus", "--size", 2000),
    "make-pairs": _PAIRS,
}


def test_a_lost_report_is_an_error() -> None:
    """What an engine does twice is taken once; what it loses is no finished run."""
    reports = [ReportReference(2, "c", 0), ReportReference(0, "a", 0), ReportReference(1, "b", 0), ReportReference(0, "a", 0)]
    assert [report.step for report in transforms._in_order(reports, range(3))] == ["a", "b", "c"]
    with pytest.raises(VerificationError, match="the engine returned 3 of 4 reports"):
        transforms._in_order(reports, range(4))


def test_a_worker_with_other_packages_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would write other bytes; here its pyarrow says that it is version 1.0."""
    (tmp_path / ".bertdata").mkdir()
    (tmp_path / ".bertdata" / "run.json").write_text("{}")
    perform = TaskRunner(tmp_path, "extract", lambda *_: TaskReport(), TaskReport, ("pyarrow",))
    assert perform(Task(0, "text", ())).number == 0
    older = tmp_path / "site" / "pyarrow-1.0.dist-info"
    older.mkdir(parents=True)
    (older / "METADATA").write_text("Metadata-Version: 2.1\nName: pyarrow\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(older.parent)
    transforms._own_versions.cache_clear()
    try:
        with pytest.raises(
            UsageError,
            match=r"a worker on .* has pyarrow 1\.0, not .*\. Install the same versions on all hosts",
        ):
            perform(Task(1, "text", ()))
    finally:
        transforms._own_versions.cache_clear()


def test_a_worker_with_other_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every step, as a worker may get none of the first; here its clone has the same version number and another source."""
    (tmp_path / ".bertdata").mkdir()
    (tmp_path / ".bertdata" / "run.json").write_text("{}")
    perform, writing = TaskRunner(tmp_path, "extract", lambda *_: TaskReport(), TaskReport), transforms.GuardedCall(str, tmp_path)
    assert writing(1) == "1"
    monkeypatch.setattr(versions, "code_digest", lambda: "0f")
    transforms._own_versions.cache_clear()
    try:
        for step in (lambda: perform(Task(1, "text", ())), lambda: writing(1)):
            with pytest.raises(UsageError, match=r"a worker on .* has code 0f, not .*\. Install the same versions on all hosts"):
                step()
    finally:
        transforms._own_versions.cache_clear()
