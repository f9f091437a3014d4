"""Write the report of a corpus: stages, sources and languages, lengths, losses, and sample documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import starmap
from typing import Any

import pyarrow as pa

from ...dataset.manifest_records import SourceEntry
from ...dataset.manifest_types import CorpusManifest
from ...records import Document
from ...tokens.segment import is_chinese
from ..examples import pick
from ..script import scripts_of
from ..summary import count, percent, size
from ..vocabulary_warnings import has_spaces, text_by_language
from .charts import by_doubling, histogram
from .flow import anchor, flow, stages_of
from .markup import Column, Html, bar, foreign, join, number, short, table, tag
from .sample import DocumentSample, entries, read_documents
from .section import Section, Subject, figures

__all__ = ["key_figures", "length_charts", "sections", "sources_and_languages"]

_MAX_DOCUMENTS, _MAX_SENTENCES, _MAX_TEMPLATES, _MAX_LANGUAGES = 6, 7, 25, 30  # shown at most


def key_figures(subject: Subject[CorpusManifest]) -> Html:
    """Return the figures that come first."""
    manifest = subject.manifest
    languages = text_by_language(manifest.sources)
    spaced = {code for code in languages if has_spaces(code)}
    words = [(code in spaced, counts["words"]) for code, counts in languages.items()]
    known = [
        ("documents", f"{manifest.rows:,}"),
        ("text", size(sum(shard.text_bytes for shard in manifest.shards))),
        ("characters", f"{sum(counts['characters'] for counts in languages.values()):,}"),
    ]
    if spaced:
        where = "" if spaced == set(languages) else ", in languages with spaces"
        known.append((f"words{where}", f"{sum(number for is_spaced, number in words if is_spaced):,}"))
    return figures([*known, (count(len(languages), "language").split()[1], f"{len(languages):,}")])


def sections(subject: Subject[CorpusManifest]) -> Iterator[Section]:
    """Yield the sections of a corpus."""
    manifest = subject.manifest
    note = "Reasons are explained in the documentation of bertdata, in docs/reference/reasons.md of its repository."
    if any("namespace" in stage.dropped for stage in manifest.counts):
        note += " Namespace: pages of a wiki other than articles, such as templates, categories and talk pages."
    lists = (("rejects", manifest.rejects), ("drops", manifest.drops))
    listed = {anchor(kind, reason) for kind, files in lists for reason in entries(subject.directory, files)}
    picture = flow(stages_of("", manifest.counts), listed)
    yield Section("flow", "Counts by stage", join(picture, tag("p", note, class_="faint")))
    if manifest.sources:
        yield Section("sources", "Sources and languages", sources_and_languages(manifest.sources))
    sample = read_documents(subject.directory, manifest)
    if sample is not None and (body := _scripts(sample, manifest)):
        yield Section("scripts", "Simplified and traditional Chinese", body)
    if sample is not None and len(sample.per_document):
        yield Section("lengths", "Lengths", _lengths(sample, manifest))
    if body := _lost(subject):
        yield Section("lost", "Dropped and rejected", body)
    if sample is not None and len(sample.per_document):
        yield Section("samples", "Documents", join(*starmap(_document, _varied(sample))))


def sources_and_languages(sources: dict[str, SourceEntry], tokens: dict[str, dict[str, int]] | None = None) -> Html:
    """Return tables of the text of each source and each language. `tokens` are counts by source and language."""
    columns = (Column("Source"), *(Column(name, numbers=True) for name in ("Documents", "Text", "Share")), Column(""))
    rows = [(name, f"{s.documents:,}", size(s.text_bytes), percent(s.share), bar(s.share)) for name, s in sources.items()]
    spoken = text_by_language(sources)
    for of_source in (tokens or {}).values():
        for code, number_of in of_source.items():
            spoken.setdefault(code, Counter())["tokens"] += number_of
    order = sorted(spoken, key=lambda code: (-spoken[code]["characters"], code))
    total = sum(spoken[code]["characters"] for code in order) or 1
    keys = ("documents", "words", "characters", *(["tokens"] if tokens else []))
    by_language = [
        (code or "unknown", *("–" if key == "words" and not has_spaces(code) else f"{spoken[code][key]:,}" for key in keys))
        + (bar(spoken[code]["characters"] / total),)
        for code in order[:_MAX_LANGUAGES]
    ]
    heads = (Column("Language"), *(Column(key.capitalize(), numbers=True) for key in keys), Column(""))
    more = f" {len(order) - _MAX_LANGUAGES} more languages are in manifest.json." if len(order) > _MAX_LANGUAGES else ""
    note = "Words are separated by whitespace, which some languages do not use. Bars are shares of characters."
    note += " Tokens are counted before rows are made, over all copies and without special tokens." if tokens else ""
    note += more
    return join(table("By source", columns, rows), table("By language", heads, by_language), tag("p", note, class_="faint"))


def _read(sample: DocumentSample, manifest: CorpusManifest) -> str:
    """Describe the number of documents in the sample."""
    read = len(sample.per_document)
    return "all documents" if read == manifest.rows else f"{read:,} of {manifest.rows:,} documents, spread over the shards"


def _scripts(sample: DocumentSample, manifest: CorpusManifest) -> Html:
    """Return the shares of simplified and traditional Chinese text, or nothing without Chinese text."""
    chinese = pa.array([is_chinese(code) for code in sample.table.column("language").to_pylist()])
    found = scripts_of(part.flatten() for part in sample.table.filter(chinese).column("sentences").chunks)
    if not (total := sum(found)):
        return Html("")
    names = ("simplified characters", "traditional characters", "characters that both scripts have")
    rows = [
        (name, f"{number:,}", percent(number / total), bar(number / total)) for name, number in zip(names, found, strict=True)
    ]
    columns = (Column("Sentences in"), Column("Characters", numbers=True), Column("Share", numbers=True), Column(""))
    note = (
        "Characters that only GB 2312 has are simplified, and those that only Big5 has are traditional. A sentence counts as the "
    )
    note += "script of which it has more. Punctuation, digits and other letters are not counted. bertdata does not convert "
    note += "characters: see docs/tutorials/chinese-wikipedia.md."
    return join(
        tag("p", f"Measured on {_read(sample, manifest)}.", class_="faint"),
        table("", columns, rows),
        tag("p", note, class_="faint"),
    )


def _lengths(sample: DocumentSample, manifest: CorpusManifest) -> Html:
    return join(tag("p", f"Measured on {_read(sample, manifest)}.", class_="faint"), length_charts([("", sample)]))


def length_charts(samples: Sequence[tuple[str, DocumentSample]]) -> Html:
    """Return histograms of the lengths of documents and sentences, each of all `samples`, by name."""
    kinds = (
        ("Sentences in a document", "sentences", [each.per_document for _, each in samples]),
        ("Characters in a document", "characters", [each.characters for _, each in samples]),
        ("Characters in a sentence", "characters", [each.sentences for _, each in samples]),
    )
    names = [name for name, _ in samples]
    pictures = (histogram(title, axis, by_doubling(values), [*zip(names, values, strict=True)]) for title, axis, values in kinds)
    return tag("div", *pictures, class_="pair")


def _lost(subject: Subject[CorpusManifest]) -> Html:
    """Return the losses of templates and formulas, and examples of rejects and drops."""
    manifest, parts = subject.manifest, list[Html]()
    templates = manifest.dropped_templates
    if templates.calls:
        sentence = f"{templates.calls:,} calls of unknown templates, whose text is missing. "
        sentence += "Many are boxes and navigation without sentences. "
        sentence += "The table lists the most frequent ones, each with the first line that contains it."
        lines = templates.examples or {}
        columns = (Column("Template"), Column("Calls", numbers=True), Column("Line"))
        names = templates.most_frequent[:_MAX_TEMPLATES]
        calls = [(foreign(name, most=60), number(count), foreign(lines.get(name, "–"))) for name, count in names]
        parts += [tag("h3", "Templates"), tag("p", sentence), table("", columns, calls)]
    formulas = manifest.formulas
    if total_formulas := sum(formulas.found.values()):
        written, left_out = sum(formulas.written.values()), sum(formulas.left_out.values())
        sentence = f"{total_formulas:,} formulas were found, {written:,} written, "
        sentence += f"{left_out:,} dropped with tables and other parts that are not prose. "
        sentence += f"{formulas.dropped_sentences:,} sentences were dropped because of the other formulas."
        parts += [tag("h3", "Formulas"), tag("p", sentence)]
    lists = (("rejects", "Malformed records", manifest.rejects), ("drops", "Dropped records", manifest.drops))
    for kind, title, files in lists:
        rows = [
            (
                reason if nth else tag("span", reason, id=anchor(kind, reason)),
                foreign(id, most=80),
                foreign(cause, most=120),
            )
            for reason, records in sorted(entries(subject.directory, files).items())
            for nth, (id, cause) in enumerate(records)
        ]
        if rows:
            total = sum(file.rows for file in files)
            caption = f"{len(rows):,} of {total:,}; all are listed in {'rejects' if kind == 'rejects' else 'dropped'}/"
            parts += [tag("h3", title), table(caption, ("Reason", "Record", "Where or why"), rows)]
    return join(*parts)


def _varied(sample: DocumentSample) -> list[tuple[Document, int]]:
    """Choose documents to show: one of each source and language, and others spread evenly."""
    table = sample.table
    first: dict[tuple[str, str], int] = {}
    kinds = zip(table.column("source").to_pylist(), table.column("language").to_pylist(), strict=True)
    for index, kind in enumerate(kinds):
        first.setdefault(kind, index)
    chosen = list(dict.fromkeys([*first.values()][:_MAX_DOCUMENTS] + pick(table.num_rows, _MAX_DOCUMENTS)))[:_MAX_DOCUMENTS]
    return [_head(table.slice(index, 1)) for index in sorted(chosen)]


def _head(row: Any) -> tuple[Document, int]:
    """Read a document with only its first sentences, because a book can have a million. Also return the number of all."""
    fields = {name: row.column(name)[0].as_py() for name in ("id", "source", "language", "title", "url", "paragraph_starts")}
    sentences = row.column("sentences")[0].values
    return Document(**fields, sentences=sentences[:_MAX_SENTENCES].to_pylist()), len(sentences)


def _document(document: Document, count: int) -> Html:
    language = document.language
    summary = f"{document.id} · {language or 'language unknown'} · {number(count)} sentences"
    gap = "" if language in ("zh", "ja") else " "
    body = [
        tag("p", foreign(gap.join(short(each, 400) for each in paragraph), language, 1200))
        for paragraph in document.paragraphs()
        if paragraph
    ]
    more = count - len(document.sentences)
    rest = tag("p", f"… {more:,} more", class_="faint") if more else ""
    return tag(
        "article", tag("h3", foreign(document.title, language, 200)), tag("p", foreign(summary), class_="faint"), *body, rest
    )
