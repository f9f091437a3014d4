"""Every command and every line of Python in README.md runs as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
from conftest import REPOSITORY, SAMPLE

from bertdata.cli import cli

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.M | re.S)


def commands(word: str) -> list[str]:
    """List the lines of the code blocks that begin with a word."""
    return [line for _, block in BLOCKS for line in block.splitlines() if line.startswith(word)]


def test_the_commands_are_targets_of_the_makefile() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    assert [line.split("#")[0].strip() for line in commands("make ")] == ["make demo", "make test", "make long"]
    for line in commands("make "):
        assert re.search(rf"^{line.split()[1]}:", makefile, re.M)
    assert "make test\nmake long\n" in (REPOSITORY / ".ci" / "run").read_text()


def test_the_way_without_make_does_what_make_does() -> None:
    """Three lines, and the same linters and tests as in the Makefile."""
    block = next(block for _, block in BLOCKS if block.startswith("python3 -m venv"))
    assert len(block.splitlines()) == 3
    makefile = (REPOSITORY / "Makefile").read_text()
    tools = [re.sub(r"^\$\(BIN\)/", "", line.strip()) for line in makefile.splitlines() if line.startswith("\t$(BIN)/")]
    wanted = {"bertdata demo --train", "ruff check", "ruff format --check", "mypy", 'python -m pytest -n auto -m "not long"'}
    assert wanted <= set(tools)
    assert all(f".venv/bin/{tool}" in block for tool in wanted)


def test_the_main_job_and_the_python_run_as_written(tmp_path: Path) -> None:
    (tmp_path / "dumps").mkdir()
    (tmp_path / "books").mkdir()
    for path in SAMPLE.glob("*.bz2"):
        (tmp_path / "dumps" / path.name).write_bytes(path.read_bytes())
    for path in (SAMPLE / "books").glob("*.txt"):
        (tmp_path / "books" / path.name).write_bytes(path.read_bytes())
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HF_HOME": str(tmp_path / "hf")}
    environment["HF_HUB_OFFLINE"] = "1"
    recipe = (REPOSITORY / "examples" / "bert-base.toml").read_text(encoding="utf-8")
    (tmp_path / "examples").mkdir()  # the sample does not fill the paper's batch
    (tmp_path / "examples" / "bert-base.toml").write_text(re.sub(r"(?m)^batch_size = 256\b", "batch_size = 16", recipe))
    job = next(block for _, block in BLOCKS if block.startswith("bertdata download")).splitlines()
    assert [line.split()[1] for line in job] == [
        "download",
        "build-corpus",
        "train-vocab",
        "make-pairs",
        "inspect",
        "verify",
        "train",
    ]
    for line in [*job[1:-1], f"{job[-1]} --dry-run"]:  # a week on eight GPUs is no test; downloads have tests of their own
        done = subprocess.run(line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    program = (
        "".join(block for kind, block in BLOCKS if kind == "python") + "\nprint(pairs.num_rows == len(shards), sorted(batch))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "True ['attention_mask', 'input_ids', 'labels', 'next_sentence_label', 'token_type_ids']" in done.stdout
    tree = next(block for _, block in BLOCKS if block.startswith("corpus/\n"))
    for name in re.findall(r"^  ([\w.]+)", tree, re.M):
        assert list(tmp_path.glob(f"*/{name}")) or name in ("data", "lists", "rejects", "dropped"), (
            f"README shows {name}, which is not made"
        )


BUILDING = ("build-corpus", "train-vocab", "make-pairs")


def options_of(name: str) -> set[str]:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    parts = list(command.commands.values()) if isinstance(command, click.Group) else [command]
    return {opt for part in parts for param in part.params for opt in (*param.opts, *param.secondary_opts)}


def test_the_options_of_the_first_table_are_of_every_building_command() -> None:
    table = re.findall(r"^\| `(--[\w-]+)", README.partition("### ")[0], re.M)
    assert len(table) >= 4
    assert all(set(table) <= options_of(name) for name in BUILDING)


def test_every_option_that_is_named_exists() -> None:
    """In a table of make-pairs it is of make-pairs; elsewhere of any command, or of pip."""
    others = ("export", "push", "inspect", "templates", "demo", "train", "trace", "download")
    known = set().union(*map(options_of, (*BUILDING, *others)))
    known |= {"--help", "--model", "--editable", "--constraint", "--check", "--runner", "--nproc-per-node"}
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", README)) - {"--project", "--corpus", "--control"} <= known
    section = README.partition("### What make-pairs makes")[2].partition("### What comes out")[0]
    assert set(re.findall(r"^\| `(--[\w-]+)", section, re.M)) <= options_of("make-pairs")
