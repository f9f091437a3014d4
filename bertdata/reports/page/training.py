"""Collect the contents of the report of a training run: curves, evaluations and errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ...dataset.build import STATE
from ...storage.files import read_json
from ..metrics import NAME, Record, read_metrics
from ..summary import number, percent
from .charts import curves

_FIGURES = (  # of an evaluation: key in metrics.jsonl, name, whether it is a share
    ("mlm_loss", "Loss (nats)", False),
    ("perplexity", "Perplexity", False),
    ("mlm_accuracy", "Accuracy", True),
    ("nsp_loss", "Loss of pairs (nats)", False),
    ("nsp_accuracy", "Accuracy of pairs", True),
)
_CHARTS = (("mlm_loss", "Loss of masked words (nats)", False), ("nsp_accuracy", "Accuracy of pairs", True))
_MAX_EVALUATIONS = 12  # in the table, among them the last one


def contents(directory: Path) -> dict[str, Any]:
    """Return what the page shows of a run."""
    records = read_metrics(directory / NAME)
    of_kind = {kind: [record for record in records if record["kind"] == kind] for kind in ("train", "evaluation", "error")}
    training, evaluations = of_kind["train"], of_kind["evaluation"]
    last: Record = (evaluations or training or [{}])[-1]
    about = (read_json(directory / STATE / "run.json") or {}).get("about", {})
    figures = [(name, f"{value:,}") for name, value in about.items() if isinstance(value, int)]
    figures += [("steps", f"{max((record['step'] for record in records), default=0):,}")]
    figures += [("tokens seen", f"{seen:,}")] if (seen := sum(record.get("tokens", 0) for record in training)) else []
    losses = [record["mlm_loss"] for record in evaluations or training if "mlm_loss" in record]
    figures += [("lowest loss (nats)", _written(min(losses), share=False))] if losses else []
    figures += [(f"{name}, {last['kind']}", _written(last[key], share)) for key, name, share in _FIGURES[::2] if key in last]
    shown = evaluations[::-1][:: -(-len(evaluations) // _MAX_EVALUATIONS) or 1]
    return {
        "note": f"Training run of {about.get('model', 'a model')}",
        "figures": figures,
        "curves": [(title, *_curve(of_kind, key, share)) for key, title, share in _CHARTS if any(key in r for r in records)],
        "evaluations": _table([(f"{record['step']:,}", record) for record in shown[::-1]]),
        "origins": _table([(f"{part['source']} {part['language'] or 'unknown'}", part) for part in last.get("by_origin", ())]),
        "errors": [(record["step"], record.get("problem", "failed")) for record in of_kind["error"]],
    }


def _table(named: Sequence[tuple[str, Record]]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the names of the figures that records have, and each record's name and figures."""
    known = [figure for figure in _FIGURES if any(figure[0] in record for _, record in named)]
    rows = [(name, [_written(record.get(key), share) for key, _, share in known]) for name, record in named]
    return [f"#{name}" for _, name, _ in known], rows


def _curve(of_kind: dict[str, list[Record]], key: str, share: bool) -> tuple[Markup, str]:
    """Draw a figure in training and evaluation, and its baseline. Also return the legend."""
    lines, legend = [], []
    for kind, name in (("train", "training, blue"), ("evaluation", "evaluation, orange")):
        points = [(record["step"], record[key]) for record in of_kind[kind] if key in record]
        lines.append((name, points))
        legend += [f"{name}: {_written(points[-1][1], share)} at the end"] if points else []
    entropies = [record["unigram_entropy"] for record in of_kind["evaluation"] if record.get("unigram_entropy")]
    across = 0.5 if share else entropies[-1] if entropies else None
    legend += [f"{'chance' if share else 'unigram baseline'}, dashed: {_written(across, share)}"] if across else []
    return curves(lines, across, shares=share), "; ".join(legend)


def _written(value: Any, share: bool) -> str:
    if not isinstance(value, int | float) or not math.isfinite(value):
        return "–"
    return percent(value) if share else number(round(value, 3))
