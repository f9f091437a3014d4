"""Write the report of a training run: curve, evaluations, predictions and errors."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...codec import WrongValue, decode
from ...pieces import shown
from ...storage.files import read_json
from ..metrics import NAME, Record, read_metrics
from ..predicted import NAME as PREDICTIONS
from ..predicted import Predictions, Row
from ..summary import percent
from .charts import COLOURS, lines
from .curve import overlaid, panels
from .markup import Column, Html, foreign, join, number, table, tag
from .section import Section, figures
from .tokens import marked

__all__ = ["compare", "is_run", "key_figures", "predictions_of", "records_of", "sections"]

_BASELINES = (("unigram_entropy", "unigram baseline (nats)", False), ("random_baseline", "random baseline (nats)", False))
_FIGURES = (  # of an evaluation: key in metrics.jsonl, name, whether it is a share
    ("mlm_loss", "MLM loss (nats)", False),
    ("perplexity", "perplexity", False),
    ("mlm_accuracy", "MLM accuracy", True),
    ("nsp_loss", "NSP loss (nats)", False),
    ("nsp_accuracy", "NSP accuracy", True),
    *_BASELINES,
)
_MAX_EVALUATIONS = 12  # evaluations in the table


def is_run(directory: Path) -> bool:
    """Return True if a directory is of a training run."""
    return (directory / NAME).is_file()


def records_of(directory: Path) -> list[Record]:
    """Read the metrics of a run."""
    return read_metrics(directory / NAME)


def predictions_of(directory: Path) -> Predictions | None:
    """Read the predictions of a run's last saved model. Return None if the file is missing or damaged."""
    with contextlib.suppress(WrongValue):
        return decode(read_json(directory / PREDICTIONS), Predictions)
    return None


def key_figures(records: list[Record]) -> Html:
    """Return the figures that come first."""
    last = max((record["step"] for record in records), default=0)
    known = [("steps", f"{last:,}")]
    for kind in ("evaluation", "train"):
        of_kind = [record for record in records if record["kind"] == kind]
        if of_kind:
            known += [
                (f"{name}, {kind}", _written(of_kind[-1][key], share))
                for key, name, share in _FIGURES[:5:2]
                if key in of_kind[-1]
            ]
            break
    rates = _rates(records, "tokens_per_second")
    known += [("tokens a second", f"{np.median(rates):,.0f}")] if rates else []
    return figures(known)


def sections(records: list[Record], predictions: Predictions | None = None) -> Iterator[Section]:
    """Yield the sections of a run; `predictions` are those of its predictions.json."""
    measured = [record for record in records if record["kind"] in ("train", "evaluation")]
    if measured:
        pictures = [lines(panel, "step") for panel in panels(measured)]
        yield Section("curve", "Curve", tag("div", *pictures, class_="pair"))
    if evaluations := [record for record in records if record["kind"] == "evaluation"]:
        yield Section("evaluations", "Evaluations", _evaluations(evaluations))
        if by_origin := _by_origin([record for record in evaluations if record.get("by_origin")]):
            yield Section("origins", "Sources and languages", by_origin)
    if benchmarks := [record for record in records if record["kind"] == "benchmark"]:
        yield Section("benchmarks", "Benchmarks", _benchmarks(benchmarks))
    if body := _drawn(records):
        yield Section("drawn", "Rows by source and language", body)
    if predictions:
        yield Section("predictions", "Predictions", _predictions(predictions))
    if errors := [record for record in records if record["kind"] == "error"]:
        yield Section(
            "errors", "Errors", tag("ul", *(tag("li", f"step {e['step']:,}: {e.get('message', 'failed')}") for e in errors))
        )


def compare(runs: list[tuple[str, list[Record]]]) -> Section:
    """Return the curves of runs on the same axes, of more than four the first four, and their last evaluations."""
    charts = [lines(panel, "step") for panel in overlaid(runs[: len(COLOURS)])]
    last = [next((r for r in reversed(records) if r["kind"] == "evaluation"), {}) for _, records in runs]
    known = [figure for figure in _FIGURES if any(figure[0] in record for record in last)]
    rows = [("step", *(number(r["step"]) if r else "–" for r in last))]
    rows += [(name, *(_written(record.get(key), share) for record in last)) for key, name, share in known]
    columns = [Column(""), *(Column(name, numbers=True) for name, _ in runs)]
    ends = table("Last evaluation", columns, rows) if known else Html("")
    return Section("compare-runs", "Training runs: compared", join(tag("div", *charts, class_="pair"), ends))


