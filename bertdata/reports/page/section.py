"""Define the common parts of a report: a section of the page, and the dataset it describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from ...dataset.manifest_types import CorpusManifest, Manifest, PairsManifest
from ...tokens.read import read_any
from ...tokens.vocab import Vocabulary
from .markup import Column, Html, bar, number, table, tag

__all__ = ["Section", "Subject", "counted", "figures"]


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
    def vocabulary(self) -> Vocabulary:
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
