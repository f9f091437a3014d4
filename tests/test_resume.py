"""Kill or stop a run anywhere; run the same command again; get the same bytes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Build, Run, build_of, command_line, digests, leftovers, records
from processes import Started, start

pytestmark = pytest.mark.long
CHOICE = ("--dedup", "near", "--near-threshold", 0.6, "--dedup-paragraphs", "--sample-documents", 300)
STAGES = [  # every stage that has several tasks, of each command
    ("build-corpus", "extract", ()),
    ("build-corpus", "rewrite", CHOICE),
    ("train-vocab", "count", ()),
    ("make-pairs", "tokenize", ()),
    ("make-pairs", "pairs", ()),
]


def wait_for_tasks(process: Started | subprocess.Popen[bytes], output: Path, stage: str, count: int) -> None:
    """Wait until this number of records of a stage's tasks is written."""
    limit = time.monotonic() + 120
    while len(records(output, stage)) < count:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < limit
        time.sleep(0.002)


def kill_in_mid_run(output: Path, stage: str, count: int, *arguments: object) -> None:
    """Start a run that builds in `output`, and kill it when it has written this number of records of a stage's tasks."""
    process = start(*arguments)
    wait_for_tasks(process, output, stage, count)
    process.kill()
    assert process.wait() == -signal.SIGKILL


def workers_of(parent: int) -> list[int]:
    """Return the worker processes of a run."""
    children = [path.read_text().split() for path in Path(f"/proc/{parent}/task").glob("*/children")]
    found = [int(child) for numbers in children for child in numbers]
    return [pid for pid in found if b"bertdata.storage.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.parametrize(("name", "stage", "more"), STAGES)
def test_a_run_that_was_killed_resumes(
    run: Run, build: Build, parts: Path, text: Path, tmp_path: Path, name: str, stage: str, more: tuple[object, ...]
) -> None:
    """A finished task keeps the very file that the killed run wrote. A damaged file is noticed and written again."""
    output, options = tmp_path / "out", [*command_line(name, text, parts), *more]
    expected = build(name, tmp_path / "whole", *options) if more else parts / name
    kill_in_mid_run(output, stage, 2, name, *options, "--output", output, "--workers", 1)
    assert not (output / "manifest.json").exists()
    kept = {path.name: path.stat().st_ino for path in records(output, stage)}
    if stage == "extract":
        _, damaged = sorted((build_of(output) / "data").glob("train-*"))[:2]
        damaged.write_bytes(damaged.read_bytes()[:-8])
        kept.pop("00001.json", None)
    process = start(name, *options, "--output", output, "--workers", 1)
    wait_for_tasks(process, output, stage, len(kept) + 1)
    process.send_signal(signal.SIGSTOP)
    found = {path.name: path.stat().st_ino for path in records(output, stage)}
    process.send_signal(signal.SIGCONT)
    assert process.wait(120) == 0
    assert kept and not found or kept.items() <= found.items(), "finished tasks are not repeated"
    assert digests(output) == digests(expected) and leftovers(output) == []


SIGNALS = [(signal.SIGINT, False, 1), (signal.SIGTERM, False, 2), (signal.SIGHUP, True, 2)]


@pytest.mark.parametrize(("number", "group", "workers"), SIGNALS)
def test_a_signal_stops_a_run(run: Run, parts: Path, text: Path, tmp_path: Path, number: int, group: bool, workers: int) -> None:
    """To the driver alone, or to its workers as well, as a terminal does it."""
    output, arguments = tmp_path / "out", command_line("build-corpus", text, parts)
    process = start("build-corpus", *arguments, "--output", output, "--workers", workers)
    wait_for_tasks(process, output, "extract", 3)  # one of which the driver has counted
    (os.killpg if group else os.kill)(process.pid, number)
    _, said = process.communicate(timeout=60)
    line = r"bertdata: stopped, and finished work is kept: extract: at least \d+ of \d+ tasks.*same command"
    assert process.returncode == 128 + number and re.search(line, said.decode(), re.S), said
    assert b"Traceback" not in said and said.rstrip().count(b"\n") <= 4, "the plan, and one line"
    again = run("build-corpus", *arguments, "--output", output, "--workers", 1)
    assert "continue an earlier run" in again.stderr
    assert digests(output) == digests(parts / "build-corpus") and leftovers(output) == []


@pytest.mark.parametrize("killed", [1, 2])
def test_a_killed_worker_is_replaced_and_a_second_one_ends_the_run(
    build: Build, parts: Path, text: Path, tmp_path: Path, killed: int
) -> None:
    output, arguments = tmp_path / "out", command_line("build-corpus", text, parts)
    process = start("build-corpus", *arguments, "--output", output, "--workers", 2)
    wait_for_tasks(process, output, "extract", 1)
    for worker in workers_of(process.pid)[:killed]:
        os.kill(worker, signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert b"a worker process was killed, perhaps because memory ran out. It is replaced" in said
    assert process.returncode == killed - 1 and b"Traceback" not in said, said
    if killed == 2:
        assert b"a second worker process was killed" in said and b"same command" in said
        build("build-corpus", output, *arguments)
    assert digests(output) == digests(parts / "build-corpus") and leftovers(output) == []


def test_changed_input_or_options_are_refused(run: Run, parts: Path, text: Path, tmp_path: Path) -> None:
    copy, output = tmp_path / "text.jsonl", tmp_path / "out"
    copy.write_bytes(text.read_bytes())
    arguments = ["build-corpus", "--text", copy, "--task-bytes", 1 << 16, "--output", output, "--workers", 1]
    kill_in_mid_run(output, "extract", 2, *arguments)
    assert "--dedup: 'exact' then, 'none' now" in run(*arguments, "--dedup", "none", code=5).stderr
    copy.write_bytes(copy.read_bytes().replace(b"The ferry", b"The barge", 1))  # as long as before
    assert "has changed since" in run(*arguments, code=5).stderr
    copy.write_bytes(text.read_bytes() + b'{"text": "One more. And more."}\n')
    assert "1 input has changed: text.jsonl (bytes)" in run(*arguments, code=5).stderr
    copy.write_bytes(text.read_bytes())
    run(*arguments)
    assert digests(output) == digests(parts / "build-corpus")


def test_overwrite_keeps_the_old_dataset_until_the_new_one_is_complete(run: Run, text: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    arguments = ["build-corpus", "--text", text, "--task-bytes", 1 << 16, "--output", output, "--workers", 1]
    run(*arguments)
    before = digests(output)
    assert "--overwrite" in run(*arguments, "--dedup", "none", code=5).stderr
    kill_in_mid_run(output, "extract", 2, *arguments, "--overwrite", "--dedup", "none")
    assert digests(output) == before and "nothing to do" in run(*arguments).stdout
    run(*arguments, "--overwrite", "--dedup", "none")
    assert digests(output)["manifest.json"] != before["manifest.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "nothing is left next to the directory"


def test_two_runs_at_once(run: Run, parts: Path, text: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    arguments = ["build-corpus", "--text", text, "--task-bytes", 1 << 16, "--output", output, "--workers", 1]
    process = start(*arguments)
    wait_for_tasks(process, output, "extract", 1)
    process.send_signal(signal.SIGSTOP)
    try:
        assert "is being written by process" in run(*arguments, code=5).stderr
    finally:
        process.send_signal(signal.SIGCONT)
    assert process.wait(timeout=120) == 0
    assert digests(output) == digests(parts / "build-corpus")
