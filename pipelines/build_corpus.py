"""Dumps, books and other text to documents: plan tasks, extract each into a shard, commit the manifest."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam

from bertdata import manifest, shards
from bertdata.config import CorpusConfig
from bertdata.errors import EmptyResultError, NoInputError, TooManyRejectsError
from bertdata.files import digest, storage_errors, write_json, write_text
from bertdata.manifest import Tally
from bertdata.records import Document, Drop, Piece, Reject, Task, pack, unpack
from bertdata.report import card
from bertdata.sentences import split_sentences
from bertdata.sources import books, language, text, wikipedia
from bertdata.wikitext import extract_paragraphs, is_disambiguation, is_redirect

from .transforms import Gather, Perform, Tasks

__all__ = ["BuildCorpus", "Plan", "plan"]

BATCH_BYTES = 4 << 20  # text in one record batch; it is in memory until the batch is written
_LICENCES = {"wikipedia": "CC BY-SA, as the wiki states", "books": "as each book states", "text": "as its owner states"}


class Plan(NamedTuple):
    """What a run will do: its tasks in order, and its input files."""

    tasks: list[Task]
    inputs: list[dict[str, Any]]


class BuildCorpus(beam.PTransform):
    """Tasks -> a shard of documents each -> one manifest."""

    def __init__(self, plan: Plan, config: CorpusConfig, root: Path) -> None:
        super().__init__()
        self._plan, self._config, self._root = plan, config, root

    def expand(self, begin: beam.pvalue.PBegin) -> beam.PCollection:
        work = Extract(str(self._root), self._config, len(self._plan.tasks))
        return (
            begin
            | "Tasks" >> Tasks(self._plan.tasks)
            | "Extract" >> beam.ParDo(Perform(self._root, "extract", work))
            | "Commit" >> Gather(Commit(str(self._root), self._config, self._plan.inputs))
        )


def plan(config: CorpusConfig, sources: dict[str, list[tuple[str, str]]]) -> Plan:
    """Cut the input files, (name, path) by kind, into tasks of about `task_bytes`; the order given does not matter."""
    groups: list[tuple[str, list[Piece]]] = []
    inputs: list[dict[str, Any]] = []
    for kind in ("wikipedia", "books", "text"):
        files = sorted(sources.get(kind, []))
        pieces = [_pieces(kind, name, path, config.task_bytes) for name, path in files]
        inputs += [_describe(kind, file) for file in pieces if file]
        if kind == "wikipedia":
            groups += [(kind, [piece]) for file in pieces for piece in file]
        else:
            groups += [(kind, group) for group in _group(chain.from_iterable(pieces), config.task_bytes)]
    if not inputs:
        raise NoInputError("nothing to read: give --wikipedia, --books or --text")
    return Plan([Task(index, kind, pack(pieces)) for index, (kind, pieces) in enumerate(groups)], inputs)


def _pieces(kind: str, name: str, path: str, target: int) -> list[Piece]:
    with storage_errors(f"cannot read {path}"):
        size = Path(path).stat().st_size
        if kind == "wikipedia":
            wikipedia.read_site(path)  # refuses what is no dump before anything runs
            ranges = wikipedia.split(path, target)
        elif path.endswith(".jsonl"):
            ranges = text.split_lines(path, size, target)
        else:
            ranges = [(0, size)]
    return [Piece(name, path, start, end) for start, end in ranges or [(0, 0)]]


def _describe(kind: str, pieces: list[Piece]) -> dict[str, Any]:
    date = re.search(r"(?<!\d)((?:19|20)\d{6})(?!\d)", pieces[0].name)
    entry = {"name": pieces[0].name, "source": kind, "bytes": pieces[-1].end, "pieces": len(pieces), "licence": _LICENCES[kind]}
    return {**entry, "date": date.group(1)} if date else entry


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


@dataclass(frozen=True)
class Extract:
    """Turn a task's input into a shard of documents and a list of rejects."""

    root: str
    config: CorpusConfig
    count: int

    def __call__(self, task: Task) -> dict[str, Any]:
        tally = Tally(_STAGES[task.kind])
        rejects: list[dict[str, str]] = []
        text_bytes = [0]
        pieces = unpack(task.pieces)
        name = shards.name("train", task.number, self.count, self.config.format)
        with storage_errors("cannot read the input"):
            inputs = [{**piece._asdict(), "sha256": digest(Path(piece.path), piece.start, piece.end)} for piece in pieces]
            batches = self._batches(task.kind, pieces, tally, rejects, text_bytes)
            shard = shards.write(Path(self.root), name, shards.DOCUMENT, batches, self.config.format)
        files = [{**shard, "text_bytes": text_bytes[0]}]
        if rejects:
            files.append(_write_rejects(Path(self.root), f"rejects/{task.number:05d}-of-{self.count:05d}.jsonl", rejects))
        return {"kind": task.kind, "files": files, "inputs": inputs, "tally": tally.to_json()}

    def _batches(
        self, kind: str, pieces: list[Piece], tally: Tally, rejects: list[dict[str, str]], text_bytes: list[int]
    ) -> Iterator[Any]:
        batch = shards.DocumentBatch()
        for record in _READERS[kind](pieces, self.config):
            tally.entered += 1
            if isinstance(record, Document):
                tally.left += 1
                batch.add(record)
                if batch.bytes >= BATCH_BYTES:
                    text_bytes[0] += batch.bytes
                    yield batch.take()
            elif isinstance(record, Drop):
                tally.dropped[record.reason] += 1
            else:
                tally.rejected[record.reason] += 1
                rejects.append(record._asdict())
        text_bytes[0] += batch.bytes
        if batch.rows or not text_bytes[0]:
            yield batch.take()


