"""Commit a corpus: check that the counts of all tasks add up, then write the data card and, last, the manifest."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ...codec import decode, replace
from ...config import CorpusConfig
from ...config.input_kinds import PROJECTS
from ...dataset import manifest
from ...dataset.manifest_records import (
    Amounts,
    Apparatus,
    DroppedTemplates,
    Formulas,
    Input,
    LearnedTemplates,
    RowFile,
    SourceEntry,
    TemplateRevision,
)
from ...dataset.manifest_types import CorpusManifest
from ...dataset.tasks import StoredValue
from ...errors import EmptyResultError, TooManyRejectsError, VerificationError
from ...reports import card
from ...reports.page import write_beside
from ...reports.summary import count
from ...sources import licences
from ...storage.files import open_file
from ...tally import Tally
from ...text.filters import OPTIONS
from ..corpus_report import CorpusReport, TaskEntry
from ..selection.rewrite import replace_rewritten
from .extract import MAX_EXAMPLES, most_frequent
from .plan_tasks import packages
from .sources import CHECKSUM, in_order
from .sums import SourceSum

__all__ = ["CorpusCommit"]

_MAX_LISTED = 100  # dropped templates listed in the manifest


@dataclass(frozen=True)
class CorpusCommit:
    """The last step of `build_corpus`."""

    root: Path
    config: CorpusConfig
    inputs: StoredValue  # the `Input` of each input file
    ignored: dict[str, dict[str, int]]  # number of files that were not read, by kind of input and suffix

    def __call__(self, reports: Iterable[list[CorpusReport]]) -> None:
        # A report has 1 kB, or 25 kB if it names many templates: keep its entry, and add up its counts by source.
        entries, sums = list[TaskEntry](), dict[str, SourceSum]()
        for (report,) in reports:
            entries.append(report.entry)
            if counts := report.counts:
                sums.setdefault(counts.kind, SourceSum(counts.kind, Tally(counts.tally.stage))).add(counts)
        # For each source, records = documents + drops + rejects. Check this before the manifest declares the dataset complete,
        # to detect a task that ran twice or not at all.
        root, inputs = self.root, decode(self.inputs.read(), list[Input])
        _check_published(entries)
        added = list(sums.values())
        tallies = {kind: sums[kind].tally for kind in in_order(sums)}
        shards, rejects, drops, lost = list[RowFile](), list[RowFile](), list[RowFile](), 0
        for entry in entries:
            shards += [entry.shard] if entry.shard else []
            rejects += entry.rejects
            drops += entry.drops
            lost += entry.lost
        counted = [tally for tally in tallies.values() if tally.entered]
        self._check_share(counted, lost, inputs, [*rejects, *drops])
        shards = replace_rewritten(root, shards)
        contents = CorpusManifest(
            **manifest.head("documents", self.config, shards, counted, packages(self.config)),
            inputs=_with_licences(_with_digests(inputs, entries), entries),
            sources=_sources(added),
            rejects=rejects,
            drops=replace_rewritten(root, drops),
            dropped_templates=_dropped_templates(added),
            learned_templates=tuple(_learned(wiki, text) for wiki, text in self.config.learned),
            formulas=_formulas(added),
            ignored_files=self.ignored,
        )
        manifest.check_rows(contents, sum(tally.left for tally in counted))
        write_beside(root, contents)
        manifest.store(root, contents, card.write(contents))

    def _check_share(self, tallies: list[Tally], lost: int, inputs: list[Input], lists: list[RowFile]) -> None:
        """Raise EmptyResultError without documents, and TooManyRejectsError above `max_rejects`."""
        entered, left = sum(tally.entered for tally in tallies), sum(tally.left for tally in tallies)
        rejected = sum(sum(tally.rejected.values()) for tally in tallies)

        def reasons() -> str:  # called only before raising: a repeated commit has moved the lists already
            return _most(tally.rejected for tally in tallies) + self._example(lists)

        if not left:
            dropped = _most(tally.dropped + tally.rejected for tally in tallies) + self._example(lists)
            raise EmptyResultError(
                f"none of {count(entered, 'record')} became a document ({dropped or 'the input is empty'}). {_remedy(tallies)}"
            )
        # A few malformed records are normal in a dump. Many mean a wrong file or a damaged download, which would be easy to
        # miss in the finished corpus.
        if rejected > self.config.max_rejects * entered:
            raise TooManyRejectsError(
                f"{rejected} of {entered} records were rejected ({reasons()}), more than `max_rejects` {self.config.max_rejects} "
                f"allows: look at {self.root}/rejects, fix the input or download it again, then run with `overwrite`, or run the "
                "same command again with a larger `max_rejects`"
            )
        size = sum(entry.bytes for entry in inputs)
        if lost > self.config.max_rejects * size:
            raise TooManyRejectsError(
                f"{lost} of {size} bytes of the input are damaged and could not be read ({reasons()}), a larger share than "
                f"`max_rejects` {self.config.max_rejects} allows: look at {self.root}/rejects, then download the damaged dump "
                "again, or keep the undamaged text with a larger `max_rejects`"
            )

    def _example(self, lists: list[RowFile]) -> str:
        """Describe the first reject, or else the first drop, because failures such as a missing column affect all records."""
        if not lists:
            return ""
        with open_file(self.root / lists[0].name) as file:
            first = json.loads(file.readline())
        shown = first.get("where") or ", ".join(filter(None, (first["id"], first.get("detail"))))
        return f"; the first: {shown}" if shown else ""


def _dropped_templates(totals: list[SourceSum]) -> DroppedTemplates:
    """Return the number of template calls that produced no words, and the most frequent templates.

    sums.py explains which tasks are counted. The first names have an example, a line that calls the template.
    """
    counts = sum((total.names for total in totals), Counter[str]())
    lines = {name: line for total in totals for name, line in total.examples.items()}
    names = most_frequent(counts, _MAX_LISTED)
    return DroppedTemplates(
        calls=sum(total.calls for total in totals),
        most_frequent=names,
        examples={name: lines[name] for name, _ in names[:MAX_EXAMPLES] if name in lines},
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


def _formulas(totals: list[SourceSum]) -> Formulas:
    """Return the counts of formulas by tag or template, and of the sentences dropped with a formula.

    Each formula found is written, dropped, or left out with a table, a list or another place without prose.
    """
    counts: dict[str, Counter[str]] = {what: Counter() for what in ("found", "written", "dropped", "left_out", "sentences")}
    for (what, name), number in sorted(sum((total.formulas for total in totals), Counter[tuple[str, str]]()).items()):
        counts[what][name] += number
    sentences = counts.pop("sentences").total()
    return Formulas(**counts, dropped_sentences=sentences)


def _remedy(tallies: list[Tally]) -> str:
    """Name the option that dropped most records, or the input if they were rejected."""
    (reason, _), *_ = sum((tally.dropped + tally.rejected for tally in tallies), Counter[str]()).most_common(1) or [("", 0)]
    options = OPTIONS | {"language": "languages", "evaluation overlap": "exclude", "excluded id": "exclude_ids"}
    return f"Change `{options[reason]}` to keep more" if reason in options else "Check the input and its format"


def _most(counters: Iterable[Counter[str]]) -> str:
    """Format the most frequent reasons."""
    return ", ".join(f"{reason} {n}" for reason, n in sum(counters, Counter[str]()).most_common(5))


def _sources(totals: list[SourceSum]) -> dict[str, SourceEntry]:
    """Return the totals of each source: documents and text, also by language, and the text that was removed."""
    text_bytes = sum(total.text_bytes for total in totals)
    sources: dict[str, SourceEntry] = {}
    for total in totals:
        languages = decode(total.amounts.to_json(), dict[str, Amounts])
        sources[total.kind] = SourceEntry(
            documents=total.tally.left,
            text_bytes=total.text_bytes,
            removed_words=total.removed.get("removed_words"),
            trimmed_documents=total.removed.get("trimmed_documents"),
            removed_paragraphs=total.removed.get("removed_paragraphs"),
            words=sum(each.words for each in languages.values()),
            characters=sum(each.characters for each in languages.values()),
            share=total.text_bytes / max(1, text_bytes),
            languages=languages,
            dropped_marks=dict(sorted(total.marks.items())) or None,
            apparatus=_apparatus(total.apparatus, total.put_back) if total.apparatus else None,
            edits=dict(sorted(total.edits.items())) or None,
        )
    return sources


def _apparatus(counts: Counter[str], put_back: Counter[str]) -> Apparatus:
    """Return the counts of characters of books. `Apparatus` describes them."""
    from ...sources.books import KEPT, READ

    tally = Tally("characters of books", counts.pop(READ, 0), counts.pop(KEPT, 0), counts)
    tally.check()
    back = dict(sorted(put_back.items())) or None
    return Apparatus(characters=tally.entered, kept=tally.left, dropped=tally.counts().dropped, put_back=back)


def _check_published(entries: Iterable[TaskEntry]) -> None:
    """Raise VerificationError if a dump changed between the check of its published checksum and its extraction."""
    published = {
        (part.name, part.start, part.end): (part.sha256, part.path, entry.checksum.partition(":")[0])
        for entry in entries
        if entry.kind == CHECKSUM
        for part in entry.inputs
    }
    for entry in entries if published else ():
        for part in entry.inputs if entry.kind in PROJECTS else ():
            sha256, path, algorithm = published.get((part.name, part.start, part.end), (part.sha256, "", ""))
            if sha256 != part.sha256:
                raise VerificationError(
                    f"{path} has changed during this run: bytes {part.start}-{part.end} are not those whose {algorithm} "
                    "was verified: download it again, then start again with `overwrite`"
                )


def _with_digests(inputs: list[Input], entries: Iterable[TaskEntry]) -> list[Input]:
    """Add the SHA-256 of each file. A trial run adds no digests.

    For a file read in ranges, it is the SHA-256 of the concatenated hexadecimal digests of the ranges, in order.
    """
    ranges = defaultdict[tuple[str, str], list[tuple[int, str]]](list)
    for entry in entries:
        for part in entry.inputs:
            ranges[entry.kind, part.name].append((part.start, part.sha256))

    def digest(file: Input) -> str:
        digests = [sha256 for _, sha256 in sorted(ranges[file.source, file.name])]
        return hashlib.sha256("".join(digests).encode()).hexdigest() if len(digests) > 1 else "".join(digests)

    return [replace(file, sha256=digest(file)) for file in inputs]


def _with_licences(inputs: list[Input], entries: Iterable[TaskEntry]) -> list[Input]:
    """Set the licences that the documents of a file declare. Without any, the file keeps the licence of its source."""
    declared = defaultdict[tuple[str, str], Counter[str]](Counter)
    for entry in entries:
        for name, counts in entry.licences.items():
            declared[entry.kind, name].update(counts)
    none = Counter[str]()
    return [replace(file, licence=licences.named(declared.get((file.source, file.name), none), file.licence)) for file in inputs]
