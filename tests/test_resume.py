"""Kill a run anywhere; give the same command again; get the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import STEPS, Build, Run, build_of, command_line, digests, leftovers, records
from processes import Started, start

from bertdata.storage.files import TEMPORARY_PREFIX

pytestmark = pytest.mark.long


def wait_for_tasks(process: Started | subprocess.Popen[bytes], output: Path, step: str, count: int) -> None:
    """Wait until so many records of a step's tasks are written."""
    limit = time.monotonic() + 120
    while len(records(output, step)) < count:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < limit
        time.sleep(0.002)


def kill_in_mid_run(output: Path, step: str, count: int, *arguments: object) -> None:
    """Start a run that builds in `output`, and kill it when it has written so many records of a step's tasks."""
    process = start(*arguments)
    wait_for_tasks(process, output, step, count)
    process.kill()
    assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize(("name", "after"), [(name, after) for name in STEPS for after in (1, 3)])
def test_sigkill_and_resume(run: Run, parts: Path, text: Path, tmp_path: Path, name: str, after: int) -> None:
    output = tmp_path / "out"
    arguments = [name, *command_line(name, text, parts), "--output", output, "--workers", 1]
    kill_in_mid_run(output, STEPS[name], after, *arguments)
    assert not (output / "manifest.json").exists(), "killed too late to prove anything"
    assert len(records(output, STEPS[name])) >= after
    run(*arguments)
    assert digests(output) == digests(parts / name)
    assert leftovers(output) == []


def test_what_a_run_leaves_that_was_killed_at_its_end_is_swept(run: Run, parts: Path, text: Path, tmp_path: Path) -> None:
    arguments = ["build-corpus", *command_line("build-corpus", text, parts), "--output", tmp_path / "out", "--workers", 1]
    run(*arguments)
    (tmp_path / "out" / ".bertdata" / f"{TEMPORARY_PREFIX}run.json-0").touch()
    assert "nothing to do" in run(*arguments).stdout
    assert leftovers(tmp_path / "out") == []


def test_resume_keeps_finished_tasks(run: Run, parts: Path, text: Path, tmp_path: Path) -> None:
    """A finished task's shard must be the very file that the killed run wrote."""
    output = tmp_path / "out"
    arguments = ["build-corpus", *command_line("build-corpus", text, parts), "--output", output, "--workers", 1]
    kill_in_mid_run(output, "extract", 2, *arguments)
    kept, damaged = sorted((build_of(output) / "data").glob("train-*"))[:2]
    number = kept.stat().st_ino
    damaged.write_bytes(damaged.read_bytes()[:-8])  # this one must be noticed and made again
    run(*arguments)  # is not needed any more, and does no harm
    assert (output / "data" / kept.name).stat().st_ino == number
    assert digests(output) == digests(parts / "build-corpus")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("workers", [1, 2])
def test_signals(build: Build, parts: Path, text: Path, tmp_path: Path, number: int, code: int, workers: int) -> None:
    output, arguments = tmp_path / "out", command_line("build-corpus", text, parts)
    process = start("build-corpus", *arguments, "--output", output, "--workers", workers)
    wait_for_tasks(process, output, "extract", 1)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == code, said
    assert b"same command" in said
    assert b"Traceback" not in said
    build("build-corpus", output, *arguments)
    assert digests(output) == digests(parts / "build-corpus")
    assert leftovers(output) == []


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
    if killed == 1:
        assert process.returncode == 0, said
        assert digests(output) == digests(parts / "build-corpus")
        return
    assert process.returncode == 1
    assert b"a second worker process was killed" in said
    assert b"same command" in said
    assert b"Traceback" not in said, said.decode()
    build("build-corpus", output, *arguments)
    assert digests(output) == digests(parts / "build-corpus")


