"""README.md shows what happens: its commands print the lines below them, its Python runs, its wikitext becomes its text."""

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
from conftest import REPOSITORY, SAMPLE, read_rows

from bertdata import build_corpus
from bertdata.cli import cli
from bertdata.config import CorpusConfig, FilterConfig

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
CHINESE = (REPOSITORY / "README.zh-CN.md").read_text(encoding="utf-8")
BUILDING = ("build-corpus", "train-vocab", "make-pairs")


def without_numbers(line: str) -> str:
    """Sizes depend on the versions of packages in the manifests."""
    return re.sub(r"[\d.,]+ ?[kMG]?B\b|[\d.]+ M?B/s", "#", line.rstrip())


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
        blocks = re.findall(r"^```console\n(.*?)^```", README, re.M | re.S)
        parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
        assert CliRunner().invoke(cli, ["demo"]).exit_code == 0
        for part in sorted(parts, key=lambda part: "inspect" in part):  # which may show what a later command builds
            line, *shown = part.splitlines()
            words = shlex.split(line)[1:]
            done = CliRunner().invoke(cli, [*words, *(["--workers", "1"] if words[0] in BUILDING else [])])
            assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception}"
            printed = "\n".join(map(without_numbers, done.stdout.splitlines()))
            for each in filter(None, (without_numbers(each.removesuffix("…")) for each in shown)):
                assert each in printed, f"{line} does not print {each!r} but\n{printed}"
    return root


@pytest.mark.slow
def test_the_commands_print_what_is_shown(place: Path) -> None:
    assert (place / "pairs" / "report.html").is_file()


@pytest.mark.long
def test_the_python_runs(place: Path) -> None:
    pytest.importorskip("torch")
    program = "\n".join(re.findall(r"^```python\n(.*?)^```", README, re.M | re.S))
    environment = {**os.environ, "HF_HOME": str(place / "hf"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert program and done.returncode == 0, done.stderr


def test_the_extracted_text_is_what_readme_shows(tmp_path: Path) -> None:
    """The wikitext in README.md and README.zh-CN.md becomes the text in their tables."""
    for number, page in enumerate((README, CHINESE), 1):
        (wikitext,) = re.findall(r"^```\n('''.*?)\n```", page, re.M | re.S)
        text = f"<page><title>A</title><ns>0</ns><id>1</id><revision><text>{wikitext}</text></revision></page>"
        (tmp_path / f"{number}.xml").write_text(f'<mediawiki xml:lang="en">\n{text}\n</mediawiki>\n', encoding="utf-8")
        bounds = CorpusConfig(filters=FilterConfig(min_letters=0))
        corpus = build_corpus(wikipedia=tmp_path / f"{number}.xml", output=tmp_path / f"c{number}", config=bounds, workers=1)
        (row,) = read_rows(corpus.path)
        assert re.findall(r"^\| bertdata \| (.*) \|$", page, re.M) == [" ".join(row["sentences"])]


def test_the_chinese_readme_has_the_same_commands() -> None:
    def commands(text: str) -> list[str]:
        blocks = re.findall(r"^```\w*\n.*?^```", text, re.M | re.S)
        lines = [line for block in blocks for line in re.findall(r"^(?:\$ )?(bertdata [^#\n]*?) *(?:#.*)?$", block, re.M)]
        return [re.sub(r"--row \d+", "--row N", line) for line in lines]

    assert commands(README) == commands(CHINESE)