def _write_rejects(root: Path, name: str, rejects: list[dict[str, str]]) -> dict[str, Any]:
    lines = "".join(json.dumps(reject, ensure_ascii=False) + "\n" for reject in rejects)
    write_text(root / name, lines)
    return {"name": name, "rows": len(rejects), "bytes": len(lines.encode()), "sha256": digest(root / name)}


Record = Document | Drop | Reject


def _wikipedia_documents(pieces: list[Piece], config: CorpusConfig) -> Iterator[Record]:
    """Pages to documents: main namespace, wikitext, no redirects, prose only."""
    for piece in pieces:
        site = wikipedia.read_site(piece.path)
        for page in wikipedia.read_pages(piece, site, config.max_page_bytes):
            if isinstance(page, Reject):
                yield page
            elif page.namespace != 0:
                yield Drop("namespace")
            elif page.model != "wikitext":
                yield Drop("content model")
            elif page.redirect or is_redirect(page.text, site.language):
                yield Drop("redirect")
            elif not page.text.strip():
                yield Drop("empty page")
            elif config.drop_disambiguation and is_disambiguation(page.text, site.language):
                yield Drop("disambiguation")
            else:
                try:
                    paragraphs = extract_paragraphs(
                        page.text,
                        title=page.title,
                        language=site.language,
                        namespaces=site.namespaces,
                        definition_lists=config.definition_lists,
                        variant=config.variant,
                    )
                except Exception as error:  # a page must never end a run; it is named, and the rest goes on
                    yield Reject(page.id, "extraction-failed", f"{type(error).__name__}: {error} in {piece.name}")
                    continue
                yield _document(
                    page.id, "wikipedia", config.language or site.language, page.title, site.url(page.title), paragraphs
                )


def _book_documents(pieces: list[Piece], config: CorpusConfig) -> Iterator[Record]:
    for book in books.read_books(pieces, max_bytes=config.max_page_bytes):
        if isinstance(book, Reject):
            yield book
        else:
            yield _document(book.id, "books", config.language or book.language, book.title, "", book.paragraphs)


