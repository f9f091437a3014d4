"""The command line as a user meets it: help, plans, errors that name the fix, exit codes, progress, clean terminals."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from conftest import COMMAND, SAMPLE, SECONDS, Run, digests
from processes import Started

from bertdata.cli import cli
from bertdata.storage.terminal import clean

COMMANDS = ["build-corpus", "train-vocab", "make-pairs", "export", "inspect", "demo"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.help
    for param in command.params:
        if isinstance(param, click.Option) and not param.hidden:
            assert param.help, f"{name} {param.opts} has no help"
            assert re.fullmatch(r".+\.(  \[default: [^]]+\])?", param.help), f"{name} {param.opts}: sentences, and its default"


def test_help_and_version(run: Run) -> None:
    shown = run("--help").stdout
    assert all(name in shown for name in COMMANDS)
    assert "Exit codes" in shown
    assert re.fullmatch(r"bertdata, version \d+\.\d+\.\d+\n", run("--version").stdout)
    for name in COMMANDS:
        assert f"Usage: bertdata {name}" in run(name, "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nope"], 2, "No such command"),
        (["build-corpus"], 2, "--output"),
        (["build-corpus", "--output", "{tmp}/x"], 2, "Pass --wikipedia, --books, --text or --read"),
        (["build-corpus", "--wikipedia", "{tmp}/none*.bz2", "--output", "{tmp}/x"], 2, "no file of this name"),
        (["build-corpus", "--wikipedia", "{tmp}/a.pdf", "--output", "{tmp}/x"], 2, "not this kind of file"),
        (["build-corpus", "--wikipedia", "{tmp}/a.xml", "--output", "{tmp}/x"], 2, "not a MediaWiki export"),
        (["build-corpus", "--text", "{tmp}/a.jsonl", "--output", "{tmp}/a.jsonl"], 5, "is a file"),
        (
            ["build-corpus", "--text", "{tmp}/a.jsonl", "--output", "{tmp}/own", "--overwrite"],
            5,
            "files that bertdata did not write",
        ),
        (["build-corpus", "--text", "{tmp}/a.jsonl", "--output", "{tmp}/a.jsonl/x"], 4, "not a directory"),
        (["build-corpus", "--text", "{tmp}/a.jsonl", "--output", "{tmp}/x", "--max-rejects", "2"], 2, "--max-rejects"),
        (["build-corpus", "--text", "{tmp}/a.jsonl", "--output", "{tmp}/x", "stray"], 2, "unexpected argument 'stray'"),
        (["build-corpus", "--output", "{tmp}/x", "--text", "{tmp}/a.jsonl", "{tmp}/bad.jsonl"], 2, "Quote globs"),
        (
            ["make-pairs", "{corpus}", "--vocab", "{vocab}", "--output", "{tmp}/x", "--max-seq-length", "128", "512"],
            2,
            "repeat an option for each value",
        ),
        (
            ["make-pairs", "{corpus}", "{corpus}", "--vocab", "{vocab}", "--output", "{tmp}/x"],
            2,
            "pass all inputs to one build-corpus",
        ),
        (["build-corpus", "--output", "{tmp}/x", "--languages", "en", "zh"], 2, "an option takes one value. Quote"),
        (["build-corpus", "--text", "{tmp}/bad.jsonl", "--output", "{tmp}/x"], 3, "--max-rejects"),
        (["build-corpus", "--text", "{tmp}/empty.jsonl", "--output", "{tmp}/x", "--max-rejects", "1"], 3, "became a document"),
        (["build-corpus", "--config", "{tmp}/bad.toml", "--output", "{tmp}/x"], 2, "has no option 'bucks'"),
        (["train-vocab", "{tmp}/none", "--output", "{tmp}/x"], 2, "is not a directory"),
        (["train-vocab", "{tmp}/own", "--output", "{tmp}/x"], 2, "no bertdata dataset"),
        (["train-vocab", "{corpus}", "--output", "{tmp}/x", "--size", "3"], 2, "--size"),
        (["make-pairs", "{corpus}", "--vocab", "{tmp}/none", "--output", "{tmp}/x"], 2, "none (No such file or directory)"),
        (["make-pairs", "{vocab}", "--vocab", "{vocab}", "--output", "{tmp}/x"], 2, "contains vocabulary, not documents"),
        (["make-pairs", "{corpus}", "--vocab", "{vocab}", "--output", "{tmp}/x", "--max-seq-length", "9"], 2, "--max-seq-length"),
        (
            ["make-pairs", "{corpus}", "--vocab", "{vocab}", "--output", "{tmp}/x", "--workers", "2", "--", "--runner=Nope"],
            2,
            "--workers",
        ),
        (["make-pairs", "{corpus}", "--vocab", "{vocab}", "--output", "{tmp}/x", "--", "--runner=Nope"], 2, "Nope"),
        (["make-pairs", "{corpus}", "--vocab", "{vocab}", "--output", "{tmp}/x", "--runner=Spark"], 2, "two dashes: -- --runner"),
        (
            ["make-pairs", "{corpus}", "--vocab", "{vocab}", "--output", "{tmp}/x", "--max-seq-length", "128,512"],
            2,
            "'128,512' is not a valid integer",
        ),
        (["build-corpus", "--wikipedia", "{tmp}/own", "--output", "{tmp}/x"], 2, "no file below this directory is of a kind"),
        (["train", "{tmp}/own", "--output", "{tmp}/x"], 2, "own is a directory: pass a file"),
        (["inspect", "{corpus}", "--id", "nothing"], 2, "ids here look like sampleenwiki:"),
        (["inspect", "{tmp}/own"], 2, "no bertdata dataset"),
        (["inspect", "{corpus}", "--row", "99999"], 2, "has rows 0 to"),
    ],
)
def test_errors_name_the_fix(
    run: Run, sample_corpus: Path, sample_vocab: Path, tmp_path: Path, arguments: list[str], code: int, says: str
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thesis.txt").write_text("mine")
    (tmp_path / "a.xml").write_text("<html></html>")
    (tmp_path / "a.pdf").write_text("%PDF")
    (tmp_path / "a.jsonl").write_text('{"text": "One sentence. Another sentence."}\n')
    (tmp_path / "bad.jsonl").write_text('{"text": "One sentence. Another sentence."}\n{"text": \n')
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "bad.toml").write_text("[build-corpus]\nbucks = 3\n")
    paths = {"tmp": tmp_path, "corpus": sample_corpus, "vocab": sample_vocab}
    done = run(*(argument.format(**paths) for argument in arguments), code=code)
    assert says in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert (tmp_path / "own" / "thesis.txt").read_text() == "mine"


def test_dry_run_writes_nothing(run: Run, sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    shown = run("build-corpus", "--wikipedia", SAMPLE, "--output", output, "--dry-run")
    assert "in 4 tasks" in shown.stdout  # two dumps, and their indexes to count
    assert "sampleenwiki" in shown.stdout and "page count to be checked against its index" in shown.stdout
    run("train-vocab", sample_corpus, "--output", output, "--dry-run")
    run("make-pairs", sample_corpus, "--vocab", sample_vocab, "--output", output, "--dry-run")
    assert list(tmp_path.iterdir()) == []


EACH = """
import json, numpy, os, pyarrow, sys
from bertdata.cli import main
for words in json.loads(sys.argv[1]):
    if not os.fork():
        sys.argv[1:] = words
        try:
            main()
        finally:
            print("\\nended:", sys.exc_info()[1].code or 0, "apache_beam" in sys.modules, file=sys.stderr)
    os.wait()
