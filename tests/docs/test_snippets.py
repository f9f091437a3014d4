"""Command lines, options and snippets of Python and TOML on all pages are valid, and links lead to files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import REPOSITORY
from pages import PAGES, blocks, commands, hook, problem, unknown_names

from bertdata.config import parse_toml

pytestmark = pytest.mark.long

FOREIGN = {  # options of other programs
    *("--editable", "--constraint", "--nproc-per-node", "--cov", "--no-deps", "--runner", "--project", "--strict", "--help"),
    *("--standalone", "--work", "--sources", "--sizes", "--dist"),
}
OF_ENGINES = {"docs/how-to/engines.md", "SECURITY.md"}  # which name options of Beam and Dask


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_page(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    faults = [(line, fault) for block in blocks(path) for line in commands(block.text) if (fault := problem(line))]
    for line in re.findall(r"`(bertdata [a-z-]+[^`]*)`", prose):  # in a sentence, a command may be incomplete
        fault = problem(line)
        if fault and not fault.startswith(("Missing ", "Option")):
            faults.append((line, fault))
    if path.relative_to(REPOSITORY).as_posix() not in OF_ENGINES:
        known = {
            name
            for _, command in hook("reference").walk()
            for each in command.params
            for name in (*each.opts, *each.secondary_opts)
        }
        spans = re.findall(r"`(--[^`]*)`", prose)
        named = {option for span in spans for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", span)}
        faults += [(option, "no such option") for option in named - FOREIGN - known]
    for block in blocks(path):
        if block.language == "python":
            faults += [(name, "no such name") for name in unknown_names(block.text)]
        elif block.language == "toml":
            assert parse_toml(path.name, block.text)
    for link in re.findall(r"\]\(([^)\s#:]+)(?:#[^)]*)?\)", prose):
        if not (path.parent / link).exists():
            faults.append((link, "no such file"))
    assert not faults


@pytest.mark.parametrize("path", [*PAGES, *sorted(REPOSITORY.glob("examples/*[bd]"))], ids=lambda path: path.name)
def test_nothing_is_installed_by_a_strangers_name(path: Path) -> None:
    """`bertdata` on PyPI belongs to others, and pip runs their code. Pages install from the clone; two warn of it."""
    text = path.read_text(encoding="utf-8")
    named = re.findall(r"\b(?:pip|uv|pipx)\b[^\n`]* (?:install|add|download)[^\n`]*?[ '\"]bertdata\b(?![./\w])[^\n`]*", text)
    warned = {"README.md": ["pip install bertdata"], "README.zh-CN.md": ["pip install bertdata"]}
    assert named == warned.get(path.relative_to(REPOSITORY).as_posix(), [])
    assert not re.search(r"^ *bertdata *(?:\[|[=~<>!]=)", text, re.M), "a line of requirements"
