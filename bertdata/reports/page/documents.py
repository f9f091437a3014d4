"""Collect the contents of the report of a corpus: sources, languages, lengths, lost text and documents to read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from ...dataset.manifest_records import SourceEntry
from ...dataset.manifest_types import CorpusManifest
from ..examples import pick
from ..summary import count, percent, size
from ..vocabulary_warnings import has_spaces, text_by_language
from .charts import flow, histogram
from .sample import DocumentSample, read_documents

_MAX_DOCUMENTS, _MAX_SENTENCES, _MAX_LANGUAGES = 6, 7, 30  # shown at most


def contents(directory: Path, manifest: CorpusManifest) -> dict[str, Any]:
    """Return what the page shows of a corpus."""
    sample = read_documents(directory, manifest)
    shown: dict[str, Any] = {
        "figures": _figures(manifest),
        "flows": [("", flow(manifest.counts))],
        **sources_and_languages(manifest.sources),
        "lists": sum(file.rows or 0 for file in (*manifest.rejects, *manifest.drops)),
        "templates": manifest.dropped_templates,
    }
    if sample is None or not len(sample.per_document):
        return shown
    lengths = [
        histogram("Sentences in a document", "sentences", [("", sample.per_document)]),
        histogram("Characters in a document", "characters", [("", sample.characters)]),
        histogram("Characters in a sentence", "characters", [("", sample.sentences)]),
    ]
    return {**shown, "measured": len(sample.per_document), "lengths": lengths, "documents": _documents(sample)}


def _figures(manifest: CorpusManifest) -> list[tuple[str, str]]:
    languages = text_by_language(manifest.sources)
    spaced = [counts for code, counts in languages.items() if has_spaces(code)]
    figures = [
        ("documents", f"{manifest.rows:,}"),
        ("text", size(sum(source.text_bytes for source in manifest.sources.values()))),
        ("characters", f"{sum(counts['characters'] for counts in languages.values()):,}"),
    ]
    if spaced:
        where = "" if len(spaced) == len(languages) else ", in languages with spaces"
        figures.append((f"words{where}", f"{sum(counts['words'] for counts in spaced):,}"))
    return [*figures, (count(len(languages), "language").split()[1], f"{len(languages):,}")]


def sources_and_languages(sources: dict[str, SourceEntry], tokens: dict[str, dict[str, int]] | None = None) -> dict[str, Any]:
    """Return the text of each source and each language. `tokens` are counts by source and language."""
    spoken = text_by_language(sources)
    for of_source in (tokens or {}).values():
        for code, number in of_source.items():
            spoken.setdefault(code, Counter())["tokens"] += number
    order = sorted(spoken, key=lambda code: (-spoken[code]["characters"], code))
    total = sum(counts["characters"] for counts in spoken.values()) or 1
    keys = ("documents", "words", "characters", *(["tokens"] if tokens else []))
    languages = []
    for code in order[:_MAX_LANGUAGES]:
        figures = ["–" if key == "words" and not has_spaces(code) else f"{spoken[code][key]:,}" for key in keys]
        languages.append((code or "unknown", figures, spoken[code]["characters"] / total))
    by_source = [(name, [f"{s.documents:,}", size(s.text_bytes), percent(s.share)], s.share) for name, s in sources.items()]
    return {
        "sources": by_source,
        "languages": languages,
        "language_columns": [f"#{key.capitalize()}" for key in keys],
        "further_languages": len(order) - len(languages),
    }


def _documents(sample: DocumentSample) -> list[dict[str, Any]]:
    """Return documents to show: one of each source and language, and others spread evenly."""
    first: dict[tuple[str, str], int] = {}
    for index, kind in enumerate(zip(*(sample.table.column(name).to_pylist() for name in ("source", "language")), strict=True)):
        first.setdefault(kind, index)
    chosen = dict.fromkeys([*list(first.values())[:_MAX_DOCUMENTS], *pick(sample.table.num_rows, _MAX_DOCUMENTS)])
    documents = []
    for index in sorted(list(chosen)[:_MAX_DOCUMENTS]):
        row = sample.table.slice(index, 1)
        document = {name: row.column(name)[0].as_py() for name in ("id", "language", "title")}
        sentences = row.column("sentences")[0].values[:_MAX_SENTENCES].to_pylist()  # a book may have a million
        starts = [start for start in row.column("paragraph_starts")[0].as_py() if start < len(sentences)]
        gap = " " if has_spaces(document["language"]) else ""
        paragraphs = [gap.join(sentences[a:b]) for a, b in zip(starts, [*starts[1:], None], strict=True)]
        total = int(sample.per_document[index])
        documents.append({**document, "paragraphs": paragraphs, "sentences": total, "more": total - len(sentences)})
    return documents
