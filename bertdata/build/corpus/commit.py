"""A corpus is committed: the counts of all tasks add up, or it is an error; the data card and, last, the manifest are written."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...config import CorpusConfig
from ...dataset import manifest
from ...dataset.manifest import write_list
from ...errors import EmptyResultError, TooManyRejectsError, VerificationError
from ...io.files import open_file, to_path
from ...report import card
from ...report.page import write_beside
from ...tally import Tally
from ..amounts import Amounts
from ..selection.rewrite import put_in_place
from . import missing
from .extract import most_frequent
from .plan import packages
from .sources import CHECKSUM, INDEX, in_order, is_check, source

__all__ = ["CorpusCommit"]

_NAMES = 100  # of dropped templates that the manifest lists


@dataclass(frozen=True)
class CorpusCommit:
    """Check that the counts add up, and write the data card and, last, the manifest."""

    root: str
    config: CorpusConfig
    inputs: list[dict[str, Any]]

    def roots(self) -> list[Path]:
        """Return the directory of the corpus."""
        return [to_path(self.root)]

    def __call__(self, reports: list[dict[str, Any]]) -> None:
        root = to_path(self.root)
        _check_published(reports)
        indexes = [report for report in reports if report["kind"] == INDEX]
        reports = [report for report in reports if not is_check(report["kind"])]
        tallies = {kind: Tally(source(kind).stage) for kind in in_order({report["kind"] for report in reports})}
        for report in reports:
            tallies[report["kind"]].merge(Tally.from_json(report["tally"]))
        files = [file for report in reports for file in report["files"]]
        files += self._count_missing(tallies.get("wikipedia", Tally("")), indexes, reports)
        counted = [tally for tally in tallies.values() if tally.entered]
        self._check_share(counted, reports)
        files = put_in_place(root, files)
        made = manifest.make(
            "documents",
            config=self.config.identity(),
            inputs=_with_digests(self.inputs, reports),
            sources=_sources(reports),
            shards=[file for file in files if file["name"].startswith("data/")],
            tallies=counted,
            rejects=[file for file in files if file["name"].startswith("rejects/")],
            drops=[file for file in files if file["name"].startswith("dropped/")],
            packages=packages(self.config),
            dropped_templates=_dropped_templates(reports),
            formulas=_formulas(reports),
        )
        manifest.check_rows(made, sum(tally.left for tally in counted))
        write_beside(root, made)
        manifest.write(root, made, card.write(made))

    def _count_missing(self, tally: Tally, indexes: list[dict[str, Any]], reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Count the pages that a dump's index names and the dump does not hold; return the file that tells of them."""
        root, name = to_path(self.root), "rejects/missing-pages.jsonl"
        rejects = missing.find(indexes, reports)
        for reject in rejects:
            tally.entered += reject["pages"]
            tally.rejected[missing.REASON] += reject["pages"]
        if not rejects:
            (root / name).unlink(missing_ok=True)  # of a commit that was broken off before an index was moved away
            return []
        return [write_list(root, name, rejects)]

    def _check_share(self, tallies: list[Tally], reports: list[dict[str, Any]]) -> None:
        lost = sum(report["lost"] for report in reports)
        entered, left = sum(tally.entered for tally in tallies), sum(tally.left for tally in tallies)
        rejected = sum(sum(tally.rejected.values()) for tally in tallies)
        reasons = _most(tally.rejected for tally in tallies) + self._example(reports)
        if rejected > self.config.max_rejects * entered:
            raise TooManyRejectsError(
                f"{rejected} of {entered} records were rejected ({reasons}), more than `max_rejects` {self.config.max_rejects} "
                f"allows: look at {self.root}/rejects, mend the input and run again with `overwrite`, or run the same command "
                "again with a larger `max_rejects`"
            )
        size = sum(entry["bytes"] for entry in self.inputs)
        if lost > self.config.max_rejects * size:
            raise TooManyRejectsError(
                f"{lost} of {size} bytes of the input are damaged and could not be read ({reasons}), a larger share than "
                f"`max_rejects` {self.config.max_rejects} allows: look at {self.root}/rejects, fetch the damaged dump again, or "
                "take what there is with a larger `max_rejects`"
            )
        if not left:
            reasons = _most(tally.dropped + tally.rejected for tally in tallies) + self._example(reports)
            raise EmptyResultError(
                f"none of {entered} records gave a document ({reasons or 'it is empty'}): check the input, and the "
                "options that drop documents"
            )

    def _example(self, reports: list[dict[str, Any]]) -> str:
        """Show the first reject: what a column or file lacks is the same for all, as a rule."""
        names = [f["name"] for report in reports for f in report["files"] if "rejects/" in f["name"] and f["rows"]]
        if not names:
            return ""
        with open_file(to_path(self.root) / names[0]) as file:
            first = json.loads(file.readline())
        return f"; the first: {first['where']}" if first.get("where") else ""


