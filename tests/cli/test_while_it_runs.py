"""What a command says while it runs: progress by bytes, plans, lines of JSON, silence; and a disk that is too small."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import namedtuple
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bertdata.commands.progress import Progress
from bertdata.storage.progress import TaskProgress
from click.testing import CliRunner
from conftest import Build, Run

import bertdata
from bertdata.cli import bars, cli, output
from bertdata.cli.doctor import command as doctor
from bertdata.commands import progress
from bertdata.errors import StorageError
from bertdata.storage import cgroup, process

COMMANDS = (
    "build-corpus",
    "train-vocab",
    "make-pairs",
    "export",
    "train",
    "verify",
    "inspect",
    "demo",
    "doctor",
    "run",
)


@pytest.mark.slow
def test_progress_of_one_task_moves_while_it_is_at_work(text: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """One task of a second and a half: bytes and documents grow before it is done, to the whole."""
    from bertdata.stages.corpus import source_records

    whole = source_records.read

    def slowly(*arguments: Any) -> Iterator[Any]:
        for record in whole(*arguments):
            time.sleep(0.004)
            yield record

    monkeypatch.setattr(source_records, "read", slowly)
    seen: list[Progress] = []
    bertdata.build_corpus(
        text=text,
        output=tmp_path / "corpus",
        config=bertdata.CorpusConfig(task_bytes=1 << 30, choice=bertdata.ChoiceConfig(dedup="none")),
        workers=1,
        progress=seen.append,
    )
    moving = [told for told in seen if told.step == "Extract" and told.done == 0 and 0 < told.bytes < told.total_bytes]
    assert moving, "nothing was told before the task was done"
    assert all(told.workers == 1 and 0 < told.share < 1 for told in moving)
    extracted = [told.bytes for told in seen if told.step == "Extract"]
    assert extracted == sorted(extracted)
    last = seen[-1]
    assert (last.done, last.total, last.bytes) == (1, 1, last.total_bytes)
    assert 0 < last.documents <= 400  # those that were seen: what workers say goes at the commit


def test_progress_does_not_go_back_where_a_worker_is_lost(tmp_path: Path) -> None:
    """Its task begins anew, with nothing read: what is shown waits for it."""
    monitor = progress.Monitor([tmp_path], [progress.ProgressStep("Extract", "extract", 2, 100)])
    lost = TaskProgress("extract", 0, bytes=70, documents=9, rejects=1, worker=1)

    def shown() -> list[tuple[int, int, int]]:
        return [(told.bytes, told.documents, told.rejects) for told in monitor.look()]

    monitor.receive(lost)
    assert shown() == [(70, 9, 1)]
    monitor.receive(lost._replace(bytes=0, documents=0, rejects=0, worker=2))
    assert shown() == [(70, 9, 1)]
    monitor.receive(lost._replace(bytes=80, documents=10, worker=2))
    assert shown() == [(80, 10, 1)]


@pytest.mark.parametrize("failure", [None, PermissionError("the store is busy")])
def test_progress_is_reported_every_five_seconds_however_long_a_look_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception | None
) -> None:
    """A look of 20 seconds, or one that fails, is followed by the next within five seconds."""
    now, pauses, looks = [0.0], list[float](), list[float]()

    class Clock:
        """Stands for the `threading.Event` that ends the reports: it advances the time and ends after five waits."""

        def wait(self, seconds: float) -> bool:
            pauses.append(seconds)
            now[0] += seconds
            return len(pauses) > 5

        def set(self) -> None: ...

    def count_done(directory: Path, step: str) -> int:
        looks.append(now[0])
        now[0] += 20.0
        if failure is not None and len(looks) == 1:
            raise failure
        return 1

    monitor = progress.Monitor([tmp_path], [progress.ProgressStep("Extract", "extract", 2, 100)], counts=True)
    monkeypatch.setattr(progress, "threading", SimpleNamespace(Event=Clock, Thread=threading.Thread))
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(progress, "count_done", count_done)
    reports: list[Progress] = []
    with progress.watched(monitor, progress.PythonReporter(reports.append)):
        deadline = time.perf_counter() + 60
        while len(pauses) <= 5 and time.perf_counter() < deadline:
            time.sleep(0.01)
    assert len(pauses) == 6 and max(pauses) == 5.0, pauses
    assert len(reports) == 6 - (failure is not None), "each look that works is reported, and the end"


def test_a_vocabulary_with_fewer_pieces_than_asked_for_says_so(sample_corpus: Path, tmp_path: Path) -> None:
    arguments = ["train-vocab", str(sample_corpus), "--output", str(tmp_path / "vocab"), "--size", "60000", "--workers", "1"]
    assert re.search(r"note: [\d,]+ tokens, not 60,000: .* or a smaller --size$", CliRunner().invoke(cli, arguments).stderr, re.M)


def test_lines_of_json_and_silence(run: Run, text: Path, tmp_path: Path) -> None:
    arguments = ["build-corpus", "--text", text, "--output", tmp_path / "out", "--workers", 1]
    done = run(*arguments, "--log-json")
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert all({"time", "level", "run", "event", "step", "counts", "seconds"} <= set(event) for event in events)
    assert len({event["run"] for event in events}) == 1 and {event["level"] for event in events} == {"info"}
    times = [datetime.fromisoformat(event["time"].replace("Z", "+00:00")) for event in events]
    assert times == sorted(times) and abs(datetime.now(timezone.utc) - times[-1]) < timedelta(minutes=10)
    assert [event["event"] for event in events if event["event"] != "message"][:1] == ["plan"]
    (last,) = [
        e for e in events if e["event"] == "progress" and e["step"] == "Extract" and e["counts"]["done"] == e["counts"]["total"]
    ]
    assert last["share"] == 1.0 and last["counts"]["documents"] <= 400
    assert events[-1]["event"] == "done" and events[-1]["counts"] == {"rows": 400, "dropped": {}, "rejected": {}}
    (again,) = [json.loads(line) for line in run(*arguments, "--log-json").stderr.splitlines() if '"nothing to do"' in line]
    assert again["run"] != events[0]["run"] and again["counts"] == events[-1]["counts"]
    quiet = run(*arguments, "--quiet")
    assert quiet.stdout + quiet.stderr == ""
    failed = run("build-corpus", "--text", tmp_path / "none", "--output", tmp_path / "x", "--quiet", code=2)
    assert "no file of this name" in failed.stderr and failed.stdout == ""
    failed = run("build-corpus", "--text", tmp_path / "none", "--output", tmp_path / "x", "--log-json", code=2)
    error = json.loads(failed.stderr)
    assert (error["event"], error["level"], error["exit_code"]) == ("error", "error", 2)
    assert "use one of them" in run(*arguments, "--quiet", "--log-json", code=2).stderr


def test_a_dry_run_of_many_files_lists_the_first_ones(run: Run, tmp_path: Path) -> None:
    (tmp_path / "books").mkdir()
    for number in range(300):
        (tmp_path / "books" / f"{number:03}.txt").write_text("A kettle sings.\n")
    lines = run("build-corpus", "--books", tmp_path / "books", "--output", tmp_path / "out", "--dry-run").stdout.splitlines()
    assert len(lines) < 40
    assert sum(line.startswith("  books ") for line in lines) == 20
    assert "  and 280 more files, 4.5 kB" in lines


def test_json_counts_drops_and_rejects_by_reason(run: Run, tmp_path: Path) -> None:
    lines = ["0 bottles", '{"text": ""}', *[json.dumps({"text": "A kettle sings in the kitchen."})] * 2]
    (tmp_path / "text.jsonl").write_text("\n".join(lines) + "\n")
    words = ("build-corpus", "--text", tmp_path / "text.jsonl", "--output", tmp_path / "out", "--max-rejects", 1)
    done = json.loads(run(*words, "--log-json").stderr.splitlines()[-1])
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert done["event"] == "done" and done["counts"]["rows"] == 1
    assert sum(done["counts"]["dropped"].values()) == 1 and done["counts"]["rejected"] == {"empty": 1, "malformed-json": 1}
    for fate in ("dropped", "rejected"):
        assert done["counts"][fate] == {reason: n for stage in manifest["counts"] for reason, n in stage[fate].items()}


def test_everything_on_stderr_is_json(tmp_path: Path, text: Path) -> None:
    """Also an option that is refused, a log record, a Python warning, a signal, and a warning of the command."""
    words = ["build-corpus", "--text", str(text), "--output", str(tmp_path / "out"), "--log-json"]

    def events(code: int, arguments: list[str], patch: str = "") -> list[dict[str, Any]]:
        program = f"import sys\nfrom bertdata.cli import main\n{patch}\nsys.argv[1:] = {arguments!r}\nmain()"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return [json.loads(line) for line in done.stderr.splitlines() if line]  # click ends a line at an interrupt

    (refused,) = events(2, [*words, "--max-words", "many"])
    assert refused["level"] == "error" and refused["exit_code"] == 2 and "many" in refused["text"]
    patch = """
