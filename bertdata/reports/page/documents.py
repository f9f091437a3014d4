"""Collect the contents of the report of a corpus: sources, languages, lengths, lost text and documents to read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...dataset.manifest_types import CorpusManifest
from ..card import amounts
from ..examples import pick
from ..summary import size
from ..vocabulary_warnings import has_spaces, text_by_language
from .charts import flow, histogram
from .sample import DocumentSample, read_documents

_MAX_DOCUMENTS, _MAX_SENTENCES = 6, 7  # shown at most


def contents(directory: Path, manifest: CorpusManifest) -> dict[str, Any]:
    """Return what the page shows of a corpus."""
    sample = read_documents(directory, manifest)
    shown: dict[str, Any] = {
        "figures": _figures(manifest),
        "flows": [("", flow(manifest.counts))],
        "amounts": amounts(manifest.sources, None),
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
    words = sum(counts["words"] for code, counts in languages.items() if has_spaces(code))
    return [
        ("documents", f"{manifest.rows:,}"),
        ("text", size(sum(source.text_bytes for source in manifest.sources.values()))),
        ("characters", f"{sum(counts['characters'] for counts in languages.values()):,}"),
        ("words, in languages with spaces", f"{words:,}"),
        ("languages", f"{len(languages):,}"),
    ]


def _documents(sample: DocumentSample) -> list[dict[str, Any]]:
    """Return documents to show, spread evenly, and so over sources and languages."""
    documents = []
    for index in pick(sample.table.num_rows, _MAX_DOCUMENTS):
        row = sample.table.slice(index, 1)
        document = {name: row.column(name)[0].as_py() for name in ("id", "language", "title")}
        sentences = row.column("sentences")[0].values[:_MAX_SENTENCES].to_pylist()  # a book may have a million
        starts = [start for start in row.column("paragraph_starts")[0].as_py() if start < len(sentences)]
        gap = " " if has_spaces(document["language"]) else ""
        paragraphs = [gap.join(sentences[a:b]) for a, b in zip(starts, [*starts[1:], None], strict=True)]
        total = int(sample.per_document[index])
        documents.append({**document, "paragraphs": paragraphs, "sentences": total, "more": total - len(sentences)})
    return documents
