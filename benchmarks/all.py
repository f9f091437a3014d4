"""Run all benchmarks, and collect their ratios in one table and one picture.

    python benchmarks/all.py --size small                   or: make bench SIZE=small
    python benchmarks/all.py --size full --only loader tokens
    python benchmarks/all.py --render                       redraw the table and picture from stored measurements
    python benchmarks/all.py --check                        exit with code 1 if they differ from the stored measurements

Every file here with ``SIZES`` is a benchmark (see benchmarks/ratios.py). Each of its command lines runs `--repeats` times, one
after another, in a separate process. A row compares two figures of one run, ours and another program's on the same input, by
their ratio. The table shows the median, minimum and maximum of the runs' ratios. Measurements at `small` and `full` replace the
benchmark's earlier rows in docs/benchmarks.json, with their date and machine. They are rendered to docs/benchmarks.svg and
between the marks ``<!-- benchmarks: all -->`` and ``<!-- /benchmarks -->`` of docs/benchmarks.md, of README.md (``readme``: the
rows of benchmarks/readme.py) and of README.zh-CN.md (``chinese``). The exit code is 1 if a benchmark fails.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import json
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from bars import Bar, picture
from inputs import Inputs
from ratios import FILE, Ratio
from readme import CHINESE, SHOWN

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
MARKED = ("README.md", "README.zh-CN.md", "docs/benchmarks.md")
REPEATS = {"tiny": 1, "small": 2, "full": 3}
TITLE = "bertdata and its baselines, each row measured in the same runs"
_MARKS = re.compile(r"(<!-- benchmarks: (all|readme|chinese) -->\n).*?(<!-- /benchmarks -->)", re.DOTALL)
Row = dict[str, Any]  # a Ratio's fields, where `ours` and `theirs` have a figure per run, plus benchmark, size, date, machine


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, render or check. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--size", choices=REPEATS, default="small", help="how much to measure  [default: small]")
    add("--only", nargs="+", metavar="NAME", choices=sorted(benchmarks()), help="benchmarks to run  [default: all]")
    add("--repeats", type=int, help="runs of each  [default: 1 at tiny, 2 at small, 3 at full]")
    add("--render", action="store_true", help="measure nothing; make table and picture again")
    add("--check", action="store_true", help="measure and write nothing; name the files that are not as they would be made")
    options = parser.parse_args(arguments)
    if options.render or options.check:
        stale = {path: text for path, text in rendered(_known()).items() if path.read_text(encoding="utf-8") != text}
        for path, text in stale.items():
            print(f"{'stale' if options.check else 'written'}: {path.relative_to(HERE.parent)}")
            if options.render:
                path.write_text(text, encoding="utf-8")
        return int(options.check and bool(stale))
    failed, new = list[str](), list[Row]()
    with TemporaryDirectory(prefix="bertdata-bench-") as work:
        inputs = Inputs(options.size, Path(work))
        for name in options.only or benchmarks():
            rows = list(_measured(name, options.size, options.repeats or REPEATS[options.size], inputs, failed))
            new += rows
            if rows and options.size != "tiny":
                _keep([*(row for row in _known() if row["benchmark"] != name), *rows])
    print(table(new))
    for fault in failed:
        print(f"FAIL: {fault}", file=sys.stderr)
    return int(bool(failed))


def benchmarks() -> dict[str, dict[str, list[str]]]:
    """Return the command lines of each benchmark by size. Files are parsed, not imported, because some import torch."""
    found: dict[str, dict[str, list[str]]] = {}
    for path in sorted(HERE.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "SIZES":
                found[path.stem] = ast.literal_eval(node.value)
    return found


def command(name: str, line: str, inputs: Mapping[str, str]) -> list[str]:
    """Return the command: the benchmark's file and its arguments."""
    return [str(HERE / f"{name}.py"), *(part.format_map(inputs) for part in shlex.split(line))]


def _measured(name: str, size: str, repeats: int, inputs: Inputs, failed: list[str]) -> Iterator[Row]:
    """Run a benchmark's command lines, yield its rows, and record failures."""
    work = inputs.work()
    told = {"benchmark": name, "size": size, "date": f"{datetime.date.today()}", "machine": machine()}
    for line in benchmarks()[name].get(size, []):
        runs, words = work / "ratios", command(name, line, inputs)
        for number in range(repeats):
            print(f"{name}, run {number + 1} of {repeats} …", file=sys.stderr, flush=True)
            done = subprocess.run([sys.executable, *words], env={**os.environ, FILE: str(runs)}, cwd=work, check=False)
            if done.returncode not in (0, 1):  # 1: it ran and printed which of its limits it missed
                failed.append(f"{name} ended with exit code {done.returncode}")
        if not runs.exists():  # it failed, or no program to compare with is installed
            failed.append(f"{name} told no ratio")
        yield from ({**row, **told} for row in gathered(read(runs)))
        runs.unlink(missing_ok=True)