import logging, os, signal, time, warnings
from bertdata.commands import execute
def stopped(plan, options, reporter):
    logging.getLogger("a.library").error("cannot: %s", "it")
    warnings.warn("old")
    reporter.warning("worker lost")
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
execute.run = stopped
"""
    found = {event["event"] + (event.get("logger") or ""): event for event in events(143, [*words, "--verbose"], patch)}
    assert (found["loga.library"]["level"], found["loga.library"]["text"]) == ("error", "cannot: it")
    assert found["logpy.warnings"]["level"] == "warning"
    assert (found["message"]["level"], found["message"]["text"]) == ("warning", "worker lost")
    assert found["stopped"]["level"] == "warning" and found["stopped"]["step"] == "build-corpus"
    assert len({event["run"] for event in found.values()}) == 1


def test_without_a_terminal_there_is_a_line_every_half_minute(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    now = [0.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    output.configure(quiet=False, log_json=False)
    told = Progress("Extract", 3, 9, 1_500_000, 6_000_000, 1234, 5, 62.0, 24_000.0, 187.5, 2)
    with bars.reporting() as reporter:
        for now[0] in (1.0, 29.0, 30.5, 31.0, 59.0, 61.0):
            reporter.progress(told)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0] == (
        "  Extract: 25.0%  1.5 MB of 6.0 MB  24.0 kB/s  1,234 documents  5 rejects  elapsed 0:01:02  left 0:03:08  "
        "2 workers at work"
    )
    answer = bars.answer()
    assert "is kept: Extract: at least 3 of 9 tasks (33.3%, 1,234 documents): continue with the same command" in answer.text


def test_lines_come_in_the_order_of_the_steps(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """What is told again of a step when all is over stands in no line behind a later one; one task without bytes has no share."""
    now = [0.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    output.configure(quiet=False, log_json=False)
    training = Progress("Train vocabulary", 0, 1, seconds=38.0, workers=1)
    with bars.reporting() as reporter:
        for now[0], told in (
            (31.0, Progress("Count words", 2, 3, 600, 900, seconds=31.0)),
            (62.0, training),
            (93.0, Progress("Count words", 3, 3, 900, 900, seconds=31.0)),
            (94.0, training._replace(done=1, seconds=70.0, workers=0)),
        ):
            reporter.progress(told)
    assert capsys.readouterr().err.splitlines() == [
        "  Count words: 66.7%  600 B of 900 B  elapsed 0:00:31",
        "  Train vocabulary: at work  elapsed 0:00:38  1 worker at work",
        "  Train vocabulary: done  elapsed 0:01:10",
    ]


def test_training_a_vocabulary_is_a_stage_of_its_own(build: Build, sample_corpus: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    config = bertdata.VocabConfig(size=300)
    bertdata.train_vocab(sample_corpus, output=tmp_path / "vocab", config=config, workers=1, progress=seen.append)
    assert [step.step for step in seen[-2:]] == ["Count words", "Train vocabulary"] and seen[-1].share == 1.0


def test_what_has_not_changed_is_not_read_again(build: Build, text: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """Neither a dump's header nor where it can be cut; a change of a byte that keeps size and time is seen all the same."""
    from bertdata.commands import build_corpus as planning

    source, made = tmp_path / "text.jsonl", tmp_path / "corpus"
    source.write_bytes(text.read_bytes())
    arguments = ["build-corpus", "--text", str(source), "--output", str(made), "--workers", "1"]
    build("build-corpus", made, "--text", source)
    cut: list[Any] = []
    whole = planning.cut_input
    monkeypatch.setattr(planning, "cut_input", lambda *given: cut.append(given) or whole(*given))
    for more in ([], ["--dry-run"]):
        assert "complete already: nothing to do" in CliRunner().invoke(cli, [*arguments, *more]).output
    again = bertdata.build_corpus(text=source, output=made, workers=1)
    assert (cut, again.new) == ([], False)
    about = source.stat()
    with source.open("r+b") as file:
        file.write(b" ")
    os.utime(source, ns=(about.st_atime_ns, about.st_mtime_ns))
    CliRunner().invoke(cli, arguments)
    assert len(cut) == 1
    source.write_bytes(text.read_bytes() + b"\n")
    changed = CliRunner().invoke(cli, arguments)
    assert len(cut) == 2 and "what differs: 1 input has changed: text.jsonl (bytes)" in str(changed.exception)
    build("build-corpus", made, "--text", source, "--overwrite")
    assert len(cut) == 3 and bertdata.build_corpus(text=source, output=made, workers=1, overwrite=True).new


