"""Run all benchmarks, and make of their ratios one table and one picture.

    python benchmarks/all.py --size small                   or: make bench SIZE=small
    python benchmarks/all.py --size full --only loader tokens
    python benchmarks/all.py --render                       table and picture again, of what was measured
    python benchmarks/all.py --check                        whether they are those of what was measured; exit code 1 if not

Every file here with ``SIZES`` is a benchmark (benchmarks/ratios.py); each of its command lines runs `--repeats` times, as a
process of its own, one after the other.  A row is two figures of one run, ours and another's on the same input, and their
ratio; the table has the middle of the runs' ratios, and the least and the most.  What is measured at `small` and `full` goes to
docs/benchmarks.json, with its date and machine, in place of the same benchmark's earlier rows; of it are made the tables between
the marks ``<!-- benchmarks: all -->`` and ``<!-- /benchmarks -->`` of docs/benchmarks.md, of README.md (``readme``: the rows of
benchmarks/readme.py) and of README.zh-CN.md (``chinese``), and docs/benchmarks.svg.  Exit code 1 where a benchmark fails.
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
Row = dict[str, Any]  # the fields of a Ratio, `ours` and `theirs` a list of a figure a run; benchmark, size, date, machine


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, or compare; return the exit code."""
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
    """Return the command lines of each benchmark by size; a file is read, not imported, for some load torch."""
    found: dict[str, dict[str, list[str]]] = {}
    for path in sorted(HERE.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "SIZES":
                found[path.stem] = ast.literal_eval(node.value)
    return found


def command(name: str, line: str, inputs: Mapping[str, str]) -> list[str]:
    """Return what to run: the benchmark's file and its arguments."""
    return [str(HERE / f"{name}.py"), *(part.format_map(inputs) for part in shlex.split(line))]


def _measured(name: str, size: str, repeats: int, inputs: Inputs, failed: list[str]) -> Iterator[Row]:
    """Run a benchmark's command lines; yield its rows, and add what failed."""
    work = inputs.work()
    told = {"benchmark": name, "size": size, "date": f"{datetime.date.today()}", "machine": machine()}
    for line in benchmarks()[name].get(size, []):
        runs, words = work / "ratios", command(name, line, inputs)
        for number in range(repeats):
            print(f"{name}, run {number + 1} of {repeats} …", file=sys.stderr, flush=True)
            done = subprocess.run([sys.executable, *words], env={**os.environ, FILE: str(runs)}, cwd=work, check=False)
            if done.returncode not in (0, 1):  # 1: it ran, and what it asks for is not reached, which it has said
                failed.append(f"{name} ended with exit code {done.returncode}")
        if not runs.exists():  # it broke, or none of those that it is measured beside is installed
            failed.append(f"{name} told no ratio")
        yield from ({**row, **told} for row in gathered(read(runs)))
        runs.unlink(missing_ok=True)


def read(path: Path) -> list[Ratio]:
    """Read what benchmarks told."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Ratio(**json.loads(line)) for line in lines]


def gathered(ratios: Sequence[Ratio]) -> list[Row]:
    """Put the runs of a row together, in the order of their first."""
    rows: dict[tuple[str, str, str], Row] = {}
    for one in ratios:
        row = rows.setdefault((one.what, one.unit, one.peer), one._asdict() | {"ours": [], "theirs": []})
        row["ours"].append(one.ours)
        row["theirs"].append(one.theirs)
    return list(rows.values())


def machine() -> str:
    """Return cores, processor and Python of this machine."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    processor = model[1] if model else platform.processor() or platform.machine()
    return f"{os.cpu_count()} cores, {processor}, Python {platform.python_version()}"


def better(row: Row) -> Bar:
    """Return how many times better our figure is: the middle run, the least and the most."""
    times = sorted(t / o if row["less"] else o / t for o, t in zip(row["ours"], row["theirs"], strict=True))
    return Bar(f"{row['what']} / {row['peer']}", median(times), times[0], times[-1])


def number(value: float) -> str:
    """Write a figure in three digits, of a share in four, of a small one in two.

    >>> number(16384.4), number(39.07), number(4.0), number(0.99971), number(0.009934)
    ('16,384', '39.1', '4', '0.9997', '0.0099')
    """
    if value >= 1:
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{value:.4g}" if value >= 0.1 else f"{value:.2g}"


def shown(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that README shows, in its order; one that was not measured is left out."""
    named = {(row["what"], row["peer"]): row for row in rows}
    return [named[key] for key in SHOWN if key in named]


def table(rows: Sequence[Row], phrases: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return Markdown: the rows, and when and where they were measured; `phrases` are those of another language."""

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
    """Return a sentence for each day, machine and size, with the benchmarks that it is of, if there are several."""
    kinds: dict[tuple[str, str, str, int], list[str]] = {}
    for row in rows:
        names = kinds.setdefault((row["date"], row["machine"], row["size"], len(row["ours"])), [])
        names += [row["benchmark"]] * (row["benchmark"] not in names)
    lines = []
    for (date, where, size, runs), names in kinds.items():
        many = "median of {runs} runs" if runs > 1 else "one run"
        sentence = f"measured {{date}} at size {{size}} on {{where}}; {many}."
        for part in ("cores", ", "):
            where = where.replace(part, phrases.get(part, part))
        told = phrases.get(sentence, sentence).format(date=date, size=size, where=where, runs=runs)
        lines.append(f"{', '.join(f'`{name}`' for name in names) + ': ' if len(kinds) > 1 else ''}{told}")
    return lines


def rendered(rows: Sequence[Row]) -> dict[Path, str]:
    """Return what each file with a table, and the picture, would hold."""
    files = {DOCS / "benchmarks.svg": picture(TITLE, " ".join(measured(rows)[:1]), [better(row) for row in rows])}
    tables = {"all": table(rows), "readme": table(shown(rows)), "chinese": table(shown(rows), CHINESE)}
    for path in (HERE.parent / name for name in MARKED):
        text = path.read_text(encoding="utf-8")
        files[path] = _MARKS.sub(lambda found: f"{found[1]}{tables[found[2]]}\n{found[3]}", text)
    return files


def _keep(rows: list[Row]) -> None:
    """Write what was measured, by benchmark, and the table and the picture of it."""
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
