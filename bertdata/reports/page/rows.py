"""Collect the contents of the report of rows: lengths, label leakage, masks and rows to read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...config import LABEL_1_COUNTS, OBJECTIVES
from ...dataset.manifest_types import PairsManifest
from ...tokens.read import read_any
from ..card import amounts
from ..examples import pair_lines, pick, unit_of
from ..summary import percent
from .charts import flow, histogram
from .measure import masks_of, pairs_of, predictors
from .sample import read_rows

_MAX_ROWS = 6  # to show
_LEAK_ERRORS = 3.0  # standard errors from 0.5 beyond which an area is called a leak
_MIN_DOCUMENTS = 100  # of fewer, the partners of a few documents decide an area
_MEANING = {
    "nsp": "IsNext: B follows A in its document. NotNext: B is from another document.",
    "sop": "In order: B follows A in its document. Swapped: A and B have changed places.",
}
_ACROSS = "These pairs were made across languages: two languages in a row mean NotNext."
_APART = "NotNext pairs may join two sources, as in BERT. The option pair_within source keeps them apart."


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
    pairs, masks, widest = pairs_of(sample, config), masks_of(sample, config, vocabulary), config.max_seq_length
    charts = [histogram("Tokens in a row", "tokens", [("", np.diff(sample.flat("input_ids")[1]))], widest)]
    if pairs is not None:
        charts.append(histogram("Tokens in A (blue) and B (orange)", "tokens", [("A", pairs.a), ("B", pairs.b)], widest))
        ones, statistics = manifest.statistics.ones, manifest.statistics
        total = statistics.rows if statistics.parts is None else statistics.parts
        shown_parts |= {
            "meaning": _MEANING[config.objective],
            "labels": [
                (name, number, number / max(1, total))
                for name, number in zip(OBJECTIVES[config.objective].labels, (total - ones, ones), strict=True)
            ],
            "leaks": [
                (name, f"{area:.3f} ± {error:.3f}", "leaks" if abs(area - 0.5) > _LEAK_ERRORS * error else "chance")
                for name, area, error in predictors(pairs, manifest.pairings or {})
            ],
            "leak_errors": _LEAK_ERRORS,
            "few_documents": statistics.documents if statistics.documents < _MIN_DOCUMENTS else 0,
            "leak_note": _ACROSS if config.pair_across_languages else _APART if config.pair_within == "none" else "",
            "pairs": len(pairs.labels),
        }
    if masks is not None and len(masks[1]):
        shown, originals, maskable = masks
        hidden, kept = shown == vocabulary.special.mask, shown == originals
        mask = vocabulary.pieces[vocabulary.special.mask]
        shares = [(mask, hidden.mean()), ("a random token", (~hidden & ~kept).mean()), ("the token itself", kept.mean())]
        shown_parts |= {"masks": shares, "mask": mask, "masked_share": len(originals) / max(1, maskable)}
        shown_parts |= {"whole_words": unit_of(config) == "word", "stored": config.masking == "static"}
    rows = [(index, sample.table.slice(index, 1).to_pylist()[0]) for index in pick(sample.table.num_rows, _MAX_ROWS)]
    return {
        **shown_parts,
        "measured": len(sample.numbers),
        "lengths": charts,
        "rows": [list(pair_lines(row, int(sample.numbers[index]), vocabulary, config, 0)) for index, row in rows],
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