def test_a_dry_run_is_a_plan(build: Build, text: Path, tmp_path: Path) -> None:
    arguments = ["build-corpus", "--text", str(text), "--output", str(tmp_path / "corpus"), "--dry-run"]
    shown = CliRunner().invoke(cli, arguments).output
    times = r"\d+:\d\d:\d\d \(\d+:\d\d:\d\d to \d+:\d\d:\d\d\)"
    assert re.search(rf"time: about {times} on this machine with \d workers?, from samples of the input", shown)
    assert re.search(r"memory: about [\d.]+ [MG]B per worker", shown)
    assert re.search(r"disk: about [\d.]+ kB of output.* are free", shown)
    assert not (tmp_path / "corpus").exists()
    size = int(float(re.findall(r"about ([\d.]+) kB of output", shown)[0]) * 1000)
    build("build-corpus", tmp_path / "corpus", "--text", text)
    made = sum(path.stat().st_size for path in (tmp_path / "corpus" / "data").iterdir())
    assert 0.8 < size / made < 1.25
    assert "complete already: nothing to do" in CliRunner().invoke(cli, arguments).output


@pytest.mark.slow
def test_a_dry_run_says_what_an_earlier_run_has_done(text: Path, tmp_path: Path, monkeypatch: Any) -> None:
    from bertdata.stages.corpus import extract

    output_of, done = tmp_path / "corpus", []
    whole = extract.Extract.__call__

    def fail(self: Any, task: Any, work: Any) -> Any:
        done.append(task.number)
        if len(done) > 2:
            raise StorageError("no space")
        return whole(self, task, work)

    monkeypatch.setattr(extract.Extract, "__call__", fail)
    config = bertdata.CorpusConfig(task_bytes=1 << 16)
    with pytest.raises(StorageError):
        bertdata.build_corpus(text=text, output=output_of, config=config, workers=1)
    arguments = ["build-corpus", "--text", str(text), "--task-bytes", str(1 << 16), "--output", str(output_of), "--dry-run"]
    kept = "an earlier run finished 2 tasks of extract, which this run reuses"
    assert kept in CliRunner().invoke(cli, arguments).output
    monkeypatch.undo()
    said = CliRunner().invoke(cli, [*arguments[:-1], "--workers", "1"]).stderr.splitlines()
    assert sum(kept in line for line in said) == 1, "the run says it as well"


