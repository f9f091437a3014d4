"""Describe what became of one document: what `bertdata.trace` returns, and pages and terminals show."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Change", "TracedRow", "TracedStep", "Trace"]


class Change(NamedTuple):
    """Lines that a step changed: what they were, and what it left of them."""

    before: str
    after: str


class TracedStep(NamedTuple):
    """What a step did to a page: its name, the characters it took away, and the lines it changed."""

    name: str
    removed: int
    changes: list[Change]


class TracedRow(NamedTuple):
    """A row that holds a sentence of the document: its number in the data set, and its columns."""

    number: int
    columns: dict[str, Any]


class Trace(NamedTuple):
    """What became of a document.

    fate: lines that say where it is, or why it is not in the corpus.  wikitext, steps, lost: of a page whose dump was given, its
    source, what each step removed, and the templates that gave no words, with how often.  dump: the file of that wikitext.
    paragraphs: its sentences.  pieces: those of each sentence, where a vocabulary is known, and `mark` what marks where words
    begin.  rows: those it is in.
    """

    id: str
    title: str
    language: str
    fate: list[str]
    wikitext: str
    steps: list[TracedStep]
    lost: list[tuple[str, int]]
    paragraphs: list[list[str]]
    pieces: list[list[str]]
    rows: list[TracedRow]
    mark: str = "##"
    dump: str = ""
