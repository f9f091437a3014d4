"""Every command line and every snippet of Python and TOML in README and docs/ is one that the program as it is would take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import REPOSITORY
from pages import PAGES, blocks, commands, hook, problem, strange

from bertdata.config import parse_toml
from bertdata.config.input_kinds import INPUTS
from bertdata.sources.inputs import find

pytestmark = pytest.mark.long

FOREIGN = {  # options of other programs, or of scripts in benchmarks/ and of torch
    *("--editable", "--constraint", "--nproc-per-node", "--dry-run", "--cov", "--no-deps", "--runner", "--control", "--corpus"),
    *("--step", "--project", "--strict", "--help", "--standalone", "--render", "--check"),
}
OF_ENGINES = {"docs/how-to/engines.md", "SECURITY.md"}  # which name options of Beam and Dask; tests/engines/ tries the first


def test_commands() -> None:
    lines = [(path.name, line) for path in PAGES for block in blocks(path) for line in commands(block.text)]
    assert len(lines) > 50
    assert not [(name, line, told) for name, line in lines if (told := problem(line))]


def test_dumps_that_are_named_include_those_of_several_parts(tmp_path: Path) -> None:
    """Wikimedia publishes large wikis in parts, whose names end in page numbers; their indexes are not dumps."""
    stem = "enwiki-20261101-pages-articles-multistream"
    parts = [f"{stem}1.xml-p1p41242.bz2", f"{stem}2.xml-p41243p151573.bz2"]
    (tmp_path / "dumps").mkdir()
    for name in (*parts, f"{stem}-index1.txt-p1p41242.bz2", "simplewiki-20261101-pages-articles-multistream.xml.bz2"):
        (tmp_path / "dumps" / name).touch()
    texts = [path for path in (*REPOSITORY.glob("bertdata/**/*.py"), *REPOSITORY.glob("examples/*"), *PAGES) if path.is_file()]
    found = [
        (path, pattern)
        for path in texts
        for pattern in re.findall(r"""(?:--wikipedia |wikipedia ?= ?)["'`]?(dumps[^\s"'`]*)""", path.read_text(encoding="utf-8"))
    ]
    assert len({path for path, _ in found}) > 8
    for path, pattern in found:
        names = {name for name, _ in find([str(tmp_path / pattern)], INPUTS["wikipedia"].suffixes, "--wikipedia")}
        assert names >= {*parts} and not any("index" in name for name in names), (path, pattern)


def prose(path: Path) -> str:
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)


def test_commands_in_the_text() -> None:
    """`bertdata verify DIR…` in a sentence names a command that is there, and options of it; it need not be whole."""
    for path in PAGES:
        for line in re.findall(r"`(bertdata [a-z-]+[^`]*)`", prose(path)):
            told = problem(line)
            assert not told or told.startswith(("without ", "Option")) or "requires an argument" in told, f"{line}\n{told}"


def test_options_in_the_text() -> None:
    walk = [command for _, command in hook("reference").walk()]
    known = {name for command in walk for param in command.params for name in (*param.opts, *param.secondary_opts)}
    for path in PAGES:
        if path.relative_to(REPOSITORY).as_posix() not in OF_ENGINES:
            spans = re.findall(r"`(--[^`]*)`", prose(path))
            named = {option for span in spans for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", span)}
            assert named - FOREIGN <= known, (path.name, named - FOREIGN - known)


def test_snippets() -> None:
    """Python asks for names and arguments that are there, and TOML can be read."""
    pytest.importorskip("torch")
    for path in PAGES:
        for block in blocks(path):
            if block.language == "python":
                assert not (found := list(strange(block.text))), f"{path.name}\n{block.text}\n{found}"
            elif block.language == "toml":
                assert parse_toml(path.name, block.text)


@pytest.mark.parametrize("path", [*PAGES, *sorted(REPOSITORY.glob("examples/*[bd]"))], ids=lambda path: path.name)
def test_nothing_is_installed_by_a_strangers_name(path: Path) -> None:
    """`bertdata` on PyPI is of others, and pip runs their code: until a release pages install from the clone; two warn of it."""
    text = path.read_text(encoding="utf-8")
    named = re.findall(r"\b(?:pip|uv|pipx)\b[^\n`]* (?:install|add|download)[^\n`]*?[ '\"]bertdata\b(?![./\w])[^\n`]*", text)
    warned = {"README.md": ["pip install bertdata"], "README.zh-CN.md": ["pip install bertdata"]}
    assert named == warned.get(path.relative_to(REPOSITORY).as_posix(), [])
    assert not re.search(r"^ *bertdata *(?:\[|[=~<>!]=)", text, re.M), "a line of requirements"


def test_links_lead_somewhere() -> None:
    """Of pages as they lie in the repository; the site's own links are checked when it is built."""
    for path in PAGES:
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)\s#:]+)(?:#[^)]*)?\)", text):
            assert (path.parent / link).exists(), f"{path.relative_to(REPOSITORY)}: {link}"
