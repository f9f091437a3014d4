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
    """Tell whether a line is printed as it is shown, or begins so, sizes but for what versions of packages make of them."""
    pattern = "([0-9.]+) ".join(map(re.escape, SIZE.split(wanted)[::2]))
    found = re.compile(pattern).fullmatch(printed) if whole else re.compile(pattern).match(printed)
    sizes = SIZE.findall(wanted)
    return found is not None and all(abs(float(a) - float(b)) < SPARE for a, b in zip(sizes, found.groups(), strict=True))


def test_what_is_shown_is_compared_wholly() -> None:
    """A size, a line left out without a mark, and one that is not printed are found."""
    printed = ["a: 296.7 kB: as written (8.5 MB/s)", "b", "c"]
    assert differs(["a: 296.6 kB: as written …", "b", "c"], printed) == "" == differs(["a: 296.7 kB …", "c"], printed)
    for shown in (["a: 296.4 kB …"], ["a: 296.7 kB: as written", "b", "c"], ["a: 296.7 kB …", "b"], ["…", "d", "…"]):
        assert differs(shown, printed)
    assert differs(["b"], ["a", "b"]) and differs(["…", "b"], ["a", "b"]) == ""


def test_the_commands_print_what_is_shown(place: Path) -> None:
    assert (place / "pairs" / "report.html").is_file()


@pytest.mark.slow
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
    """The same blocks but for comments and the row that is shown, the same headings, links, pictures and figures of the table."""

    def code(text: str) -> list[str]:
        blocks = [re.sub(r" +#.*", "", block) for block in re.findall(r"^```\w*\n.*?^```", text, re.M | re.S)]
        blocks = [re.sub(r" {2,}", " ", re.sub(r"^.*──►.*\n", "", block, flags=re.M)) for block in blocks]  # words above commands
        return [block.partition("--row")[0] if "bertdata inspect" in block else block for block in blocks]

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


CLAIMS = (  # what README says, in English and Chinese, and the tests or the benchmark that hold it
    (
        "any language of Wikipedia",
        "Wikipedia 的任何一种",
        "text/wikitext/test_localisation.py::test_every_large_wikipedia_has_its_names",
    ),
    (
        "every page that was left out is counted",
        "每个被丢弃的页面都按原因计数",
        "test_reasons_doc.py::test_every_reason_is_documented",
    ),
    ("the same input gives the\nsame bytes", "同样的输入得到逐字节相同的输出", "build/test_same_bytes.py::test_two_workers"),
    ("killed continues", "重新执行同一条命令就能接着跑", "crashes/test_killed_runs.py::test_random_moments"),
    ("on a cluster", "在单机或集群上跑", "engines/test_engines_doc.py::test_every_line_of_every_block_has_a_test"),
    ("in seconds", "几秒钟", "cli/test_cli.py::test_demo_ends_with_pairs_and_runs_twice"),
    ("520 MB", "520 MB", "test_packaging.py::test_the_core_takes_as_much_as_readme_says"),
    ("Python 3.10 to 3.13", "Python 3.10 到 3.13", "test_packaging.py::test_versions_of_python_are_those_that_readme_names"),
    ("`datasets`, polars and torch read", "`datasets`、polars 和 torch", "report/test_reading.py::test_lines_of_the_card_run"),
    ("**Exactly half", "**NotNext 恰好占一半**", "verification/test_verify_laws.py::test_pairs"),
    (
        "No length, position",
        "无论从长度、位置",
        "rows/test_pairs.py::test_lengths_and_places_do_not_tell_the_label",
    ),
    (
        "language or script gives the label away",
        "语言还是简繁字体都看不出标签",
        "build/test_pair_languages.py::test_no_pair_joins_two_languages_or_scripts",
    ),
    ("(221 of these 442)", "442 行中的 221 行", "test_readme.py::test_the_commands_print_what_is_shown"),
    ("one file without scripts", "不含脚本", "report/test_page.py::test_each_data_set_has_a_page_that_needs_nothing_else"),
    ("what became of every page", "每个页面的去向", "report/test_page.py::test_every_loss_is_named_with_its_count"),
    ("labels, masks, samples", "标签、掩码比例和样例", "report/test_page.py::test_the_page_has_samples_with_masks"),
    (
        "Masks are drawn anew each epoch",
        "每个 epoch 都重新抽取掩码",
        "training/test_loader.py::test_masks_differ_between_epochs_and_seeds",
    ),
    (
        "A step number is the whole state",
        "数据的全部状态就是步数",
        "training/test_loader.py::test_any_start_with_any_workers_goes_on_alike",
    ),
    ("`transformers` loads", "`transformers` 加载", "training/trainer/test_training.py::test_a_run"),
    ("`bertdata export` writes", "`bertdata export` 可以导出", "exports/test_peers_readers.py"),
    ("[four commands]", "[四条命令]", "test_encoder_recipe.py::test_four_commands_from_a_dump_to_a_model"),
    ("By `make bench`", "由 `make bench` 测得", "benchmarks/test_all_benchmarks.py::test_it_runs_on_tiny_input"),
    ("[what English Wikipedia and 10 TB cost]", "[处理英文 Wikipedia 和 10 TB", "benchmarks/test_benchmark_ten_terabytes.py"),
    ("with every option", "包含全部选项", "docs/test_complete.py"),
    ("names its sources", "都列出了来源", "report/test_reading.py::test_the_card_tells_of_rights_and_shares"),
)


def test_each_claim_has_its_test() -> None:
    for english, chinese, where in CLAIMS:
        assert english in README and chinese in CHINESE, english
        path, _, name = where.partition("::")
        code = (REPOSITORY / "tests" / path).read_text(encoding="utf-8")
        assert f"def {name}(" in code if name else "def test_" in code, where
