"""Print the progress of `bertdata train`: a bar on a terminal, else lines, and a line for each record of metrics."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..config.train import TrainConfig
from ..reports.metrics import Record
from ..reports.summary import count
from ..storage.terminal import clean
from . import output as console
from .bars import drawn, is_watched
from .output import duration, echo

__all__ = ["figures", "progress"]

_MAX_ORIGINS = 8  # sources and languages in a line; the report has all
_LINE_INTERVAL_S = 30.0  # between two lines without a terminal


@contextlib.contextmanager
def progress(config: TrainConfig, chief: bool, position: Any) -> Iterator[Callable[[Record], None]]:
    """Yield a function that prints a metrics record. A terminal also gets a bar, other output a line every 30 seconds.

    `position.shown` is set to a function that gets the finished steps, the tokens per second and the seconds left.
    """
    total = config.total_steps
    if not chief or console.is_quiet():
        yield lambda record: None
    elif is_watched():
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

        facts, words = TextColumn("{task.fields[text]}"), TextColumn("elapsed")
        with drawn(TextColumn("train"), BarColumn(bar_width=16), MofNCompleteColumn(), facts, words, TimeElapsedColumn()) as bars:
            bar = bars.add_task("train", total=total, text="")
            position.shown = lambda done, rate, left: bars.update(bar, completed=done, text=_speed(rate, left))
            yield lambda record: bars.console.print(clean(_line(record)), markup=False, highlight=False)
    else:
        due = time.monotonic() + _LINE_INTERVAL_S

        def show(done: int, rate: float, left: float) -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + _LINE_INTERVAL_S
                _print({"kind": "progress", "step": done, "of": total, "tokens_per_second": rate, "seconds_left": left})

        position.shown = show
        yield _print


def _print(record: Record) -> None:
    if console.is_json():
        counts = {key: value for key, value in record.items() if key != "kind"}
        console.event(record["kind"], "train", counts, level="error" if record["kind"] == "error" else "info")
    else:
        echo(_line(record), err=True)


def _speed(tokens_per_second: float, seconds_left: float) -> str:
    return f"{tokens_per_second:,.0f} tokens/s  left {duration(seconds_left)}"


def _line(record: Record) -> str:
    """Format a metrics record, or the progress, as one line."""
    if record["kind"] == "progress":
        speed = _speed(record["tokens_per_second"], record["seconds_left"])
        return f"{record['step']:>9,}  of {count(record['of'], 'step')}  {speed}"
    if record["kind"] == "error":
        return f"{record['step']:>9,}  error: {record['problem']}"
    if record["kind"] == "evaluation":
        return f"{record['step']:>9,}  evaluation: {figures(record)}"
    if record["kind"] == "benchmark":
        numbers = {name: value for name, value in record.items() if name not in ("kind", "step", "of")}
        return f"{record['step']:>9,}  benchmark: {', '.join(f'{name} {value:.4g}' for name, value in numbers.items())}"
    norm = record["gradient_norm"]
    rates = f"{record['sequences_per_second']:,.0f} rows/s  {record['tokens_per_second']:,.0f} tokens/s"
    rates += f"  padding {record['padding_share']:.1%}"
    learning = f"lr {record['learning_rate']:.2e}  grad norm {'overflow' if norm is None else f'{norm:.2f}'}"
    return f"{record['step']:>9,}  {figures(record)}  {learning}  {rates}  {duration(record['seconds_left'])} left"


def figures(record: Record) -> str:
    """Format the losses and accuracies of a metrics record."""
    text = f"MLM loss {record['mlm_loss']:.3f}, accuracy {record['mlm_accuracy']:.1%}, perplexity {record['perplexity']:,.1f}"
    text += f"; NSP loss {record['nsp_loss']:.3f}, accuracy {record['nsp_accuracy']:.1%}" if "nsp_loss" in record else ""
    baselines = [("unigram", record.get("unigram_entropy")), ("random", record.get("random_baseline"))]
    known = ", ".join(f"{name} {value:.3f}" for name, value in baselines if value is not None)
    text += f"; loss of baselines: {known}" if known else ""
    parts = [f"{part['source']} {part['language']} {part['mlm_loss']:.3f}" for part in record.get("by_origin", ())]
    return text + (
        f"; MLM loss of {', '.join(parts[:_MAX_ORIGINS])}{', …' if len(parts) > _MAX_ORIGINS else ''}" if parts else ""
    )
