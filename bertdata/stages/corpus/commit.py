"""Commit a corpus: check that the counts of all tasks add up, then write the data card and, last, the manifest."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from ...codec import encode, replace
from ...config import CorpusConfig
from ...dataset import manifest
from ...dataset.manifest_records import (
    Amounts,
    DroppedTemplates,
    Formulas,
    Input,
    LearnedTemplates,
    RowFile,
    SourceEntry,
    TemplateRevision,
)
from ...dataset.manifest_types import CorpusManifest
from ...errors import EmptyResultError, TooManyRejectsError
from ...reports import card
from ...reports.page import write_beside
from ...reports.summary import count
from ...storage.files import open_file
from ...text.filters import OPTIONS
from ..counts import TEMPLATES, most_frequent, tally, under, without_rare_templates
from ..learning import Learned, read_learned
from ..selection.rewrite import replace_rewritten
from .extract import CorpusReport
from .plan_tasks import packages

_MAX_LISTED = 100  # dropped templates listed in the manifest
_MAX_TEMPLATES = 20_000  # dropped templates kept in a sum; the first thousand tasks of English Wikipedia name fewer


def commit(
    root: Path,
    config: CorpusConfig,
    inputs: list[Input],
    ignored: dict[str, dict[str, int]],
    reports: Iterable[CorpusReport],
) -> None:
    """Commit a corpus from the reports of its tasks, in order. `ignored` counts files that were not read, by kind and suffix."""
    # A report has 1 kB, or 25 kB if it names many templates: add up its counts by source, and keep its files and inputs. The
    # reports come in order of tasks, so the names of templates that are omitted are the same in every run.
    entries, sums, stages = list[CorpusReport](), dict[str, Counter[str]](), dict[str, str]()
    for report in reports:
        sums.setdefault(report.kind, Counter()).update(report.counts)
        sums[report.kind] = without_rare_templates(sums[report.kind], _MAX_TEMPLATES)
        stages[report.kind] = report.stage
        entries.append(replace(report, counts={}))
    # For each source, records = documents + drops + rejects. `head` checks this before the manifest declares the dataset
    # complete, to detect a task that ran twice or not at all.
    tallies = [counted for kind, counts in sums.items() if (counted := tally(stages[kind], counts)).entered]
    rejects, drops = [file for entry in entries for file in entry.rejects], [file for entry in entries for file in entry.drops]
    in_all = sum(sums.values(), Counter[str]())
    _check_shares(root, config, in_all, sum(entry.bytes for entry in inputs), [*rejects, *drops])
    shards = replace_rewritten(root, [entry.shard for entry in entries])
    templates = most_frequent(under(in_all, TEMPLATES), _MAX_LISTED)
    contents = CorpusManifest(
        **manifest.head("documents", config, shards, tallies, packages(config)),
        inputs=_with_digests(inputs, entries),
        sources=_sources(sums),
        rejects=rejects,
        drops=replace_rewritten(root, drops),
        dropped_templates=DroppedTemplates(calls=in_all["template_calls"], most_frequent=templates),
        learned_templates=tuple(_learned(wiki, learned) for wiki, learned in read_learned(root).items()),
        formulas=_formulas(in_all),
        ignored_files=ignored,
    )
    manifest.check_rows(contents, sum(counted.left for counted in tallies))
    write_beside(root, contents)
    manifest.store(root, contents, card.write(contents))


def _check_shares(root: Path, config: CorpusConfig, counts: Counter[str], size: int, lists: list[RowFile]) -> None:
    """Raise EmptyResultError without documents, and TooManyRejectsError above `max_rejects`."""
    rejected = Counter(under(counts, "rejected"))
    if not counts["out"]:
        gone = Counter(under(counts, "dropped")) + rejected
        what = _most(gone) + _example(root, lists) or "the input is empty"
        raise EmptyResultError(f"none of {count(counts['in'], 'record')} became a document ({what}). {_remedy(gone)}")
    # A few malformed records are normal in a dump. Many mean a wrong file or a damaged download, which would be easy to miss in
    # the finished corpus.
    records = rejected.total(), counts["in"], "records were rejected"
    for lost, total, what in (records, (counts["lost_bytes"], size, "bytes of the input could not be read")):
        if lost > config.max_rejects * total:
            raise TooManyRejectsError(
                f"{lost} of {total} {what} ({_most(rejected)}{_example(root, lists)}), more than `max_rejects` "
                f"{config.max_rejects} allows. Look at {root}/rejects, then remove, repair or download the files again, and run "
                f"the command again; or allow them with `max_rejects` {-(-100 * lost // total) / 100}"
            )


def _example(root: Path, lists: list[RowFile]) -> str:
    """Describe the first reject, or else the first drop, because failures such as a missing column affect all records."""
    if not lists:
        return ""
    with open_file(root / lists[0].name) as file:
        first = json.loads(file.readline())
    shown = first.get("where") or ", ".join(filter(None, (first["id"], first.get("detail"))))
    return f"; the first: {shown}" if shown else ""


def _most(reasons: Counter[str]) -> str:
    """Format the most frequent reasons."""
    return ", ".join(f"{reason} {n}" for reason, n in reasons.most_common(5))


def _remedy(gone: Counter[str]) -> str:
    """Name the option that dropped most records, or the input if they were rejected."""
    (reason, _), *_ = gone.most_common(1) or [("", 0)]
    options = OPTIONS | {"language": "languages", "evaluation overlap": "exclude", "excluded id": "exclude_ids"}
    return f"Change `{options[reason]}` to keep more" if reason in options else "Check the input and its format"


def _learned(wiki: str, learned: Learned) -> LearnedTemplates:
    """Return what the run learned from the template pages of a wiki."""
    return LearnedTemplates(
        wiki=wiki,
        sha256=hashlib.sha256(json.dumps(encode(learned), sort_keys=True).encode()).hexdigest(),
        templates={name: TemplateRevision(revised=at, sha256=sha256) for name, (at, sha256) in learned.revisions.items()},
        unknown=learned.unknown,
    )


def _formulas(counts: Counter[str]) -> Formulas:
    """Return the counts of formulas by tag or template, and of the sentences dropped with a formula.

    Each formula found is written, dropped, or left out with a table, a list or another place without prose.
    """
    outcomes = {outcome: under(counts, f"formulas/{outcome}") for outcome in ("found", "written", "dropped", "left_out")}
    return Formulas(**outcomes, dropped_sentences=sum(under(counts, "formulas/sentences").values()))


def _sources(sums: dict[str, Counter[str]]) -> dict[str, SourceEntry]:
    """Return the totals of each source: documents and text, also by language, and the text that was removed."""
    text_bytes = sum(counts["text_bytes"] for counts in sums.values())
    sources: dict[str, SourceEntry] = {}
    for kind, counts in sums.items():
        documents, words, characters = (under(counts, unit) for unit in ("documents", "words", "characters"))
        languages = {
            language: Amounts(documents=n, words=words.get(language, 0), characters=characters.get(language, 0))
            for language, n in documents.items()
        }
        sources[kind] = SourceEntry(
            documents=counts["out"],
            text_bytes=counts["text_bytes"],
            removed_words=counts.get("removed_words"),
            trimmed_documents=counts.get("trimmed_documents"),
            removed_paragraphs=counts.get("removed_paragraphs"),
            unsplit_documents=counts["unsplit_documents"] or None,
            words=sum(words.values()),
            characters=sum(characters.values()),
            share=counts["text_bytes"] / max(1, text_bytes),
            languages=languages,
            dropped_marks=under(counts, "marks") or None,
            edits=under(counts, "edits") or None,
        )
    return sources


def _with_digests(inputs: list[Input], entries: Iterable[CorpusReport]) -> list[Input]:
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