"""


def test_what_comes_before_a_run_does_not_wait_for_beam(sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    """Plans, and errors that a look at the directories tells, come without the second that it takes to import Beam."""
    corpora, own = [sample_corpus, "--output"], tmp_path / "own"
    own.mkdir()
    (own / "thesis.txt").write_text("mine")
    cases = (
        (["build-corpus", "--wikipedia", SAMPLE, "--output", tmp_path, "--dry-run"], 0),
        (["train-vocab", *corpora, tmp_path, "--dry-run"], 0),
        (["make-pairs", "--vocab", sample_vocab, *corpora, tmp_path, "--dry-run"], 0),
        (["build-corpus", "--wikipedia", SAMPLE, "--output", sample_corpus], 5),
        (["make-pairs", "--vocab", sample_vocab, *corpora, own], 5),
    )
    told = json.dumps([[*map(str, arguments)] for arguments, _ in cases])
    done = subprocess.run([sys.executable, "-c", EACH, told], capture_output=True, text=True, check=True)
    assert re.findall(r"\nended: (\d+) (\w+)", done.stderr) == [(str(ended), "False") for _, ended in cases], done.stderr


def test_config_file_gives_options_and_the_command_line_wins(
    run: Run, sample_corpus: Path, sample_vocab: Path, tmp_path: Path
) -> None:
    config = tmp_path / "run.toml"
    config.write_text("[make-pairs]\nmax-seq-length = [64]\nshort-seq-prob = 0.5\nseed = 3\n")
    arguments = ["make-pairs", sample_corpus, "--vocab", sample_vocab, "--config", config, "--workers", 1]
    run(*arguments, "--output", tmp_path / "pairs", "--seed", 4)
    made = json.loads((tmp_path / "pairs" / "manifest.json").read_text())["config"]
    assert (made["max_seq_length"], made["short_seq_prob"], made["seed"]) == (64, 0.5, 4)


def test_counts_of_the_sample_add_up(sample_corpus: Path, sample_pairs: Path) -> None:
    corpus = json.loads((sample_corpus / "manifest.json").read_text())
    stages = {stage["stage"]: stage for stage in corpus["counts"]}
    assert stages["wikipedia pages"]["in"] == 69
    assert stages["wikipedia pages"]["dropped"] == {"content model": 0, "namespace": 5, "redirect": 6} or stages[
        "wikipedia pages"
    ]["dropped"] == {"namespace": 5, "redirect": 6}
    assert stages["books"] == {"stage": "books", "in": 3, "out": 3, "dropped": {}, "rejected": {}}
    pairs = json.loads((sample_pairs / "manifest.json").read_text())
    for stage in corpus["counts"] + pairs["counts"]:
        assert stage["in"] == stage["out"] + sum(stage["dropped"].values()) + sum(stage["rejected"].values())
    assert pairs["counts"][0]["in"] == corpus["rows"]
    assert abs(2 * pairs["statistics"]["not_next"] - pairs["rows"]) <= 2


def test_inspect_shows_documents_pairs_and_vocabulary(
    run: Run, sample_corpus: Path, sample_vocab: Path, sample_pairs: Path
) -> None:
    documents = run("inspect", sample_corpus, "--n", 2).stdout
    assert "¶   0" in documents
    assert "sampleenwiki:" in documents
    pairs = run("inspect", sample_pairs, "--n", 8).stdout
    for word in ("IsNext (0)", "token_type_ids: 0 x", "masked (epoch 0):", "[MASK]", "to predict", "NotNext"):
        assert word in pairs
    assert run("inspect", sample_pairs, "--row", 7).stdout == run("inspect", sample_pairs, "--row", 7).stdout
    assert run("inspect", sample_pairs, "--row", 7).stdout != run("inspect", sample_pairs, "--row", 7, "--epoch", 1).stdout
    assert "[CLS]" in run("inspect", sample_vocab).stdout


def test_demo_ends_with_pairs_and_runs_twice(run: Run, tmp_path: Path) -> None:
    for _ in range(2):
        shown = run("demo", "--output", tmp_path / "demo").stdout
    assert shown.count("masked (epoch 0):") == 4
    assert "$ bertdata make-pairs" in shown


def in_a_terminal(*arguments: object) -> str:
    """Run a command with a terminal for its messages; return what the terminal got."""
    master, slave = pty.openpty()
    command = [*COMMAND, *map(str, arguments)]
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    )
    os.close(slave)
    got = b""
    while True:
        try:
            block = os.read(master, 1 << 16)
        except OSError:
            break
        if not block:
            break
        got += block
    os.close(master)
    assert process.wait() == 0
    return got.decode()


def test_progress_is_drawn_for_a_terminal_only(run: Run, text: Path, tmp_path: Path) -> None:
    arguments = ["build-corpus", "--text", text, "--task-bytes", 1 << 16, "--workers", 1, "--output"]
    shown = in_a_terminal(*arguments, tmp_path / "a")
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    assert re.search(r"Extract .*\d+\.\d%.* \d+ documents .*0:00:\d\d", plain)
    done = run(*arguments, tmp_path / "b")
    assert "Extract" not in done.stdout + done.stderr
    assert digests(tmp_path / "a") == digests(tmp_path / "b")


def test_escape_sequences_do_not_reach_the_terminal(run: Run, tmp_path: Path) -> None:
    assert clean("a\x1b[31mb\x07\u202ec") == "a\ufffd[31mb\ufffd\ufffdc"
    evil = {"title": "\x1b]0;owned\x07\x1b[2J", "text": "First \x1b[31msentence here. Second sentence here."}
    (tmp_path / "evil.jsonl").write_text(json.dumps(evil) + "\n")
    run("build-corpus", "--text", tmp_path / "evil.jsonl", "--output", tmp_path / "out", "--workers", 1)
    assert "\x1b" not in run("inspect", tmp_path / "out").stdout
    assert "\x1b" not in (tmp_path / "out" / "README.md").read_text()


def test_locale_c_spaces_and_chinese_in_paths(run: Run, text: Path, tmp_path: Path) -> None:
    folder = tmp_path / "一个 folder"
    folder.mkdir()
    (folder / "文 本.jsonl").write_bytes(text.read_bytes())
    output = folder / "out 输出"
    for workers in (1, 2):
        run("build-corpus", "--text", folder, "--output", output, "--workers", workers, "--overwrite", LC_ALL="C")
    assert "文 本.jsonl" in (output / "manifest.json").read_text(encoding="utf-8")


@pytest.mark.long
def test_few_file_descriptors_are_enough(text: Path, tmp_path: Path) -> None:
    command = " ".join(
        [*COMMAND, "build-corpus", "--text", str(text), "--task-bytes", "65536", "--output", str(tmp_path / "out")]
    )
    done = subprocess.run(["bash", "-c", f"ulimit -n 64; {command}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_full_disk_ends_with_exit_code_4_and_is_resumed(run: Run, text: Path, tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands for a disk without space: a write fails in the middle of a shard."""
    arguments = ["build-corpus", "--text", str(text), "--output", str(tmp_path / "out")]
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20 << 10, 20 << 10))"
    code = f"{limited}; from bertdata.__main__ import main; main()"
    for workers in ("1", "2"):
        done = Started([*arguments, "--task-bytes", "65536", "--workers", workers], tmp_path, {**os.environ}, code)
        said = done.communicate(timeout=SECONDS)[1].decode()
        assert done.returncode == 4 and "cannot write" in said and "same command" in said, said
    run(*arguments, "--task-bytes", 65536, "--workers", 1)
    run(*arguments[:-1], tmp_path / "whole", "--task-bytes", 65536, "--workers", 1)
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")