def workers_of(parent: int) -> list[int]:
    """Find the worker processes of a run."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    if not children.exists():
        pytest.skip("this system does not list a process's children")
    found = [int(child) for task in Path(f"/proc/{parent}/task").iterdir() for child in (task / "children").read_text().split()]
    return [pid for pid in found if b"bertdata.storage.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_workers_end_with_a_killed_driver(parts: Path, text: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    process = start("build-corpus", *command_line("build-corpus", text, parts), "--output", output, "--workers", 2)
    wait_for_tasks(process, output, "extract", 1)
    workers = workers_of(process.pid)
    assert len(workers) == 2
    process.kill()
    process.wait()
    limit = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() and "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() for pid in workers):
        assert time.monotonic() < limit, "a worker outlived its driver"
        time.sleep(0.05)


def test_changed_input_option_or_seed_is_refused(run: Run, parts: Path, text: Path, tmp_path: Path) -> None:
    copy, output = tmp_path / "text.jsonl", tmp_path / "out"
    copy.write_bytes(text.read_bytes())
    arguments = ["build-corpus", "--text", copy, "--task-bytes", 1 << 16, "--output", output, "--workers", 1]
    kill_in_mid_run(output, "extract", 2, *arguments)
    option = run(*arguments, "--math", "tex", code=5)
    assert "config.math: 'text' then, 'tex' now" in option.stderr
    changed = copy.read_bytes().replace(b"The ferry", b"The barge", 1)
    copy.write_bytes(changed)  # as long as before: only its bytes tell
    assert "has changed since" in run(*arguments, code=5).stderr
    copy.write_bytes(text.read_bytes() + b'{"text": "One more. And more."}\n')
    assert "1 input has changed: text.jsonl (bytes)" in run(*arguments, code=5).stderr
    copy.write_bytes(text.read_bytes())
    run(*arguments)
    assert digests(output) == digests(parts / "build-corpus")
    pairs = [parts / "build-corpus", "--vocab", parts / "train-vocab", "--output", tmp_path / "pairs", "--workers", 1]
    run("make-pairs", *pairs)
    assert "config.seed: 12345 then, 7 now" in run("make-pairs", *pairs, "--seed", 7, code=5).stderr


def test_second_run_into_the_same_directory(run: Run, parts: Path, text: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    arguments = ["build-corpus", "--text", text, "--task-bytes", 1 << 16, "--output", output, "--workers", 1]
    run(*arguments)
    before = digests(output)
    refused = run(*arguments, "--math", "tex", code=5)
    assert "config.math: 'text' then, 'tex' now" in refused.stderr and "--overwrite" in refused.stderr
    assert "nothing to do" in run(*arguments).stdout
    assert digests(output) == before
    run(*arguments, "--overwrite", "--math", "tex")
    after = digests(output)
    assert after["manifest.json"] != before["manifest.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "nothing may be left beside the directory"


def test_overwrite_keeps_the_old_one_until_the_new_one_is_whole(run: Run, parts: Path, text: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    arguments = ["build-corpus", "--text", text, "--task-bytes", 1 << 16, "--output", output, "--workers", 1]
    run(*arguments)
    before = digests(output)
    kill_in_mid_run(output, "extract", 2, *arguments, "--overwrite", "--math", "tex")
    assert digests(output) == before
    assert "is left over from a run that was not finished" in run(*arguments).stdout
    run(*arguments, "--overwrite", "--math", "tex")
    assert digests(output)["manifest.json"] != before["manifest.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_two_runs_at_once(run: Run, parts: Path, text: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    arguments = ["build-corpus", "--text", text, "--task-bytes", 1 << 16, "--output", output, "--workers", 1]
    process = start(*arguments)
    wait_for_tasks(process, output, "extract", 1)
    process.send_signal(signal.SIGSTOP)  # so that it is surely still there
    try:
        assert "is being written by process" in run(*arguments, code=5).stderr
    finally:
        process.send_signal(signal.SIGCONT)
    assert process.wait(timeout=120) == 0
    assert digests(output) == digests(parts / "build-corpus")
