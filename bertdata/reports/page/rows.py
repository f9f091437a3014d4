"""Collect the contents of the report of rows: lengths, label leakage, masks and rows to read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...config import LABEL_1_COUNTS, OBJECTIVES
from ...dataset.manifest_types import PairsManifest
from ...pieces import shown
from ...tokens.read import read_any
from ...tokens.vocab import Vocabulary
from ..card import amounts
from ..examples import pick, texts, unit_of
from ..summary import percent
from .charts import flow, histogram
from .measure import Masks, masks_of, pairs_of, predictors
from .sample import RowSample, read_rows

_MAX_ROWS, _MAX_TOKENS = 6, 256  # rows to show, and tokens of each segment
LEAK_ERRORS = 3.0  # standard errors from 0.5 beyond which an area is called a leak
_MEANING = {
    "nsp": "IsNext: B follows A in its document. NotNext: B is from another document.",
    "sop": "In order: B follows A in its document. Swapped: A and B have changed places.",
}
_ACROSS = "These pairs were made across languages: two languages in a row mean NotNext."
_APART = "NotNext pairs may join two sources, as in BERT. The option pair_within source keeps them apart."


class Span(NamedTuple):
    """Text of a row: the gap before it, the text, how it is masked ("", "mask", "random" or "kept"), and a random token."""

    gap: str
    text: str
    kind: str = ""
    instead: str = ""


def contents(directory: Path, manifest: PairsManifest) -> dict[str, Any]:
    """Return what the page shows of rows."""
    corpus, config, vocabulary = manifest.corpus, manifest.settings, read_any(directory)
    flows = [("The corpus", flow(corpus.counts))] if corpus.counts else []
    shown_parts: dict[str, Any] = {
        "figures": _figures(manifest),
        "flows": [*flows, ("The rows" if flows else "", flow(manifest.counts))],
        "amounts": amounts(corpus.sources, manifest.tokens),
        "tokens": bool(manifest.tokens),
    }
    sample = read_rows(directory, manifest, vocabulary)
    if sample is None or not sample.table.num_rows:
        return shown_parts
    pairs, masks = pairs_of(sample, config), masks_of(sample, config, vocabulary)
    longest = config.max_seq_length
    charts = [histogram("Tokens in a row", "tokens", [("", np.diff(sample.flat("input_ids")[1]))], longest)]
    if pairs is not None:
        charts.append(histogram("Tokens in A (blue) and B (orange)", "tokens", [("A", pairs.a), ("B", pairs.b)], longest))
        ones, statistics = manifest.statistics.ones, manifest.statistics
        total = statistics.rows if statistics.parts is None else statistics.parts
        shown_parts |= {
            "meaning": _MEANING[config.objective],
            "labels": [
                (name, number, number / max(1, total))
                for name, number in zip(OBJECTIVES[config.objective].labels, (total - ones, ones), strict=True)
            ],
            "leaks": [
                (name, f"{area:.3f} ± {error:.3f}", abs(area - 0.5) > LEAK_ERRORS * error)
                for name, area, error in predictors(pairs, manifest.pairings or {})
            ],
            "leak_errors": LEAK_ERRORS,
            "leak_note": _ACROSS if config.pair_across_languages else _APART if config.pair_within == "none" else "",
            "pairs": len(pairs.labels),
        }
    if masks is not None and len(masks.originals):
        hidden, kept = masks.shown == vocabulary.special.mask, masks.shown == masks.originals
        mask = vocabulary.pieces[vocabulary.special.mask]
        shares = [(mask, hidden.mean()), ("a random token", (~hidden & ~kept).mean()), ("the token itself", kept.mean())]
        shown_parts |= {"masks": shares, "mask": mask, "masked_share": len(masks.originals) / max(1, masks.maskable)}
        shown_parts |= {"whole_words": unit_of(config) == "word", "stored": config.masking == "static"}
    rows = sample.table.num_rows if masks is None else min(sample.table.num_rows, int(masks.rows.max(initial=0)) + 1)
    return {
        **shown_parts,
        "measured": len(sample.numbers),
        "lengths": charts,
        "rows": [_row(sample, masks, index, manifest, vocabulary) for index in pick(rows, _MAX_ROWS)],
    }


def _figures(manifest: PairsManifest) -> list[tuple[str, str]]:
    statistics, roles = manifest.statistics, manifest.special_tokens
    special = " and ".join(roles[role] for role in ("cls", "sep") if role in roles)
    figures = [("rows", f"{manifest.rows:,}")]
    figures += [("segments in them", f"{statistics.parts:,}")] if statistics.parts is not None else []
    figures += [("documents", f"{statistics.documents:,}")]
    figures += [(f"tokens{f' with {special}' if special else ''}", f"{statistics.tokens:,}")]
    if manifest.settings.objective in LABEL_1_COUNTS:
        figures.append((OBJECTIVES[manifest.settings.objective].labels[1], percent(statistics.ones_share)))
    unknown = roles.get("unk") or "unknown tokens"
    return [*figures, ("padding", percent(statistics.padding_share)), (unknown, percent(statistics.unknown_share))]


def _row(sample: RowSample, masks: Masks | None, index: int, manifest: PairsManifest, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return a row to show: its number, and of each segment its label, and A and B as spans."""
    pieces, special, config = vocabulary.pieces, vocabulary.special, manifest.settings
    row = sample.table.slice(index, 1).to_pylist()[0]
    ids, types, changes = np.array(row["input_ids"]), np.array(row["token_type_ids"]), dict[int, str]()
    if masks is not None:
        for at in np.flatnonzero(masks.rows == index):
            place, new, original = int(masks.positions[at]), int(masks.shown[at]), int(masks.originals[at])
            ids[place] = original
            changes[place] = "kept" if new == original else "mask" if new == special.mask else shown(pieces[new], special.mark)
    begins = ~np.array(row.get("continues_word", np.ones(len(ids))), bool)
    starts, names = row.get("document_starts") or [0], OBJECTIVES[config.objective].labels
    labels = row.get("next_sentence_label")
    parts = []
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(ids)], strict=True)):
        sides = []
        for side, name in ((0, "A"), (1, "B")) if names else ((0, ""),):
            places = start + np.flatnonzero(types[start:end] == side)
            shown_places = places[:_MAX_TOKENS].tolist()
            tokens = [pieces[ids[place]] for place in shown_places]
            hidden = {n: changes[place] for n, place in enumerate(shown_places) if place in changes}
            edges = {n for n, place in enumerate(shown_places) if begins[place]}
            spans = marked(tokens, hidden, special.mark, [pieces[i] for i in special.never], edges)
            sides.append((name, list(spans), len(places) > _MAX_TOKENS))
        label = names[labels[number] if isinstance(labels, list) else labels] if names else ""
        parts.append((label, sides))
    return {"number": int(sample.numbers[index]), "tokens": len(ids), "padding": config.max_seq_length - len(ids), "parts": parts}


def marked(
    tokens: Sequence[str], changes: dict[int, str], mark: str = "##", special: Collection[str] = (), begins: Collection[int] = ()
) -> Iterator[Span]:
    """Yield tokens as readable text, with the masked ones in `changes`: "mask", "kept", or the random token shown instead.

    The gap before a token in `begins`, with which a word begins, is "|" if neither a space nor a mark separates the words.

    >>> [span[:3] for span in marked(["tea", "##s", "茶", "树"], {1: "mask", 2: "see"}, begins={0, 2, 3})]
    [('', 'tea', ''), ('', 's', 'mask'), (' ', '茶', 'random'), ('|', '树', '')]
    """
    text = ""
    for index, spaced in enumerate(texts(tokens, mark, special)):
        before, text = text, spaced.removeprefix(" ")
        gap = " " if index and text != spaced else "|" if index in begins and (before[-1:] + text[:1]).isalnum() else ""
        change = changes.get(index, "")
        kind = change if change in ("", "mask", "kept") else "random"
        readable = text if text.strip() or not kind else shown(tokens[index], mark)
        yield Span(gap if before else gap.strip("|"), readable, kind, change if kind == "random" else "")