def _evaluations(records: list[Record]) -> Html:
    """Return a table of evaluations, some from everywhere and the last."""
    every = -(-len(records) // _MAX_EVALUATIONS)
    shown = records[::-1][::every][::-1]
    known = [(key, name, share) for key, name, share in _FIGURES if any(key in record for record in shown)]
    fixed = ""
    for baseline in _BASELINES:
        key, name, share = baseline
        if baseline in known and len({record.get(key) for record in shown}) == 1:
            known.remove(baseline)
            fixed += f"; {name}: {_written(shown[0][key], share)}"
    columns = (Column("Step", numbers=True), *(Column(name[:1].upper() + name[1:], numbers=True) for _, name, _ in known))
    rows = [[f"{r['step']:,}", *(_written(r[key], share) if key in r else "–" for key, _, share in known)] for r in shown]
    return table(f"On documents held out{fixed}", columns, rows)


def _by_origin(records: list[Record]) -> Html:
    """Return a table of the sources and languages: the last evaluation, and the first loss."""
    if not records:
        return Html("")
    first, last = ({(part["source"], part["language"]): part for part in r["by_origin"]} for r in (records[0], records[-1]))
    known = [(key, name, share) for key, name, share in _FIGURES if any(key in part for part in last.values())]
    begun = f"MLM loss after step {records[0]['step']:,}"
    numbers = ("Rows", begun, *(name[:1].upper() + name[1:] for _, name, _ in known))
    columns = (Column("Source"), Column("Language"), *(Column(name, numbers=True) for name in numbers))
    rows = []
    for origin, part in last.items():
        before = _written(first.get(origin, {}).get("mlm_loss"), False)
        after = (_written(part.get(key), share) for key, _, share in known)
        rows.append([*map(foreign, origin), f"{part['rows']:,}", before, *after])
    return table(f"Rows of the validation split after step {records[-1]['step']:,}", columns, rows)


def _benchmarks(records: list[Record]) -> Html:
    """Return a table of the numbers of an evaluation function: some of the checkpoints, and the last."""
    shown = records[::-1][:: -(-len(records) // _MAX_EVALUATIONS)][::-1]
    names = list(dict.fromkeys(name for r in shown for name in r if name not in ("kind", "step", "of")))
    columns = (Column("Step", numbers=True), *(Column(name, numbers=True) for name in names))
    rows = [[f"{r['step']:,}", *(_written(r.get(name), False) for name in names)] for r in shown]
    return table("Numbers of the function that `evaluate` names", columns, rows)


def _drawn(records: list[Record]) -> Html:
    """Return how many rows of each source and language the run has served, or nothing for rows of one origin."""
    lines: list[tuple[str, ...]] = []
    for name in ("source", "language"):
        counts = sum(
            (Counter(record.get(f"rows_by_{name}", {})) for record in records if record["kind"] == "train"), Counter[str]()
        )
        lines += [(name, foreign(value or "unknown"), f"{n:,}", percent(n / counts.total())) for value, n in counts.most_common()]
    columns = (Column("By"), Column("Name"), Column("Rows", numbers=True), Column("Share", numbers=True))
    return table("", columns, lines) if lines else Html("")


def _predictions(predictions: Predictions) -> Html:
    """Return rows with their masked words, the predictions and the original words."""
    rows = [_predicted(row, predictions.mark, predictions.special) for row in predictions.rows]
    which = "rows held out" if predictions.held_out else "rows of the last training batch"
    note = f"Predictions of the model after step {predictions.step:,}, on {which}. "
    note += "The tables list the best guesses for each masked token."
    return join(tag("p", note), *rows)


def _predicted(row: Row, mark: str, special: list[str]) -> Html:
    words, pieces = row.words, row.pieces
    kinds = {w.at: "kept" if w.shown == w.truth else "[MASK]" for w in words}
    right = sum(bool(w.guesses) and w.guesses[0][0] == w.truth for w in words)
    body = [tag("p", f"{row.tokens:,} tokens; {right} of these {len(words)} words predicted correctly", class_="faint")]
    for pair in row.pairs or ():
        guess = tag("span", f"{pair.guess} ({percent(pair.share)})", class_="good" if pair.guess == pair.truth else "flag")
        body.append(tag("p", tag("b", pair.truth), ": predicted ", guess))
    body.append(tag("p", marked(pieces, kinds, mark, special), " …" if row.tokens > len(pieces) else ""))
    columns = (Column("Truth"), Column("Shown as"), *(Column(name) for name in ("Guess", "Second", "Third")))
    lines = []
    for w in words:
        cells = [tag("span", foreign(shown(piece, mark), most=40), class_="piece") for piece in (w.truth, w.shown)]
        for piece, share in w.guesses:
            name = tag("span", foreign(shown(piece, mark), most=40), class_="piece")
            cells.append(tag("span", name, f" {percent(share)}", class_="guess good" if piece == w.truth else "guess"))
        lines.append([*cells, *[""] * (len(columns) - len(cells))])  # guesses beyond the vocabulary of the rows are left out
    return tag("article", *body, table("", columns, lines))


def _rates(records: list[Record], key: str) -> list[float]:
    return [float(record[key]) for record in records if record["kind"] == "train" and key in record]


def _written(value: Any, share: bool) -> str:
    if not isinstance(value, int | float) or not math.isfinite(value):
        return "–"
    return percent(value) if share else number(round(value, 3))
