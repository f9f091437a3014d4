"""Commit a corpus: check that the counts of all tasks add up, then write the data card and, last, the manifest."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from ...codec import decode, encode
from ...config import CorpusConfig
from ...config.input_kinds import PROJECTS
from ...dataset import croissant, manifest, manifest_records
from ...dataset.manifest import write_list
from ...dataset.manifest_records import (
    Apparatus,
    CorpusShard,
    DroppedTemplates,
    Formulas,
    InputEntry,
    LearnedTemplates,
    ListEntry,
    SourceEntry,
    TemplateRevision,
)
from ...dataset.manifest_types import CorpusManifest
from ...dataset.plan_files import StoredValue
from ...errors import EmptyResultError, TooManyRejectsError, VerificationError
from ...reports import card
from ...reports.page import write_beside
from ...sources import licences
from ...storage.files import open_file, to_path
from ...tally import Tally
from ..selection import facts
from ..selection.rewrite import put_in_place
from . import missing, sums
from .extract import EXAMPLES, most_frequent
from .plan_tasks import packages
from .sources import CHECKSUM, in_order

__all__ = ["CorpusCommit"]

_NAMES = 100  # dropped templates listed in the manifest


@dataclass(frozen=True)
class CorpusCommit:
    """Check that the counts add up, then write the data card and, last, the manifest."""

    root: str
    config: CorpusConfig
    inputs: StoredValue
    ignored: dict[str, dict[str, int]]

    kinds: ClassVar = dict, list, dict

    def roots(self) -> list[Path]:
        """Return the directory of the corpus."""
        return [to_path(self.root)]

    def add_up(self, reports: Iterable[list[dict[str, Any]]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the summed report of each source, and each report's files, inputs and checks."""
        kept: list[dict[str, Any]] = []

        def parts() -> Iterator[dict[str, Any] | None]:
            for (report,) in reports:
                kept.append(sums.kept(report))
                yield sums.of(report)

        return sums.add_up(parts()), kept

    def __call__(self, totals: Iterable[list[dict[str, Any]]], entries: Iterable[dict[str, Any]]) -> None:
        # The books must balance: for each source, records = documents + drops + rejects. A task
        # that ran twice, or not at all, shows up here, before the manifest declares the dataset
        # complete.
        root, inputs = to_path(self.root), self.inputs.read()
        _check_published(entries)
        added = sums.add_up(chain.from_iterable(totals))
        tallies = {total["kind"]: Tally.from_json(total["tally"]) for total in added}
        tallies = {kind: tallies[kind] for kind in in_order(tallies)}
        files = [file for entry in entries for file in entry["files"] if not file["name"].startswith(facts.FACTS_PREFIX)]
        files += self._count_missing(tallies, entries)
        counted = [tally for tally in tallies.values() if tally.entered]
        self._check_share(counted, sum(total["lost"] for total in added), inputs, files)
        files = put_in_place(root, files)
        shards = decode(_in_folder(files, "data/"), list[CorpusShard])
        contents = CorpusManifest(
            **manifest.head("documents", self.config, shards, counted, packages(self.config)),
            inputs=decode(_with_licences(_with_digests(inputs, entries), entries), list[InputEntry]),
            sources=_sources(added),
            shards=shards,
            rejects=decode(_in_folder(files, "rejects/"), list[ListEntry]),
            drops=decode(_in_folder(files, "dropped/"), list[ListEntry]),
            dropped_templates=_dropped_templates(added),
            learned_templates=tuple(_learned(wiki, text) for wiki, text in self.config.learned),
            formulas=_formulas(added),
            ignored_files=self.ignored,
        )
        manifest.check_rows(contents, sum(tally.left for tally in counted))
        write_beside(root, contents)
        manifest.write(root, contents, card.write(contents), croissant.text(contents, croissant.columns(root, contents)))

    def _count_missing(self, tallies: dict[str, Tally], entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Count the pages that a dump's index lists but the dump lacks. Return the file that lists them."""
        root, name = to_path(self.root), "rejects/missing-pages.jsonl"
        rejects = missing.find(entries)
        for reject in rejects:
            tally = tallies.get(reject.pop("source"), Tally(""))
            tally.entered += reject["pages"]
            tally.rejected[missing.REASON] += reject["pages"]
        if not rejects:
            (root / name).unlink(missing_ok=True)  # left by a commit that was interrupted before it moved an index away
            return []
        return [encode(write_list(root, name, rejects))]

    def _check_share(self, tallies: list[Tally], lost: int, inputs: list[dict[str, Any]], files: list[dict[str, Any]]) -> None:
        entered, left = sum(tally.entered for tally in tallies), sum(tally.left for tally in tallies)
        rejected = sum(sum(tally.rejected.values()) for tally in tallies)

        def reasons() -> str:  # only when a run ends; a repeated commit finds its files in place
            return _most(tally.rejected for tally in tallies) + self._example(files)

        if not left:
            dropped = _most(tally.dropped + tally.rejected for tally in tallies) + self._example(files)
            raise EmptyResultError(
                f"none of {entered} records became a document ({dropped or 'the input is empty'}). Check the input and the "
                "options that drop documents"
            )
        # A few malformed records are normal in a dump. Many mean a wrong file or a damaged
        # download, and a corpus without the affected text would look fine.
        if rejected > self.config.max_rejects * entered:
            raise TooManyRejectsError(
                f"{rejected} of {entered} records were rejected ({reasons()}), more than `max_rejects` {self.config.max_rejects} "
                f"allows: look at {self.root}/rejects, fix the input or download it again, then run with `overwrite`, or run the "
                "same command again with a larger `max_rejects`"
            )
        size = sum(entry["bytes"] for entry in inputs)
        if lost > self.config.max_rejects * size:
            raise TooManyRejectsError(
                f"{lost} of {size} bytes of the input are damaged and could not be read ({reasons()}), a larger share than "
                f"`max_rejects` {self.config.max_rejects} allows: look at {self.root}/rejects, fetch the damaged dump again, or "
                "take what there is with a larger `max_rejects`"
            )

    def _example(self, files: list[dict[str, Any]]) -> str:
        """Return the first reject, or else the first drop. Most failures, such as a missing column, are the same for all
        records."""
        lists = [file["name"] for file in files if file["rows"]]
        names = [name for folder in ("rejects/", "dropped/") for name in lists if folder in name]
        if not names:
            return ""
        with open_file(to_path(self.root) / names[0]) as file:
            first = json.loads(file.readline())
        shown = first.get("where") or ", ".join(filter(None, (first["id"], first.get("detail"))))
        return f"; the first: {shown}" if shown else ""


def _in_folder(files: list[dict[str, Any]], folder: str) -> list[dict[str, Any]]:
    return [file for file in files if file["name"].startswith(folder)]


def _dropped_templates(totals: list[dict[str, Any]]) -> DroppedTemplates:
    """Return the number of template calls that produced no words, and the most frequent template names.

    sums.py explains which tasks are counted. For the first names, `examples` holds a line with a call of the template, if known.
    """
    counts = Counter(sums.counts(dict(total["templates"]["names"]) for total in totals))
    lines = {name: line for total in totals for name, (_, line) in total["templates"]["examples"].items()}
    names = most_frequent(counts, _NAMES)
    return DroppedTemplates(
        calls=sum(total["templates"]["calls"] for total in totals),
        most_frequent=names,
        examples={name: lines[name] for name, _ in names[:EXAMPLES] if name in lines},
    )


def _learned(wiki: str, text: str) -> LearnedTemplates:
    """Return what the run learned from the template pages of a wiki."""
    learned = json.loads(text)
    return LearnedTemplates(
        wiki=wiki,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        templates={name: TemplateRevision(revised=at, sha256=sha256) for name, (at, sha256) in learned["revisions"].items()},
        unknown=learned["unknown"],
    )


def _formulas(totals: list[dict[str, Any]]) -> Formulas:
    """Return formulas by tag or template, and the sentences dropped together with unwritten formulas.

    Formulas found = written + dropped + omitted with a table, a list or another place without prose.
    """
    counts = sums.counts(total["formulas"] for total in totals)
    sentences = counts.pop("sentences", 0)
    formulas: dict[str, dict[str, int]] = {"found": {}, "written": {}, "dropped": {}, "left_out": {}}
    for key, count in sorted(counts.items()):
        what, _, name = key.replace("left out ", "left_out ").partition(" ")
        formulas[what][name] = count
    return Formulas(**formulas, dropped_sentences=sentences)


def _most(counters: Iterable[Counter[str]]) -> str:
    """Format the most frequent reasons."""
    return ", ".join(f"{reason} {n}" for reason, n in sum(counters, Counter[str]()).most_common(5))


def _sources(totals: list[dict[str, Any]]) -> dict[str, SourceEntry]:
    """Return the totals of each source: documents and text, also by language, and the text that was removed."""
    text_bytes = sum(total["given"]["text_bytes"] for total in totals)
    sources: dict[str, SourceEntry] = {}
    for total in totals:
        given, languages = total["given"], decode(total["amounts"], dict[str, manifest_records.Amounts])
        sources[total["kind"]] = SourceEntry(
            **given,
            words=sum(each.words for each in languages.values()),
            characters=sum(each.characters for each in languages.values()),
            share=given["text_bytes"] / max(1, text_bytes),
            languages=languages,
            dropped_marks=dict(sorted(total["marks"].items())) or None,
            apparatus=_apparatus(Counter(total["apparatus"])) if total["apparatus"] else None,
            edits=dict(sorted(total["edits"].items())) or None,
        )
    return sources


def _apparatus(counts: Counter[str]) -> Apparatus:
    """Return character counts of books, without whitespace: read, kept, removed by kind, and put back by kind."""
    from ...sources.books import KEPT, PUT_BACK, READ

    back = {name.removeprefix(PUT_BACK): counts.pop(name) for name in sorted(counts) if name.startswith(PUT_BACK)}
    tally = Tally("characters of books", counts.pop(READ, 0), counts.pop(KEPT, 0), counts)
    tally.check()
    return Apparatus(characters=tally.entered, kept=tally.left, dropped=tally.counts().dropped, put_back=back or None)


def _check_published(entries: Iterable[dict[str, Any]]) -> None:
    """Raise VerificationError if a file range differs from the bytes whose published checksum was verified."""
    published = {
        (part["name"], part["start"], part["end"]): (part["sha256"], part["path"], entry["checksum"].partition(":")[0])
        for entry in entries
        if entry["kind"] == CHECKSUM
        for part in entry["inputs"]
    }
    for entry in entries if published else ():
        for part in entry["inputs"] if entry["kind"] in PROJECTS else ():
            sha256, path, algorithm = published.get((part["name"], part["start"], part["end"]), (part["sha256"], "", ""))
            if sha256 != part["sha256"]:
                raise VerificationError(
                    f"{path} has changed during this run: bytes {part['start']}-{part['end']} are not those whose {algorithm} "
                    "was found right: fetch it again, then start again with `overwrite`"
                )


def _with_digests(entries: list[dict[str, Any]], reports: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add each file's SHA-256.

    For a file read in ranges, it is the SHA-256 of the ranges' digests as text, in order. A trial adds no digest.
    """
    numbers = {(entry["source"], entry["name"]): number for number, entry in enumerate(entries)}
    starts = array("q", [0]) * len(entries)  # index of each file's first range
    others = defaultdict[int, list[tuple[int, str]]](list)
    for kind, part in ((report["kind"], part) for report in reports for part in report["inputs"]):
        if (number := numbers.get((kind, part["name"]))) is None:
            continue  # a check
        if "sha256" in entries[number]:
            others[number].append((part["start"], part["sha256"]))
        else:
            entries[number]["sha256"], starts[number] = part["sha256"], part["start"]
    for number, parts in others.items():
        parts.append((starts[number], entries[number]["sha256"]))
        entries[number]["sha256"] = hashlib.sha256("".join(digest for _, digest in sorted(parts)).encode()).hexdigest()
    return entries


def _with_licences(entries: list[dict[str, Any]], reports: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Record the licences that a file's documents declare. A file without any keeps the licence of its source."""
    told = defaultdict[tuple[str, str], Counter[str]](Counter)
    for report in reports:
        for name, counts in report.get("licences", {}).items():
            told[report["kind"], name].update(counts)
    for entry in entries:
        entry["licence"] = licences.named(told.get((entry["source"], entry["name"]), Counter()), entry["licence"])
    return entries
