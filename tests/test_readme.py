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
from conftest import REPOSITORY, SAMPLE, read_rows

from bertdata import build_corpus
from bertdata.cli import cli
from bertdata.config import CorpusConfig, FilterConfig

pytestmark = pytest.mark.long

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
CHINESE = (REPOSITORY / "README.zh-CN.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.M | re.S)
BUILDING = ("build-corpus", "train-vocab", "make-pairs")


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
        blocks = [block for text in (README, CHINESE) for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S)]
        shown = {line: told for block in blocks for line, told in dialogues(block)}
        built = [line for line in shown if "inspect" not in line]
        assert [line.split()[1] for line in built] == [*BUILDING, "verify"]
        assert CliRunner().invoke(cli, ["demo", "--n", "1"]).exit_code == 0
        for line in [*built, *(shown.keys() - set(built))]:
            more = ["--workers", "1"] if line.split()[1] in BUILDING else []
            done = CliRunner().invoke(cli, [*shlex.split(line)[1:], *more])
            assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception}"
            assert (problem := differs(shown[line], done.stdout.splitlines())) == "", f"{line}: {problem}"
    return root


def dialogues(block: str) -> list[tuple[str, list[str]]]:
    """Split a block of a terminal: each command, and the lines that stand below it."""
    parts = re.split(r"^\$ ", block, flags=re.M)[1:]
    return [(part.splitlines()[0], part.splitlines()[1:]) for part in parts]


SIZE = re.compile(r"([\d.]+) (?=[kM]?B\b)")
SPARE = 0.15  # kB or MB: manifests hold the versions of packages, and sizes are shown in tenths


def differs(shown: list[str], printed: list[str]) -> str:
    """Say what of the lines that a command prints is not shown; "…" at the end of a line is for what was cut from there on."""
    left, cut = [line.rstrip() for line in printed], False
    for line in shown:
        wanted, whole = line.removesuffix("…").rstrip(), not line.endswith("…")
        if wanted:
            at = next((at for at, each in enumerate(left) if is_shown(wanted, each, whole)), -1)
            if at < 0 or (at > 0 and not cut):
                return f"prints {left[:1]}, and not {line!r}"
            left = left[at + 1 :]
        cut = not whole
    return "" if cut or not left else f"prints {left} as well"


def is_shown(wanted: str, printed: str, whole: bool) -> bool:
    """Return True if a line is printed as it is shown, or begins so, sizes but for what versions of packages make of them."""
    pattern = "([0-9.]+) ".join(map(re.escape, SIZE.split(wanted)[::2]))
    found = re.compile(pattern).fullmatch(printed) if whole else re.compile(pattern).match(printed)
    sizes = SIZE.findall(wanted)
    return found is not None and all(abs(float(a) - float(b)) < SPARE for a, b in zip(sizes, found.groups(), strict=True))


@pytest.mark.long
def test_the_commands_print_what_is_shown(place: Path) -> None:
    assert (place / "pairs" / "report.html").is_file()


@pytest.mark.long
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


@pytest.mark.long
def test_the_files_that_are_shown_are_there(place: Path) -> None:
    page = (REPOSITORY / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    (tree,) = re.findall(r"^```\n(corpus/\n.*?)^```", page, re.M | re.S)
    names = re.findall(r"^  ([\w.]+)", tree, re.M)
    assert len(names) > 8
    for name in names:
        assert list(place.glob(f"*/{name}")) or name in ("data", "lists", "rejects", "dropped"), f"{name} is not made"


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


def test_the_chinese_readme_has_the_same_content() -> None:
    """The same blocks but for comments and the row that is shown, the same headings, links, pictures and figures of the table."""

    def code(text: str) -> list[str]:
        blocks = [re.sub(r" +#.*", "", block) for block in re.findall(r"^```\w*\n.*?^```", text, re.M | re.S)]
        blocks = [re.sub(r" {2,}", " ", re.sub(r"^.*──►.*\n", "", block, flags=re.M)) for block in blocks]  # words above commands
        return [block.partition("--row")[0] if "bertdata inspect" in block else block for block in blocks]

    assert code(CHINESE) == code(README)
    assert CHINESE.count("\n## ") == README.count("\n## ")
    links = [set(re.findall(r"\]\(((?!docs/zh/)[^)]*)\)", text)) - {"README.md", "README.zh-CN.md"} for text in (CHINESE, README)]
    assert links[0] == links[1]
    tables = [text.partition("|---|---|---|---|\n")[2].partition("\n\n")[0] for text in (CHINESE, README)]
    rows = [
        [sorted(re.findall(r"\d[\d,]*(?:\.\d+)?|\.\d+", "|".join(line.split("|")[2:]))) for line in t.splitlines()]
        for t in tables
    ]
    assert len(rows[0]) > 8 and rows[0] == rows[1], "a figure of the table differs"