@pytest.mark.slow
def test_a_run_that_does_not_fit_says_so_before_its_first_byte(text: Path, tmp_path: Path, monkeypatch: Any) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9 - 10_000, 10_000))
    arguments = ["build-corpus", "--text", str(text), "--output", str(tmp_path / "corpus"), "--workers", "1"]
    refused = CliRunner().invoke(cli, arguments)
    assert isinstance(refused.exception, StorageError)
    assert re.search(
        r"not enough space: about [\d.]+ kB of output .* 10.0 kB are free: .*--no-check-space", str(refused.exception)
    )
    assert not (tmp_path / "corpus").exists()
    assert CliRunner().invoke(cli, [*arguments, "--no-check-space"]).exit_code == 0
    assert (tmp_path / "corpus" / "manifest.json").exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_screen_and_help_all_leaves_nothing_out(name: str) -> None:
    context: dict[str, Any] = {"prog_name": "bertdata", "terminal_width": 80}
    brief = CliRunner().invoke(cli, [name, "--help"], **context).output
    assert len(brief.splitlines()) <= 50
    command = cli.get_command(None, name)  # type: ignore[arg-type]
    options = [param for param in command.params if param.opts[0].startswith("-") and not getattr(param, "hidden", False)]  # type: ignore[union-attr]
    assert all(any(opt in brief for opt in param.opts) for param in options)
    if "--help-all" in brief:
        full = CliRunner().invoke(cli, [name, "--help-all"], **context)
        assert full.exit_code == 0
        assert all(any(f"  {opt}" in full.output or f", {opt}" in full.output for opt in param.opts) for param in options)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_the_default_of_each_option_that_it_explains(name: str) -> None:
    brief, full = (
        dict(re.findall(r"^  (--[a-z-]+)(?= )(.*?)(?=^  -|^\S|^$|\Z)", shown, re.M | re.S))
        for shown in (CliRunner().invoke(cli, [name, flag], terminal_width=200).output for flag in ("--help", "--help-all"))
    )
    defaults = {option: found[0] for option, text in full.items() if (found := re.findall(r"\[default:[^\]]+\]", text))}
    assert {option for option in brief.keys() & defaults.keys() if defaults[option] not in brief[option]} == set()
    assert name not in ("train-vocab", "make-pairs") or "[default: 12345]" in brief["--seed"]


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["build-corpsu"], "Did you mean 'build-corpus'"),
        (["build-corpus", "--ouput", "x"], "Did you mean '?--output"),
        (["build-corpus", "--varient", "x"], r"Did you mean '?--variant'?\?\s*$"),
        (["build-corpus", "--runer", "x"], r"No such option '?--runer'?\. Pass Beam's options at the end"),
        (
            ["make-pairs", "corpus", "--output", "x"],
            r"'--vocab'[^;]*; made by bertdata train-vocab corpus --output vocab; for exam",
        ),
        (
            ["make-pairs"],
            "Made by bertdata build-corpus --wikipedia DUMP --output corpus; for example: bertdata make-pairs corpus ",
        ),
        (["report", "a b", "c"], r"bertdata report 'a b' c --output compared\.html$"),
        (["build-corpus", "--text", "{tmp}/t.parquet", "--text-column", "txet", "--output", "{tmp}/o"], "did you mean 'text'"),
        (
            ["build-corpus", "--text", "{tmp}/t.parquet", "--language", "germann", "--output", "{tmp}/o"],
            r"did you mean de \(German\)",
        ),
        (["download", "wikipedia", "--language", "chinese", "--output", "{tmp}/o"], "use zh"),
        (["export", "{tmp}", "--to", "jsnl", "--output", "{tmp}/o"], "'lddl': did you mean 'jsonl'"),
        (["make-pairs", "{tmp}", "--vocab", "{tmp}", "--objective", "nps", "--output", "{tmp}/o"], "did you mean 'nsp'"),
        (["build-corpus", "--text", "{tmp}/t.parquet", "--languages", "enn", "--output", "{tmp}/o"], "language \\w+, not enn"),
    ],
)
def test_a_slip_of_the_pen_is_answered_with_what_was_meant(run: Run, tmp_path: Path, arguments: list[str], meant: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": ["A kettle sings."], "title": ["Tea"]}), tmp_path / "t.parquet")
    nothing_left = "--languages" in arguments  # a code may be one that no document has
    done = run(*(argument.replace("{tmp}", str(tmp_path)) for argument in arguments), code=3 if nothing_left else 2)
    assert re.search(meant, done.stderr)
    assert not list(tmp_path.glob("o/.bertdata/build-*"))  # nothing that a run with other options would run into


def test_doctor_checks_the_machine(monkeypatch: Any) -> None:
    monkeypatch.setattr(cgroup, "limits", lambda: cgroup.Limits(cores=1.5, memory=1_500_000_000))
    monkeypatch.setattr(process, "usable_cpus", lambda: 64)
    monkeypatch.setattr("bertdata.commands.doctor.usable_cpus", lambda: 64)
    monkeypatch.setattr("bertdata.commands.doctor.missing", lambda modules: ["jieba"] if "jieba" in modules else [])
    monkeypatch.setattr("bertdata.commands.doctor._version", lambda package: "" if package in ("nanotoken", "rich") else "1.2")
    done = CliRunner().invoke(doctor, [])
    assert done.exit_code == 0 and not done.stderr
    assert re.search(r"^  apache-beam +1\.2$", done.output, re.MULTILINE)
    assert re.search(r"^! rich +not installed: pip install rich$", done.output, re.MULTILINE)
    assert re.search(r"^  WordPiece +encoded by tokenizers, .*: pip install nanotoken$", done.output, re.MULTILINE)
    assert re.search(r"^  byte-level BPE +encoded by gigatoken 1\.2$", done.output, re.MULTILINE)
    assert re.search(r"^  CPUs +64 usable, CPU quota 1.5: up to 2 workers by default$", done.output, re.MULTILINE)
    assert re.search(r"^! memory .* free, limit of the container 1.5 GB: use fewer --workers", done.output, re.MULTILINE)
    assert re.search(r"^  disk here +[\d.]+ .B free of ", done.output, re.MULTILINE)
    assert "  extra chinese          not installed (pip install jieba opencc): words of Chinese\n" in done.output
    assert re.search(r"^  extra train +installed: ", done.output, re.MULTILINE)
    assert all(line[24] == " " != line[25] for line in done.output.splitlines()[:-1]), "names are as wide as their column"
    assert done.output.endswith("2 lines marked ! to check\n")


def test_the_shell_completes_commands(run: Run) -> None:
    done = run(_BERTDATA_COMPLETE="bash_complete", COMP_WORDS="bertdata make", COMP_CWORD="1")
    assert done.stdout.split() == ["plain,make-pairs"]
