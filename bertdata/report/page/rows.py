"""Write the report of rows: from page to row, lengths and padding, features that predict labels, masks, tokens, rows to read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...config import LABEL_1, OBJECTIVES, PairsConfig
from ...pieces import bare, shown, tokens_by_role
from ...tokens.vocab import AnyVocabulary
from ..words import percent
from .charts import histogram, up_to
from .documents import sources_and_languages
from .flow import flow, stages_of
from .markup import Column, Html, bar, foreign, join, number, table, tag
from .measure import Masks, auc, masks_of, padding_by_width, pairs_of
from .sample import RowSample, read_rows
from .section import Section, Subject, counted, figures
from .tokens import row_article

__all__ = ["key_figures", "sections"]

_SHOWN, _TOKENS = 6, 20
_SURE = 3.0  # errors of one sigma beyond which an area under the curve is called a leak


def key_figures(subject: Subject) -> Html:
    """Return the figures that come first."""
    statistics, config = subject.manifest["statistics"], subject.manifest["config"]
    known = [("rows", f"{subject.manifest['rows']:,}")]
    known += [("parts in them", f"{statistics['parts']:,}")] if "parts" in statistics else []
    known += [("documents", f"{statistics['documents']:,}"), ("tokens", f"{statistics['tokens']:,}")]
    if name := LABEL_1.get(config["objective"]):
        known.append((OBJECTIVES[config["objective"]].labels[1], percent(statistics[f"{name}_share"])))
    unknown = tokens_by_role(subject.manifest).get("unk") or "unknown"
    known += [("padding", percent(statistics["padding_share"])), (unknown, percent(statistics["unknown_share"]))]
    return figures(known)


def sections(subject: Subject) -> Iterator[Section]:
    """Yield the sections of rows."""
    manifest = subject.manifest
    corpus = manifest.get("corpus", {})
    stages = stages_of("The corpus", corpus.get("counts", []))
    yield Section("flow", "From page to row", flow([*stages, *stages_of("The rows" if stages else "", manifest["counts"])]))
    if corpus.get("sources"):
        yield Section("sources", "Sources and languages", sources_and_languages(corpus["sources"], manifest.get("tokens")))
    sample, config = read_rows(subject.directory, manifest), PairsConfig.of(manifest["config"])
    if sample is None or not sample.table.num_rows:
        return
    yield Section("lengths", "Lengths and padding", _lengths(sample, config, manifest))
    if config.objective in LABEL_1:
        yield Section("labels", "Labels", _labels(sample, config, manifest))
    known = subject.vocabulary
    masks = masks_of(sample, config, known)
    if masks is not None and len(masks.wanted):
        yield Section("masks", "Masks", _masks(masks, config, known))
    yield Section("tokens", "Tokens", _tokens(sample, known))
    yield Section("samples", "Rows", _samples(sample, masks, config, known))


def _lengths(sample: RowSample, config: PairsConfig, manifest: dict[str, Any]) -> Html:
    most = config.max_seq_length
    lengths = np.diff(sample.flat("input_ids")[1])
    what = "all rows" if len(lengths) == manifest["rows"] else f"{len(lengths):,} of {manifest['rows']:,} rows"
    pictures = [histogram("Tokens in a row", "tokens", up_to(most), [("", lengths)])]
    if (pairs := pairs_of(sample, config)) is not None:
        pictures.append(histogram("Tokens in A (blue) and B (orange)", "tokens", up_to(most), [("A", pairs.a), ("B", pairs.b)]))
    columns = [Column(name, numbers=True) for name in ("Width", "Rows", "Padding")]
    by_width = padding_by_width(lengths, most)
    rows = [(number(width), percent(share), percent(padding), bar(padding, "drop")) for width, share, padding in by_width]
    filled = 1 - float(lengths.sum()) / max(1.0, sum(share * len(lengths) * width for width, share, _ in by_width))
    text = f"Padded to {most:,} tokens, {percent(manifest['statistics']['padding_share'])} of all places are padding; "
    text += f"each row padded to the next of the widths below, {percent(filled)} are."
    padding = table("Rows by the least width that holds them", [*columns, Column("")], rows)
    return join(tag("p", f"Measured on {what}.", class_="faint"), tag("div", *pictures, class_="pair"), tag("p", text), padding)


def _labels(sample: RowSample, config: PairsConfig, manifest: dict[str, Any]) -> Html:
    """Return the balance of labels, and how well features other than the text predict them."""
    names, statistics = OBJECTIVES[config.objective].labels, manifest["statistics"]
    ones = statistics[LABEL_1[config.objective]]
    total = statistics["parts" if config.pack else "rows"]
    balance = [(names[0], total - ones), (names[1], ones)]
    pairs = pairs_of(sample, config)
    if pairs is None:
        return Html("")
    tests = (
        ("length of the pair", pairs.a + pairs.b),
        ("length of A", pairs.a),
        ("length of B", pairs.b),
        ("place in the shard", pairs.positions),
    )
    rows = []
    for name, values in tests:
        area, error = auc(values, pairs.labels)
        leaks = abs(area - 0.5) > _SURE * error
        word = tag("span", "tells the label" if leaks else "as chance", class_="flag" if leaks else "good")
        rows.append((name, f"{area:.3f}", f"± {error:.3f}", word))
    columns = (Column("From"), Column("AUC", numbers=True), Column("Error", numbers=True), Column(""))
    text = "The area under the curve says how well a figure alone tells the label: 0.5 is chance, 0 and 1 are certainty. "
    text += f"Here it was measured on {len(pairs.labels):,} pairs; beyond {_SURE:.0f} errors it is called a leak."
    parts = [counted("", "Label", balance, "Pairs"), tag("h3", "Can the label be told without reading?"), tag("p", text)]
    parts.append(table("", columns, rows))
    if config.objective == "nsp":
        parts.append(tag("p", f"In {percent(1 - ones / max(1, total))} of pairs the junction of A and B is the document's own."))
    return join(*parts)


def _masks(masks: Masks, config: PairsConfig, known: AnyVocabulary) -> Html:
    total = len(masks.wanted)
    hidden = masks.shown == known.special.mask
    kept = masks.shown == masks.wanted
    kinds = [
        (known.pieces[known.special.mask], int(hidden.sum())),
        ("a random piece", int((~hidden & ~kept).sum())),
        ("kept", int(kept.sum())),
    ]
    share = total / max(1, masks.maskable)
    how = "as they were stored" if config.masking == "static" else "as BERT's defaults make them in epoch 0"
    text = f"{percent(share)} of the tokens are predicted, {how}; measured on {total:,} of them."
    columns = (Column("Shown as"), Column("Number", numbers=True), Column("Share", numbers=True), Column(""))
    rows = [(name, f"{count:,}", percent(count / total), bar(count / total)) for name, count in kinds]
    return join(tag("p", text), table("", columns, rows))


def _tokens(sample: RowSample, known: AnyVocabulary) -> Html:
    pieces, special = known.pieces, known.special
    mark = special.mark
    ids = sample.flat("input_ids")[0]
    counts = np.bincount(ids, minlength=len(pieces))
    counts[sorted(special.never)] = 0
    order = np.argsort(-counts, kind="stable")[:_TOKENS]
    frequent = [
        (tag("span", foreign(shown(pieces[i], mark), most=40), class_="piece"), int(counts[i])) for i in order if counts[i]
    ]
    seen = np.flatnonzero(counts)
    texts = [bare(pieces[i], mark) for i in seen if i != special.unk]
    longest = sorted(texts, key=lambda piece: (-len(piece), piece))[:_TOKENS]
    text = f"{len(seen):,} of {len(pieces):,} pieces occur in the {counts.sum():,} tokens that were read."
    spread = [(tag("span", foreign(piece, most=60), class_="piece"), len(piece)) for piece in longest]
    tables = (counted("Most frequent", "Piece", frequent, "Tokens"), counted("Longest", "Piece", spread, "Characters"))
    return join(tag("p", text), tag("div", *tables, class_="pair"))


def _samples(sample: RowSample, masks: Masks | None, config: PairsConfig, known: AnyVocabulary) -> Html:
    rows = sample.table.num_rows if masks is None else min(sample.table.num_rows, int(masks.rows.max(initial=0)) + 1)
    count = min(_SHOWN, rows)
    chosen = sorted({index * rows // count for index in range(count)})
    key = tag(
        "ul",
        tag("li", tag("mark", "word"), f" shown as {known.pieces[known.special.mask]}"),
        tag("li", tag("mark", "word → other", class_="random"), " shown as a random piece"),
        tag("li", tag("mark", "word", class_="kept"), " shown as it is, and predicted"),
        class_="key",
    )
    return join(key if masks is not None else "", *(row_article(sample, masks, index, config, known) for index in chosen))
