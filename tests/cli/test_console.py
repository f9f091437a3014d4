"""What a command prints while it runs: a plan, progress with the time left, one line after a signal; or nothing."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from calling import call
from conftest import COMMAND, Build, Run, digests

import bertdata
from bertdata.cli import console
from bertdata.cli.build import BuildReporter
from bertdata.run.progress import Progress
from bertdata.storage.terminal import clean


def test_without_a_terminal_there_is_a_line_every_half_minute(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    with BuildReporter() as reporter:
        for now[0] in (1.0, 29.0, 30.5, 31.0, 59.0, 61.0):
            reporter.progress(Progress("extract", 3, 9, 187.5))
    assert capsys.readouterr().err.splitlines() == ["  extract: 3 of 9 tasks  left 0:03:08"] * 2
    assert "finished work is kept: extract: at least 3 of 9 tasks" in console.answer().text


def test_a_dry_run_is_a_plan(build: Build, text: Path, tmp_path: Path) -> None:
    arguments = ["build-corpus", "--text", text, "--output", tmp_path / "corpus"]
    planned = call(*arguments, "--dry-run")
    assert planned.code == 0 and planned.err == "" and "build-corpus: 1 file" in planned.out
    assert "  text       text.jsonl  " in planned.out
    assert not (tmp_path / "corpus").exists()
    assert call(*arguments, "--workers", 1).code == 0
    for more in ([], ["--dry-run"]):
        assert "complete already: nothing to do" in call(*arguments, *more).out
    assert "--overwrite replaces" in call(*arguments, "--dry-run", "--overwrite").out


def test_a_plan_of_many_files_lists_the_first_ones(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:03}.txt").write_text("A kettle sings.\n")
    (tmp_path / "wiki.xml.bz2").touch()
    lines = call("build-corpus", "--books", tmp_path, "--output", tmp_path / "out", "--dry-run").out.splitlines()
    assert sum(line.startswith("  books ") for line in lines) == 8 and "  and 22 more files, 352 B" in lines
    assert "1 file ignored (.xml.bz2; use --wikipedia for dumps)" in lines[0]


def test_quiet_prints_errors_only(text: Path, tmp_path: Path) -> None:
    arguments = ["build-corpus", "--output", tmp_path / "out", "--workers", 1, "--quiet", "--text"]
    assert call(*arguments, text) == (0, "", "")
    assert "no regular file found" in call(*arguments, tmp_path / "none").err


def test_warnings_name_options(sample_corpus: Path, tmp_path: Path) -> None:
    done = call("train-vocab", sample_corpus, "--output", tmp_path / "vocab", "--size", "60000", "--workers", "1")
    assert re.search(r"warning: [\d,]+ tokens, not 60,000: .* or a smaller --size$", done.err, re.M)
    with pytest.warns(UserWarning, match="or a smaller `size`$"):
        bertdata.train_vocab(sample_corpus, output=tmp_path / "again", size=60000, workers=1)


def in_a_terminal(*arguments: object) -> str:
    """Run a command with a terminal for its messages; return what the terminal got."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen([*COMMAND, *map(str, arguments)], stdin=slave, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    got = b""
    while True:
        try:
            got += (block := os.read(master, 1 << 16))
        except OSError:
            break
        if not block:
            break
    os.close(master)
    assert process.wait() == 0
    return got.decode()


@pytest.mark.slow
def test_progress_is_drawn_for_a_terminal_only(run: Run, text: Path, tmp_path: Path) -> None:
    arguments = ["build-corpus", "--text", text, "--task-bytes", 1 << 16, "--workers", 1, "--output"]
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", in_a_terminal(*arguments, tmp_path / "a"))
    assert re.search(r"extract .* of \d+ tasks .*0:00:\d\d", plain)
    done = run(*arguments, tmp_path / "b")
    assert "extract" not in done.stdout + done.stderr
    assert digests(tmp_path / "a") == digests(tmp_path / "b")


@pytest.mark.slow
def test_escape_sequences_do_not_reach_the_terminal(run: Run, tmp_path: Path) -> None:
    assert clean("a\x1b[31mb\x07\u202ec") == "a\ufffd[31mb\ufffd\ufffdc"
    evil = {"title": "\x1b]0;owned\x07\x1b[2J", "text": "First \x1b[31msentence here. Second sentence here."}
    (tmp_path / "evil.jsonl").write_text(json.dumps(evil) + "\n")
    run("build-corpus", "--text", tmp_path / "evil.jsonl", "--output", tmp_path / "out", "--workers", 1)
    assert "\x1b" not in run("inspect", tmp_path / "out").stdout
    assert "\x1b" not in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.slow
def test_locale_c_spaces_and_chinese_in_paths(run: Run, text: Path, tmp_path: Path) -> None:
    folder = tmp_path / "一个 folder"
    folder.mkdir()
    (folder / "文 本.jsonl").write_bytes(text.read_bytes())
    run("build-corpus", "--text", folder, "--output", folder / "out 输出", "--workers", 2, LC_ALL="C")
    assert "文 本.jsonl" in (folder / "out 输出" / "manifest.json").read_text(encoding="utf-8")


@pytest.mark.slow
def test_closed_streams_and_few_file_descriptors_are_enough(text: Path, tmp_path: Path) -> None:
    command = " ".join(
        [*COMMAND, "build-corpus", "--text", str(text), "--task-bytes", "65536", "--output", str(tmp_path / "out")]
    )
    assert subprocess.run(["bash", "-c", f"ulimit -n 64; {command} >&- 2>&-"], check=False).returncode == 0
    assert (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.slow
def test_the_shell_completes_commands(run: Run) -> None:
    done = run(_BERTDATA_COMPLETE="bash_complete", COMP_WORDS="bertdata make", COMP_CWORD="1")
    assert done.stdout.split() == ["plain,make-pairs"]


def test_doctor_checks_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    from bertdata.cli import doctor

    monkeypatch.setattr(
        doctor, "_version", lambda package: "" if re.match("nanotoken|rich|jieba|distributed", package) else "1.2"
    )
    shown = call("doctor").out
    assert re.search(r"^  apache-beam\S* +1\.2$", shown, re.M) and re.search(
        r"^! rich\S* +not installed: pip install 'rich", shown, re.M
    )
    assert re.search(r"^  extra chinese +not installed: pip install jieba opencc$", shown, re.M)
    assert re.search(r"^  extra dask +not installed: pip install 'apache-beam\[dask\]'$", shown, re.M), "Beam alone is not enough"
    assert all(re.search(rf"^. {name} +\d", shown, re.M) for name in ("CPUs", "memory", "disk here"))
