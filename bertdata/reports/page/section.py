"""Define the common parts of a report: a section of the page, and the dataset it describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from ...dataset.manifest_types import CorpusManifest, Manifest, PairsManifest
from ...dataset.timings import read
from ...storage.files import is_local
from ...tokens.read import read_any
from ...tokens.vocab import AnyVocabulary
from ..summary import count
from .markup import Column, Html, bar, join, number, table, tag

__all__ = ["Section", "Subject", "counted", "figures", "timings"]


M = TypeVar("M", bound=Manifest)


class Section(NamedTuple):
    """A section of the page: its short name, its title and its contents."""

    name: str
    title: str
    body: Html


@dataclass(frozen=True)
class Subject(Generic[M]):
    """A dataset in a report: its path, its manifest, and its name on the page."""

    directory: Path
    manifest: M
    name: str = ""

    @cached_property
    def vocabulary(self) -> AnyVocabulary:
        """The vocabulary in the dataset's directory."""
        return read_any(self.directory)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages of its documents, in order of their codes."""
        manifest, tokens = self.manifest, dict[str, dict[str, int]]()
        sources = manifest.sources if isinstance(manifest, CorpusManifest) else {}
        if isinstance(manifest, PairsManifest):
            sources, tokens = manifest.corpus.sources if manifest.corpus else {}, manifest.tokens or {}
        of_documents = {code for source in sources.values() for code in source.languages or {}}
        return tuple(sorted(of_documents.union(*tokens.values()) - {""}))


def figures(known: Sequence[tuple[str, str]]) -> Html:
    """Return a few figures in large type, each with its meaning."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value), class_="tile") for name, value in known), class_="tiles")


def counted(caption: str, what: str, counts: Sequence[tuple[object, float]], unit: str = "Number") -> Html:
    """Return a table of names and counts, with bars as long as the share of the largest."""
    most = max((count for _, count in counts), default=1) or 1
    rows = [(name, number(count), bar(count / most)) for name, count in counts]
    return table(caption, (Column(what), Column(unit, numbers=True), Column("")), rows)


def timings(directory: Path) -> Section | None:
    """Return the time of each stage of a run, if recorded. It is not part of a dataset's bytes."""
    recorded = read(directory) if is_local(directory) else {}
    stages = recorded.get("stages")
    if not isinstance(stages, list):
        return None
    known = [
        (str(each.get("name")), _seconds(each.get("wall_s")), _seconds(each.get("cpu_s")))
        for each in stages
        if isinstance(each, dict)
    ]
    most = max((wall for _, wall, _ in known), default=0.0) or 1.0
    rows = [(name, number(round(wall, 1)), number(round(cpu, 1)), bar(wall / most)) for name, wall, cpu in known]
    columns = (Column("Stage"), Column("Seconds", numbers=True), Column("Of processors", numbers=True), Column(""))
    memory, workers = _seconds(recorded.get("peak_memory_bytes")), recorded.get("workers")
    note = [count(workers, "worker")] if isinstance(workers, int) else []
    note += [f"at most {memory / 1e6:,.0f} MB of memory"] if memory else []
    note += [f"begun {recorded['started']}"] if recorded.get("started") else []
    return Section("time", "Time", join(tag("p", ", ".join(note), class_="faint"), table("", columns, rows)))


def _seconds(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
