"""What README.md shows is what happens: its commands print what stands below them, and its Python runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import REPOSITORY, SAMPLE

from bertdata.cli import cli

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
CHINESE = (REPOSITORY / "README.zh-CN.md").read_text(encoding="utf-8")
CONTRIBUTING = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.M | re.S)
BUILDING = ("build-corpus", "train-vocab", "make-pairs")


def test_the_commands_are_targets_of_the_makefile() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    named = set(re.findall(r"`?\b(make [a-z]+)\b", README + CONTRIBUTING)) - {"make it", "make pairs"}
    assert {"make demo", "make test", "make quick", "make long", "make docs"} <= named
    for line in re.findall(r"^(make \w+)", CONTRIBUTING, re.M):
        assert re.search(rf"^{line.split()[1]}:", makefile, re.M)
    assert "make test\nmake long\n" in (REPOSITORY / ".ci" / "run").read_text()


def test_the_way_without_make_does_what_make_does() -> None:
    """Three lines, and the same linters and tests as in the Makefile."""
    (block,) = re.findall(r"^```\n(python3 -m venv .*?)^```", CONTRIBUTING, re.M | re.S)
    assert len(block.splitlines()) == 3
    makefile = (REPOSITORY / "Makefile").read_text()
    tools = [re.sub(r"^\$\(BIN\)/", "", line.strip()) for line in makefile.splitlines() if line.startswith("\t$(BIN)/")]
    wanted = {"bertdata demo --train", "ruff check", "ruff format --check", "mypy", 'python -m pytest -n auto -m "not long"'}
    assert wanted <= set(tools)
    assert all(f".venv/bin/{tool}" in block for tool in wanted)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with dumps and books, where the commands of README have run."""
    root = tmp_path_factory.mktemp("readme")
    (root / "dumps").mkdir()
    for path in SAMPLE.glob("*.bz2"):
        shutil.copy(path, root / "dumps")
    shutil.copytree(SAMPLE / "books", root / "books")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        shown = {line: told for kind, block in BLOCKS if kind == "console" for line, told in dialogues(block)}
        built = [line for line in shown if "inspect" not in line]
        assert [line.split()[1] for line in built] == [*BUILDING, "verify"]
        for line in [*built, *(shown.keys() - set(built))]:
            more = ["--workers", "1"] if line.split()[1] in BUILDING else []
            done = CliRunner().invoke(cli, [*shlex.split(line)[1:], *more])
            assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception}"
            printed = iter(plain(done.stdout))
            for wanted in plain("\n".join(shown[line])):
                assert any(each.startswith(wanted) for each in printed), f"{line} does not print, in this order: {wanted}"
    return root


def dialogues(block: str) -> list[tuple[str, list[str]]]:
    """Split a block of a terminal: each command, and the lines that stand below it."""
    parts = re.split(r"^\$ ", block, flags=re.M)[1:]
    return [(part.splitlines()[0], part.splitlines()[1:]) for part in parts]


def plain(text: str) -> list[str]:
    """Return lines without the sizes of files, which hold the versions of packages."""
    return [re.sub(r"[\d.]+ [kM]?B\b", "N B", line.rstrip()) for line in text.splitlines()]


def test_the_commands_print_what_is_shown(place: Path) -> None:
    assert (place / "pairs" / "report.html").is_file()


def test_the_python_runs(place: Path) -> None:
    """Of README, and of the pages on Python, formats and training, one after the other."""
    pytest.importorskip("torch")
    pages = [REPOSITORY / "docs" / name for name in ("reference/formats.md", "how-to/python.md")]
    texts = [README, *(path.read_text(encoding="utf-8") for path in pages)]
    program = "\n".join(block for text in texts for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S))
    program = program.replace('"pairs-128"', '"pairs"') + "\nprint(pairs.num_rows == len(shards), sorted(batch))\n"
    environment = {**os.environ, "HF_HOME": str(place / "hf"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "True ['attention_mask', 'input_ids', 'labels', 'next_sentence_label', 'token_type_ids']" in done.stdout


def test_the_files_that_are_shown_are_there(place: Path) -> None:
    page = (REPOSITORY / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    (tree,) = re.findall(r"^```\n(corpus/\n.*?)^```", page, re.M | re.S)
    names = re.findall(r"^  ([\w.]+)", tree, re.M)
    assert len(names) > 8
    for name in names:
        assert list(place.glob(f"*/{name}")) or name in ("data", "lists", "rejects", "dropped"), f"{name} is not made"


def test_readme_is_short_and_has_what_it_must() -> None:
    assert len(README.splitlines()) <= 130
    parts = (
        "pip install bertdata",
        "**For you**",
        "**Not for you**",
        "docs/report.png",
        "## How it compares",
        "Linux",
        "macOS",
        "WSL",
    )
    assert all(part in README for part in parts)
    for term in ("document", "chunks", "row", "pair", "shards", "NotNext"):
        first = re.search(rf"\*\*{term}\*\*", README)
        assert first, f"{term} is explained where it first stands"


def test_the_chinese_readme_has_the_same_content() -> None:
    """The same blocks but for comments, the same headings, links, pictures and figures of the table, in the same order."""

    def code(text: str) -> list[str]:
        return [re.sub(r" +#.*", "", block) for block in re.findall(r"^```\w*\n.*?^```", text, re.M | re.S)]

    assert code(CHINESE) == code(README)
    assert CHINESE.count("\n## ") == README.count("\n## ")
    links = [set(re.findall(r"\]\(([^)]*)\)", text)) - {"README.md", "README.zh-CN.md"} for text in (CHINESE, README)]
    assert links[0] == links[1]
    tables = [text.partition("|---|---|---|---|\n")[2].partition("\n\n")[0] for text in (CHINESE, README)]
    rows = [
        [sorted(re.findall(r"\d[\d,]*(?:\.\d+)?|\.\d+", "|".join(line.split("|")[2:]))) for line in t.splitlines()]
        for t in tables
    ]
    assert len(rows[0]) > 8 and rows[0] == rows[1], "a figure of the table differs"