def _dropped_templates(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Add up the calls of templates that gave no words; a name counts in the tasks where it is among the most frequent."""
    counts: Counter[str] = Counter()
    for report in reports:
        counts.update(dict(report["templates"]["names"]))
    return {"calls": sum(report["templates"]["calls"] for report in reports), "most_frequent": most_frequent(counts, _NAMES)}


def _formulas(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Add up formulas by tag or template, and the sentences that went with those that were not written."""
    counts: Counter[str] = Counter()
    for report in reports:
        counts.update(report["formulas"])
    sums: dict[str, Any] = {"found": {}, "written": {}, "dropped": {}, "dropped_sentences": counts.pop("sentences", 0)}
    for key, count in sorted(counts.items()):
        what, _, name = key.partition(" ")
        sums[what][name] = count
    return sums


def _most(counters: Iterable[Counter[str]]) -> str:
    """Name the most frequent reasons."""
    return ", ".join(f"{reason} {n}" for reason, n in sum(counters, Counter[str]()).most_common(5))


def _sources(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what each source has given: documents and text, also by language, and what was taken out of it."""
    totals: dict[str, Counter[str]] = {}
    marks: dict[str, Counter[str]] = defaultdict(Counter)
    amounts: dict[str, Amounts] = defaultdict(Amounts)
    for report in reports:
        own = totals.setdefault(report["kind"], Counter())
        own.update(documents=report["tally"]["out"], text_bytes=report["files"][0]["text_bytes"])
        amounts[report["kind"]].merge(report["amounts"])
        marks[report["kind"]].update(report["marks"])
        if report.get("removed_words"):
            own.update(removed_words=report["removed_words"])
        if "trimmed" in report:
            own.update(dict(zip(("trimmed_documents", "removed_paragraphs"), report["trimmed"], strict=True)))
    total = sum(own["text_bytes"] for own in totals.values())
    sums: dict[str, Any] = {}
    for kind, own in totals.items():
        languages = amounts[kind].to_json()
        counts = {what: sum(each[what] for each in languages.values()) for what in ("words", "characters")}
        sums[kind] = {**own, **counts, "share": own["text_bytes"] / max(1, total), "languages": languages}
        if marks[kind]:
            sums[kind]["dropped_marks"] = dict(sorted(marks[kind].items()))
    return sums


def _check_published(reports: list[dict[str, Any]]) -> None:
    """Raise VerificationError where a part was read whose bytes are not those whose published checksum was found right."""
    read = {
        (part["name"], part["start"], part["end"]): part["sha256"]
        for report in reports
        if report["kind"] == "wikipedia"
        for part in report["inputs"]
    }
    for report in reports:
        for part in report["inputs"] if report["kind"] == CHECKSUM else ():
            if read[part["name"], part["start"], part["end"]] != part["sha256"]:
                raise VerificationError(
                    f"{part['path']} has changed during this run: bytes {part['start']}-{part['end']} are not those whose "
                    f"{report['checksum'].partition(':')[0]} was found right: fetch it again, then start again with `overwrite`"
                )


def _with_digests(entries: list[dict[str, Any]], reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add each file's SHA-256; of a file read in parts, that of its parts' digests, in order, as text; of a trial none."""
    digests_by_file = defaultdict[tuple[str, str], list[tuple[int, str]]](list)
    for report in reports:
        for part in report["inputs"]:
            digests_by_file[report["kind"], part["name"]].append((part["start"], part["sha256"]))
    whole = []
    for entry in entries:
        digests = [digest for _, digest in sorted(digests_by_file[entry["source"], entry["name"]])]
        sha256 = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
        whole.append({**entry, "sha256": sha256} if digests else entry)
    return whole
