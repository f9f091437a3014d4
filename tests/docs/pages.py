"""The pages of the documentation: their blocks of code, and how a command line or a snippet is checked without running it."""

from __future__ import annotations

import ast
import importlib.util
import pkgutil
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import click
from click.testing import CliRunner
from conftest import REPOSITORY, SAMPLE

from bertdata.cli import cli
from bertdata.errors import BertDataError

DOCS = REPOSITORY / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *REPOSITORY.glob("*.md")])
WITH_WORKERS = ("build-corpus", "train-vocab", "make-pairs", "export")


class Block(NamedTuple):
    """A block of code: the language named after the three backticks, and the text."""

    language: str
    text: str


def blocks(path: Path) -> list[Block]:
    """List the blocks of code of a page."""
    return [Block(*found) for found in re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)]


def commands(text: str) -> list[str]:
    """List the command lines of bertdata in a block of code. A backslash joins two lines."""
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [found[1] for line in lines if (found := re.match(r"(?:\$ )?(bertdata [a-z-]+(?: .*)?)$", line.strip()))]


def problem(line: str) -> str:
    """Return why a command line is refused before it runs, or an empty string."""
    words = shlex.split(line.partition(" > ")[0], comments=True)[1:]
    command: click.Command | None = cli
    try:
        while isinstance(command, click.Group):
            name, command, words = command.resolve_command(click.Context(command), words)
        assert command is not None
        command.make_context(name, words)
    except (click.exceptions.Exit, BertDataError):  # after help, or for want of a client of a store
        pass
    except click.ClickException as error:
        return error.format_message()
    except IndexError:
        return "Missing subcommand"
    return ""


def run(line: str) -> str:
    """Run a command line in this process, with one worker. Return what it prints."""
    words = shlex.split(line)[1:]
    done = CliRunner().invoke(cli, [*words, *(["--workers", "1"] if words[0] in WITH_WORKERS else [])])
    assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception}"
    return done.stdout


def copy_sample(place: Path) -> None:
    """Copy the dumps and the books of the sample into a directory."""
    (place / "dumps").mkdir()
    for dump in SAMPLE.glob("*.bz2"):
        shutil.copy(dump, place / "dumps")
    shutil.copytree(SAMPLE / "books", place / "books")


def unknown_names(text: str) -> Iterator[str]:
    """Yield the modules and names of bertdata in a snippet of Python that do not exist."""
    for node in ast.walk(ast.parse(text)):
        names = [ast.unparse(node)] if isinstance(node, ast.Attribute) else []
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names = [".".join([*module, alias.name]) for alias in node.names]
        for name in (name for name in names if re.fullmatch(r"bertdata(\.\w+)*", name)):
            try:
                pkgutil.resolve_name(name)
            except (ImportError, AttributeError):
                yield name


def hook(name: str) -> ModuleType:
    """Import a script of docs/hooks, such as the one that makes pages of the reference from the code."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / "hooks" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
