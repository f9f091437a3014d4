"""Cut dumps, books and other text into tasks of about equal size, and plan the checks that files beside them allow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from bertdata import sentences
from bertdata.choosing import minhash
from bertdata.config import CorpusConfig
from bertdata.errors import NoInputError
from bertdata.files import place
from bertdata.records import Piece, Task, pack
from bertdata.sources import books, dumps, text
from bertdata.sources.dumps import checksums, multistream
from bertdata.sources.tables import Columns
from bertdata.storage import storage_errors
from bertdata.wikitext import load_templates

from . import documents, trial

__all__ = ["CHECKSUM", "INDEX", "Plan", "packages", "plan"]

CHECKSUM, INDEX = "checksum", "index"  # kinds of the tasks that check a file; what it should be follows ``checksum``
_FEW, _MANY = 64, 40_000  # tasks that an input gives at least, if each then has _LEAST bytes, and at the most
_LEAST, _MEANT = 2 << 20, 16 << 20  # bytes of a task: of small inputs, and of all but the largest
_LICENCES = {"wikipedia": "CC BY-SA, as the wiki states", "books": "as each book states", "text": "as its owner states"}


class Plan(NamedTuple):
    """What a run will do: its tasks in order, those that check files last, and its input files."""

    tasks: list[Task]
    inputs: list[dict[str, Any]]

    @property
    def shards(self) -> int:
        """How many of the tasks write a shard."""
        return sum(task.kind in documents.STAGES for task in self.tasks)


def plan(config: CorpusConfig, sources: dict[str, list[tuple[str, str]]]) -> Plan:
    """Cut the input files, (name, path) by kind, into tasks of about `task_bytes`; the order given does not matter."""
    target = config.task_bytes or _target(sources)
    groups: list[tuple[str, list[Piece]]] = []
    checks: list[tuple[str, list[Piece]]] = []
    inputs: list[dict[str, Any]] = []
    for kind in ("wikipedia", "books", "text"):
        files = sorted(sources.get(kind, []))
        pieces = [_pieces(kind, name, path, target, config) for name, path in files]
        inputs += [_describe(kind, file, config) for file in pieces]
        if kind == "wikipedia":
            groups += [(kind, [piece]) for file in pieces for piece in file]
            for entry, (name, path) in zip(inputs, files, strict=True):
                checks += _checks(entry, name, path)
        else:
            groups += [(kind, group) for group in _group(chain.from_iterable(pieces), target)]
    if not inputs:
        raise NoInputError("nothing to read: give --wikipedia, --books or --text")
    config.choice.check(dict.fromkeys(kind for kind, _ in groups))
    if config.max_documents:
        groups, checks = trial.limit(groups, config.max_documents), []  # a trial does not read whole files to check them
    return Plan([Task(index, kind, pack(pieces)) for index, (kind, pieces) in enumerate(groups + checks)], inputs)


def packages(config: CorpusConfig) -> tuple[str, ...]:
    """Name the packages, beside those that every run has, that documents depend on."""
    return (*sentences.packages(config.sentence_splitter), *minhash.packages(config.choice.dedup))


def _target(sources: dict[str, list[tuple[str, str]]]) -> int:
    """Return how many bytes a task has: so few that workers end at about the same time, so many that few files are made."""
    total = 0
    for kind, files in sources.items():
        for _, path in files:
            with storage_errors(f"cannot read {path}"):
                total += place(path).stat().st_size // (4 if kind == "wikipedia" and path.lower().endswith(".xml") else 1)
    return max(min(max(total // _FEW, _LEAST), _MEANT), total // _MANY)


def _pieces(kind: str, name: str, path: str, target: int, config: CorpusConfig) -> list[Piece]:
    with storage_errors(f"cannot read {path}"):
        size = place(path).stat().st_size
        if kind == "wikipedia":
            site = dumps.read_site(path)  # refuses what is no dump before anything runs
            load_templates(site.language, dict(config.templates))  # and what is no table of templates
            ranges = dumps.split(path, target)
        else:
            columns = Columns(config.text_column, config.title_column, config.id_column)
            if kind == "books":
                ranges = books.split(path, size, target, columns)
            else:
                ranges = text.split(path, size, target, columns, config.text_documents)
    return [Piece(name, path, start, end) for start, end in ranges or [(0, 0)]]


def _describe(kind: str, pieces: list[Piece], config: CorpusConfig) -> dict[str, Any]:
    date = re.search(r"(?<!\d)((?:19|20)\d{6})(?!\d)", pieces[0].name)
    entry = {"name": pieces[0].name, "source": kind, "bytes": pieces[-1].end, "pieces": len(pieces), "licence": _LICENCES[kind]}
    if kind == "wikipedia":
        entry["cut"] = dumps.how_cut(pieces[0].path, [piece.start for piece in pieces])
    if kind == "books" and books.is_sentence_lines(pieces[0].name):
        entry["documents"] = f"of {config.book_sentences} lines each, which may be of two books: the file has no borders"
    return {**entry, "date": date.group(1)} if date else entry


def _checks(entry: dict[str, Any], name: str, path: str) -> Iterator[tuple[str, list[Piece]]]:
    """Plan to hash a dump whose checksum is published beside it, and to count the pages of its index; note both in its entry.

    A task of its own hashes the file whole, while others extract: its pieces, which are hashed as they are read, cannot tell.
    """
    with storage_errors(f"cannot read what lies beside {path}"):
        whole = Piece(name, path, 0, entry["bytes"])
        if checksum := checksums.published(path):
            entry["checksum"] = checksum
            yield f"{CHECKSUM} {checksum}", [whole]
        if index := multistream.find_index(path):
            entry["index"] = place(index).name
            yield INDEX, [Piece(f"{name} {entry['index']}", index, 0, place(index).stat().st_size), whole]


def _group(pieces: Iterable[Piece], target: int) -> Iterator[list[Piece]]:
    """Put small files together."""
    group: list[Piece] = []
    size = 0
    for piece in pieces:
        if group and size + piece.end - piece.start > target:
            yield group
            group, size = [], 0
        group.append(piece)
        size += piece.end - piece.start
    if group:
        yield group
