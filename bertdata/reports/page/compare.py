"""Compare two or more datasets or runs of one kind: their figures, and differences in inputs and options."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

import numpy as np

from ...codec import Record, encode
from ...config import LABEL_1_COUNTS, OBJECTIVES
from ...dataset.manifest_types import CorpusManifest, Manifest, PairsManifest, VocabManifest
from ..licences import source_names
from ..summary import percent
from .charts import COLOURS, histogram, up_to
from .documents import length_charts
from .markup import Column, Html, join, number, table, text
from .sample import read_documents, read_rows
from .section import Section, Subject

__all__ = ["compare"]

_SHARE = "share"
_DIGEST_DIGITS = 12  # of a digest: enough to distinguish two
_STAGES = {"tokens": "tokens of text"}  # names of stages next to the statistics of rows


def compare(sets: list[Subject[Manifest]]) -> Section:
    """Return the figures of datasets in columns, the difference of two, and what inputs and options differ."""
    columns = [Column(""), *(Column(_head(subject), numbers=True) for subject in sets)]
    columns += [Column("Difference", numbers=True)] if len(sets) == 2 else []
    figures_of_sets = [dict(_figures(subject.manifest)) for subject in sets]
    rows = []
    for name in dict.fromkeys(name for of_set in figures_of_sets for name in of_set):
        values = [of_set.get(name) for of_set in figures_of_sets]
        row = [name, *("–" if value is None else _written(name, value) for value in values)]
        rows.append([*row, _difference(name, values)] if len(sets) == 2 else row)
    kinds = (("Inputs that differ", "Input", _inputs), ("Options that differ", "Option", _options_of))
    tables = [
        _differing(caption, what, sets, [dict(known(subject.manifest)) for subject in sets]) for caption, what, known in kinds
    ]
    return Section("compare", "Compared", join(table("Figures", columns, rows), *_charts(sets), *tables))


def _charts(sets: list[Subject[Manifest]]) -> Iterator[Html]:
    """Yield the lengths of documents or rows, with the datasets on the same axes; of more than four, the first four."""
    shown = [(f"{subject.name}, {colour}", subject) for subject, colour in zip(sets, COLOURS, strict=False)]
    rows, documents, longest = [], [], 1
    for name, subject in shown:
        directory, manifest = subject.directory, subject.manifest
        if isinstance(manifest, CorpusManifest) and (sample := read_documents(directory, manifest)):
            documents.append((name, sample))
        elif isinstance(manifest, PairsManifest) and (table := read_rows(directory, manifest, subject.vocabulary)):
            rows.append((name, np.diff(table.flat("input_ids")[1])))
            longest = max(longest, manifest.settings.max_seq_length)
    if documents:
        yield length_charts(documents)
    if rows:
        yield histogram("Tokens in a row", "tokens", up_to(longest), rows)


def _head(subject: Subject[Manifest]) -> Html:
    """Return the name of a dataset. A path may wrap after each slash."""
    return Html(text(subject.name).replace("/", "/<wbr>"))


def _differing(caption: str, what: str, sets: list[Subject[Manifest]], known: list[dict[str, str]]) -> Html:
    """Return a table of values that differ between datasets, or nothing if all are equal."""
    rows = [
        [name, *(of_set.get(name, "–") for of_set in known)]
        for name in dict.fromkeys(name for of_set in known for name in of_set)
        if len({of_set.get(name) for of_set in known}) > 1
    ]
    return table(caption, [Column(what), *(Column(_head(subject)) for subject in sets)], rows)


def _inputs(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield the inputs of a dataset: its origins, the digests of the files and of the vocabulary, and its tokens."""
    yield "sources", ", ".join(source_names(manifest)) or "–"
    digests = [each.sha256 or each.name for each in manifest.inputs]
    which = "corpus" if any(each.source == "corpus" for each in manifest.inputs) else "files"
    if digests:
        digest = digests[0] if len(digests) == 1 else sha256("\n".join(digests).encode()).hexdigest()
        yield f"{which} (SHA-256)", digest[:_DIGEST_DIGITS]
    if isinstance(manifest, PairsManifest):
        of_files = {file.name: file.sha256 for file in manifest.files}
        yield "vocabulary (SHA-256)", of_files.get("tokenizer.json", next(iter(of_files.values()), "–"))[:_DIGEST_DIGITS]
        yield "vocabulary pieces", number(manifest.vocab_size)


def _options_of(manifest: Manifest) -> Iterator[tuple[str, str]]:
    return _options(manifest.config)


def _figures(manifest: Manifest) -> Iterator[tuple[str, float]]:
    """Yield the counts of a manifest, by name. Stages count the input, statistics the rows."""
    yield "rows", manifest.rows
    yield "shards", len(manifest.shards)
    yield "bytes", sum(shard.bytes for shard in manifest.shards)
    for stage in manifest.counts:
        name = _STAGES.get(stage.stage, stage.stage) if isinstance(manifest, PairsManifest) else stage.stage
        yield f"{name}: in", stage.entered
        yield f"{name}: kept", stage.left
        for reason, count in (*stage.dropped.items(), *stage.rejected.items()):
            yield f"{name}: {reason}", count
    if isinstance(manifest, CorpusManifest):
        for name, source in manifest.sources.items():
            yield from _named(source, ("documents", "words", "text_bytes", "share"), f"{name}: ")
    if isinstance(manifest, VocabManifest):
        for code, counts in manifest.coverage.items():
            yield from _named(counts, ("unknown_share", "split_share", "pieces_per_word"), f"{code or 'unknown'}: ")
    if isinstance(manifest, PairsManifest):
        yield from _statistics(manifest)


def _named(record: Record, keys: tuple[str, ...], prefix: str) -> Iterator[tuple[str, float]]:
    for key in keys:
        if (value := getattr(record, key)) is not None:
            yield f"{prefix}{key.replace('_', ' ')}", value


def _statistics(manifest: PairsManifest) -> Iterator[tuple[str, float]]:
    objective, roles = manifest.settings.objective, manifest.roles
    special = " and ".join(roles[role] for role in ("cls", "sep") if role in roles)
    named = {"documents": "documents in rows", "tokens": f"tokens in rows{f', with {special}' if special else ''}"}
    if label := LABEL_1_COUNTS.get(objective):
        name = OBJECTIVES[objective].labels[1]
        named |= {label: name, f"{label}_share": f"{name} {_SHARE}"}
    for name, value in encode(manifest.statistics).items():
        if name != "rows":
            yield named.get(name, name.replace("_", " ")), value


def _options(config: dict[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in config.items():
        if isinstance(value, dict):
            yield from _options(value)
        else:
            yield name, str(value)


def _written(name: str, value: float) -> str:
    return percent(value) if name.endswith(_SHARE) else number(value)


def _difference(name: str, values: list[float | None]) -> str:
    """Say how much larger the last value is: in points of shares, else in percent.

    >>> _difference("rows", [100, 150]), _difference("padding share", [0.2, 0.1]), _difference("rows", [1, 1])
    ('+50.0 %', '-10.00 points', '=')
    """
    first, last = values[0], values[-1]
    if first is None or last is None:
        return "–"
    if first == last:
        return "="
    if name.endswith(_SHARE):
        points = round(100 * (last - first), 2)
        return f"{points:+.2f} points" if points else "under 0.01 points"
    return f"{100 * (last / first - 1):+.1f} %" if first else f"+{number(last)}"
