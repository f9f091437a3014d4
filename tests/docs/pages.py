"""The pages of the documentation, their blocks of code, and how a command line or a snippet is checked without running it."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import click
from conftest import REPOSITORY

from bertdata.cli import cli

DOCS = REPOSITORY / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *REPOSITORY.glob("*.md")])


class Block(NamedTuple):
    """A block of code: its language, as it stands after the three marks, and its text."""

    language: str
    text: str


def blocks(path: Path) -> list[Block]:
    """List the blocks of code of a page."""
    return [Block(*found) for found in re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)]


def commands(text: str) -> Iterator[str]:
    """Yield the command lines of bertdata in a block of code; a line that ends with a backslash goes on in the next."""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if found := re.match(r"(?:\$ )?(bertdata [a-z-]+ .*|bertdata [a-z-]+)$", line.strip()):
            yield found[1]


def problem(line: str) -> str:
    """Say what the command line would refuse: a command or an option that is not there, a value that is none of the choices."""
    words = shlex.split(line.partition(" > ")[0], comments=True)[1:]
    command: click.Command | None = cli
    while isinstance(command, click.Group):
        if not words:
            return "without its part"
        if (command := command.get_command(click.Context(command), words.pop(0))) is None:
            return "no such command"
    assert command is not None
    context = click.Context(command)
    try:
        values, rest, _ = command.make_parser(context).parse_args(words)
    except click.UsageError as error:
        return error.format_message()
    if rest:
        return f"unexpected {rest}"
    for param in command.params:
        given = values.get(param.name or "")
        if param.required and given in (None, ()):
            return f"without {param.name}"
        for value in given if isinstance(given, list | tuple) else [given]:
            if isinstance(param.type, click.Choice) and isinstance(value, str) and value not in {*param.type.choices, "FORMAT"}:
                return f"{value} is none of {param.type.choices}"
    return ""


def strange(text: str) -> Iterator[str]:
    """Yield what a snippet of Python asks of bertdata that is not there: modules, names, arguments."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imported(node)
        elif (
            isinstance(node, ast.Attribute)
            and re.fullmatch(r"bertdata(\.\w+)+", name := ast.unparse(node))
            and _find(name) is None
        ):
            yield f"there is no {name}"
        elif isinstance(node, ast.Call) and (function := _find(ast.unparse(node.func))) is not None:
            known = {*inspect.signature(function).parameters}
            if "options" in known:  # fields of a configuration, which the function checks
                continue
            yield from (
                f"{ast.unparse(node.func)} takes no {each.arg}" for each in node.keywords if each.arg and each.arg not in known
            )


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    module = getattr(node, "module", None) or ""
    for alias in node.names:
        name = f"{module}.{alias.name}" if module else alias.name
        if name.split(".")[0] == "bertdata" and _find(name) is None:
            yield f"there is no {name}"


def _find(name: str) -> Any:
    """Return what a dotted name below ``bertdata`` stands for, or None."""
    first, *rest = name.split(".")
    if first != "bertdata":
        return None
    found: Any = importlib.import_module("bertdata")
    for part in rest:
        inner = f"{found.__name__}.{part}" if isinstance(found, ModuleType) else ""
        if inner and not hasattr(found, part) and importlib.util.find_spec(inner):
            found = importlib.import_module(inner)
        else:
            found = getattr(found, part, None)
    return found


def hook(name: str) -> ModuleType:
    """Import a script of docs/hooks, such as the one that makes pages of the reference from the code."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / "hooks" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
