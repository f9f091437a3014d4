"""The pages of the documentation: their blocks of code, and how a command line or a snippet is checked without running it."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import click
from click.testing import CliRunner
from conftest import REPOSITORY, SAMPLE

from bertdata.cli import cli

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
    """Return why the parser of options refuses a command line, or an empty string."""
    words = shlex.split(line.partition(" > ")[0], comments=True)[1:]
    command: click.Command | None = cli
    while isinstance(command, click.Group):
        if not words:
            return "without a subcommand"
        command = command.get_command(click.Context(command), words.pop(0))
    if command is None:
        return "no such command"
    context = click.Context(command)
    try:
        values, rest, _ = command.make_parser(context).parse_args(words)
        for param in command.params:
            given = values.get(param.name or "")
            for value in given if isinstance(given, list) else [given]:
                if isinstance(param.type, click.Choice | click.types._NumberRangeBase) and isinstance(value, str):
                    param.type.convert(value, param, context)
    except click.ClickException as error:
        return error.format_message()
    missing = [param.name for param in command.params if param.required and values.get(param.name or "") in (None, ())]
    return f"unexpected {rest}" if rest else f"without {missing}" if missing else ""


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
    """Yield the modules, names and arguments of bertdata in a snippet of Python that do not exist."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names = [".".join([*module, alias.name]) for alias in node.names]
        else:
            names = [ast.unparse(node)] if isinstance(node, ast.Attribute) else []
        yield from (name for name in names if re.fullmatch(r"bertdata(\.\w+)*", name) and _find(name) is None)
        if isinstance(node, ast.Call) and (function := _find(ast.unparse(node.func))) is not None:
            known = {*inspect.signature(function).parameters}
            if "options" not in known:  # fields of a configuration, which the function checks
                yield from (
                    f"{ast.unparse(node.func)}({each.arg}=)" for each in node.keywords if each.arg and each.arg not in known
                )


def _find(name: str) -> Any:
    """Return the object with a dotted name below ``bertdata``, or None."""
    first, *rest = name.split(".")
    found: Any = importlib.import_module("bertdata") if first == "bertdata" else None
    for part in rest if found else ():
        inner = f"{found.__name__}.{part}" if isinstance(found, ModuleType) else ""
        is_module = inner and not hasattr(found, part) and importlib.util.find_spec(inner)
        found = importlib.import_module(inner) if is_module else getattr(found, part, None)
    return found


def hook(name: str) -> ModuleType:
    """Import a script of docs/hooks, such as the one that makes pages of the reference from the code."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / "hooks" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