def read(path: Path) -> list[Ratio]:
    """Read the ratios that benchmarks recorded."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Ratio(**json.loads(line)) for line in lines]


def gathered(ratios: Sequence[Ratio]) -> list[Row]:
    """Group the runs of each row, in order of first appearance."""
    rows: dict[tuple[str, str, str], Row] = {}
    for one in ratios:
        row = rows.setdefault((one.what, one.unit, one.peer), one._asdict() | {"ours": [], "theirs": []})
        row["ours"].append(one.ours)
        row["theirs"].append(one.theirs)
    return list(rows.values())


def machine() -> str:
    """Return this machine's cores, processor and Python version."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    processor = model[1] if model else platform.processor() or platform.machine()
    return f"{os.cpu_count()} cores, {processor}, Python {platform.python_version()}"


def better(row: Row) -> Bar:
    """Return how many times better our figure is: the median, minimum and maximum run."""
    times = sorted(t / o if row["less"] else o / t for o, t in zip(row["ours"], row["theirs"], strict=True))
    return Bar(f"{row['what']} / {row['peer']}", median(times), times[0], times[-1])


def number(value: float) -> str:
    """Format a figure with three digits, a share with four, and a small figure with two.

    >>> number(16384.4), number(39.07), number(4.0), number(0.99971), number(0.009934)
    ('16,384', '39.1', '4', '0.9997', '0.0099')
    """
    if value >= 1:
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{value:.4g}" if value >= 0.1 else f"{value:.2g}"


def shown(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that README shows, in its order, without unmeasured ones."""
    named = {(row["what"], row["peer"]): row for row in rows}
    return [named[key] for key in SHOWN if key in named]


def table(rows: Sequence[Row], phrases: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return Markdown: the rows, and when and where they were measured. `phrases` has translations."""

    def say(phrase: str) -> str:
        return phrases.get(phrase, phrase)

    lines = [f"| | bertdata | {say('baseline')} | {say('ratio (min to max)')} |", "|---|---|---|---|"]
    for row in rows:
        ours, theirs, times = median(row["ours"]), median(row["theirs"]), better(row)
        unit = say("{unit}, lower is better" if row["less"] else "{unit}").format(unit=say(row["unit"]))
        spread = say(" ({least} to {most})").format(least=number(times.least), most=number(times.most))
        figures = f"{number(ours)} | {say(row['peer'])} {number(theirs)} | {number(times.middle)}"
        what = say("{what} ({unit})").format(what=say(row["what"]), unit=unit)
        lines.append(f"| {what} | {figures}{spread if len(row['ours']) > 1 else ''} |")
    return "\n".join([*lines, "", *(f"{line}  " for line in measured(rows, phrases))])


def measured(rows: Sequence[Row], phrases: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return a sentence for each day, machine and size. It lists its benchmarks if there are several sentences."""
    kinds: dict[tuple[str, str, str, int], list[str]] = {}
    for row in rows:
        names = kinds.setdefault((row["date"], row["machine"], row["size"], len(row["ours"])), [])
        names += [row["benchmark"]] * (row["benchmark"] not in names)
    lines = []
    for (date, where, size, runs), names in kinds.items():
        many = "median of {runs} runs" if runs > 1 else "one run"
        sentence = f"measured {{date}} with the {{size}} inputs on {{where}}; {many}."
        for part in ("cores", ", "):
            where = where.replace(part, phrases.get(part, part))
        told = phrases.get(sentence, sentence).format(date=date, size=size, where=where, runs=runs)
        listed = phrases.get(", ", ", ").join(f"`{name}`" for name in names) + phrases.get(": ", ": ")
        lines.append(f"{listed if len(kinds) > 1 else ''}{told}")
    return lines


def rendered(rows: Sequence[Row]) -> dict[Path, str]:
    """Return the expected contents of each file with a table, and of the picture."""
    files = {DOCS / "benchmarks.svg": picture(TITLE, " ".join(measured(rows)[:1]), [better(row) for row in rows])}
    tables = {"all": table(rows), "readme": table(shown(rows)), "chinese": table(shown(rows), CHINESE)}
    for path in (HERE.parent / name for name in MARKED):
        text = path.read_text(encoding="utf-8")
        files[path] = _MARKS.sub(lambda found: f"{found[1]}{tables[found[2]]}\n{found[3]}", text)
    return files


def _keep(rows: list[Row]) -> None:
    """Store the measured rows, replacing each benchmark's old ones, and render the table and the picture."""
    rows.sort(key=lambda row: str(row["benchmark"]))
    (DOCS / "benchmarks.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for path, text in rendered(rows).items():
        path.write_text(text, encoding="utf-8")


def _known() -> list[Row]:
    path = DOCS / "benchmarks.json"
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return rows


if __name__ == "__main__":
    sys.exit(main())
