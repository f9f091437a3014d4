"""Write and read the metrics of a training run: a line of JSON for each measurement in metrics.jsonl, and to TensorBoard.

Measurements are sums, which add up over micro-batches, processes and steps; means are computed last.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..extras import missing_package
from ..storage.files import write_text

NAME = "metrics.jsonl"
SUMS = ("mlm_loss", "masked", "mlm_right", "nsp_loss", "pairs", "nsp_right", "rows", "tokens", "places")  # in this order
_ROWS, _TOKENS = SUMS.index("rows"), SUMS.index("tokens")
Record = dict[str, Any]  # "kind": train, evaluation, benchmark or error; "step"; and the metrics


def describe(sums: Sequence[float]) -> Record:
    """Return the means of sums.

    >>> means = describe([2.0, 4, 1, 0.0, 0, 0, 2, 48, 64])
    >>> means["mlm_loss"], means["mlm_accuracy"], round(means["perplexity"], 4), means["padding_share"], "nsp_loss" in means
    (0.5, 0.25, 1.6487, 0.25, False)
    """
    named = dict(zip(SUMS, sums, strict=True))
    masked, pairs = max(named["masked"], 1), named["pairs"]
    loss = named["mlm_loss"] / masked
    means = {"mlm_loss": loss, "mlm_accuracy": named["mlm_right"] / masked, "perplexity": math.exp(min(loss, 700))}
    if pairs:
        means |= {"nsp_loss": named["nsp_loss"] / pairs, "nsp_accuracy": named["nsp_right"] / pairs}
    return means | {"padding_share": 1 - named["tokens"] / max(named["places"], 1)}


def describe_origins(origins: Sequence[tuple[str, str]], sums: Sequence[Sequence[float]]) -> Record:
    """Return the means of each source and language as ``by_origin``, or nothing if all rows have the same.

    >>> sums = [[2.0, 4, 1, 0.0, 0, 0, 2, 48, 64], [6.0, 2, 0, 0.0, 0, 0, 1, 24, 32]]
    >>> describe_origins([("books", "en"), ("wikipedia", "en")], sums)["by_origin"][1]
    {'source': 'wikipedia', 'language': 'en', 'rows': 1, 'mlm_loss': 3.0, 'mlm_accuracy': 0.0}
    """
    found: list[Record] = []
    for (source, language), values in zip(origins, sums, strict=True):
        if rows := int(values[SUMS.index("rows")]):
            means = {name: value for name, value in describe(values).items() if name not in ("perplexity", "padding_share")}
            found.append({"source": source, "language": language, "rows": rows, **means})
    return {"by_origin": found} if len(found) > 1 else {}


class RunningSums:
    """Sums and rates of the steps since the last logged line.

    In a resumed run, the sums may include steps of an earlier process. The rates never do.
    """

    def __init__(self, sums: Sequence[float] | None = None) -> None:
        self.sums = list(sums or [0.0] * len(SUMS))
        self._rows = self._tokens = 0.0
        self._steps, self._since = 0, time.perf_counter()

    def add(self, sums: Sequence[float]) -> None:
        """Count a step."""
        self.sums = [old + new for old, new in zip(self.sums, sums, strict=True)]
        self._rows, self._tokens, self._steps = self._rows + sums[_ROWS], self._tokens + sums[_TOKENS], self._steps + 1

    def pause(self, seconds: float) -> None:
        """Leave time out of the rates that was not spent on steps."""
        self._since += seconds

    def close(self, steps_left: int) -> Record:
        """Return means and rates since the last call, and reset them."""
        seconds = max(time.perf_counter() - self._since, 1e-9)
        rates = {"sequences_per_second": self._rows / seconds, "tokens_per_second": self._tokens / seconds}
        left = {"tokens": int(self.sums[_TOKENS]), "seconds_left": steps_left * seconds / max(self._steps, 1)}
        record = {**describe(self.sums), **rates, **left}
        self.__init__()  # type: ignore[misc]
        return record


def read_metrics(path: Path) -> list[Record]:
    """Read the lines of a metrics.jsonl; a last one that was cut is left out."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


class Metrics:
    """Write the metrics of a run that continues from `step`.

    Lines of later steps, which the run repeats, and errors are removed. Step 0 removes all lines.
    """

    def __init__(self, output: Path, step: int, *, tensorboard: bool = False) -> None:
        self._path = output / NAME
        self._board: Any = None
        if tensorboard:
            try:
                from tensorboard.summary import Writer  # type: ignore[import-untyped,import-not-found,unused-ignore]
            except ImportError as error:
                raise missing_package("tensorboard = true needs TensorBoard", "tensorboard", error) from None
            self._board = Writer(str(output / "tensorboard"))
        old = read_metrics(self._path) if step > 0 else []
        kept = [record for record in old if record["step"] <= step and record["kind"] != "error"]
        write_text(self._path, "".join(json.dumps(record) + "\n" for record in kept))

    def write(self, record: Record) -> None:
        """Add a line."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        if self._board:
            scalars = [(name, value) for name, value in record.items() if name not in ("step", "of")]
            for part in record.get("by_origin", ()):
                scalars += [(f"{name}/{part['source']}.{part['language']}", part[name]) for name in part if name != "rows"]
            for name, value in scalars:
                if isinstance(value, int | float):
                    self._board.add_scalar(f"{record['kind']}/{name}", value, record["step"])
            self._board.flush()