def _text_documents(pieces: list[Piece], config: CorpusConfig) -> Iterator[Record]:
    for item in text.read_text(
        pieces,
        text_column=config.text_column,
        id_column=config.id_column or None,
        title_column=config.title_column,
        max_bytes=config.max_page_bytes,
    ):
        if isinstance(item, Reject):
            yield item
        else:
            yield _document(item.id, "text", config.language or item.language, item.title, item.url, item.paragraphs)


_READERS = {"wikipedia": _wikipedia_documents, "books": _book_documents, "text": _text_documents}
_STAGES = {"wikipedia": "wikipedia pages", "books": "books", "text": "texts"}


def _document(id: str, source: str, tongue: str, title: str, url: str, paragraphs: list[str]) -> Document | Drop:
    """Split paragraphs into sentences."""
    tongue = tongue or language.guess("".join(paragraphs[:50]))
    sentences: list[str] = []
    starts: list[int] = []
    for paragraph in paragraphs:
        if found := split_sentences(paragraph, tongue):
            starts.append(len(sentences))
            sentences += found
    return Document(id, source, tongue, title, url, sentences, starts) if sentences else Drop("no prose")


@dataclass(frozen=True)
class Commit:
    """Check that the counts add up, and write the data card and, last, the manifest."""

    root: str
    config: CorpusConfig
    inputs: list[dict[str, Any]]

    def roots(self) -> list[Path]:
        """Return the directory of the corpus."""
        return [Path(self.root)]

    def __call__(self, reports: list[dict[str, Any]]) -> None:
        root = Path(self.root)
        tallies = {stage: Tally(stage) for stage in _STAGES.values()}
        for report in reports:
            tally = Tally.from_json(report["tally"])
            tallies[tally.stage].merge(tally)
        counted = [tally for tally in tallies.values() if tally.entered]
        self._check_share(counted)
        files = [file for report in reports for file in report["files"]]
        made = manifest.make(
            "documents",
            config=self.config.identity(),
            inputs=[{**entry, "sha256": _input_digest(entry, reports)} for entry in self.inputs],
            shards=[file for file in files if file["name"].startswith("data/")],
            tallies=counted,
            rejects=[file for file in files if file["name"].startswith("rejects/")],
        )
        manifest.check_rows(made, sum(tally.left for tally in counted))
        write_text(root / "README.md", card.write(made))
        write_json(root / manifest.NAME, made)

    def _check_share(self, tallies: list[Tally]) -> None:
        entered, left = sum(tally.entered for tally in tallies), sum(tally.left for tally in tallies)
        rejected = sum(sum(tally.rejected.values()) for tally in tallies)
        reasons = _most(tally.rejected for tally in tallies)
        if rejected > self.config.max_rejects * entered:
            raise TooManyRejectsError(
                f"{rejected} of {entered} records were rejected ({reasons}), more than --max-rejects {self.config.max_rejects} "
                f"allows: look at {self.root}/rejects, mend the input, or run again with --resume and a larger --max-rejects"
            )
        if not left:
            reasons = _most(tally.dropped + tally.rejected for tally in tallies)
            raise EmptyResultError(f"none of {entered} records gave a document ({reasons or 'it is empty'}): check the input")


def _most(counters: Iterable[Counter[str]]) -> str:
    """Name the most frequent reasons."""
    return ", ".join(f"{reason} {n}" for reason, n in sum(counters, Counter[str]()).most_common(5))


def _input_digest(entry: dict[str, Any], reports: list[dict[str, Any]]) -> str:
    """Return a file's SHA-256; of a file read in pieces, that of its pieces' digests, in order, as text."""
    found = [i for report in reports for i in report["inputs"] if (report["kind"], i["name"]) == (entry["source"], entry["name"])]
    digests = [i["sha256"] for i in sorted(found, key=lambda i: int(i["start"]))]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
