"""The package as it is installed: a wheel holds all of it, an editable checkout gives the same names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest
from conftest import REPOSITORY, read_manifest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from bertdata.config.toml import tomllib
from bertdata.extras import EXTRAS

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
HEAVY = ("torch", "safetensors", "datasets", "transformers", "jieba", "opencc", "rensa", "upath", "s3fs", "pandas")
INSTALL = ["install", "--no-deps", "--no-build-isolation", "--no-compile", "--quiet", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what git tracks, so that building writes nothing into the checkout."""
    root = tmp_path_factory.mktemp("checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        source, target = REPOSITORY / name, root / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    return root


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> Path:
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist", "."], cwd=checkout, check=True)
    return next((checkout / "dist").glob("*.whl"))


def test_heavy_libraries_are_optional() -> None:
    asked = [line for line in requires("bertdata") or [] if "extra ==" not in line]
    assert not {re.split(r"[^\w-]", line)[0] for line in asked} & {*HEAVY, "universal_pathlib"}


def test_messages_name_the_libraries_of_each_extra() -> None:
    """`EXTRAS` lists what pyproject.toml lists, with the extras that an extra includes written out."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]

    def requirements(extra: str) -> list[Requirement]:
        found = []
        for each in map(Requirement, project[extra]):
            found += [more for name in each.extras for more in requirements(name)] if each.name == "bertdata" else [each]
        return found

    for extra, listed in EXTRAS.items():
        ours, theirs = ({each.name: each for each in found} for found in (map(Requirement, listed), requirements(extra)))
        assert ours.keys() == theirs.keys(), extra
        for name, requirement in ours.items():
            assert requirement.extras == theirs[name].extras
            assert requirement.specifier in (SpecifierSet(), theirs[name].specifier)
    for_developers = {"docs", "dev", "peers", "all"}
    assert project.keys() == EXTRAS.keys() | for_developers


def test_no_text_names_extras_of_the_other_project_on_the_index() -> None:
    """`pip install bertdata[train]` would run a stranger's code. In pyproject.toml pip resolves such names to the clone."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True).stdout.decode()
    names = [name for name in listed.split("\0") if name and name not in ("pyproject.toml", "tests/test_packaging.py")]
    texts = {name: (REPOSITORY / name).read_bytes() for name in names if (REPOSITORY / name).is_file()}
    assert not [name for name, text in texts.items() if re.search(rb"bertdata\\?\[[a-z]", text)]


@pytest.mark.long
def test_the_core_takes_as_much_as_readme_says() -> None:
    """By the files of what is installed: a tenth more or less by versions; pyarrow and Beam are half of it."""
    sizes: dict[str, int] = {}
    wanted = ["bertdata"]
    while wanted:
        if (name := wanted.pop().lower().replace("_", "-")) in sizes:
            continue
        found = distribution(name)
        paths = [Path(str(found.locate_file(file))) for file in found.files or []]
        sizes[name] = sum(path.stat().st_size for path in paths if path.is_file())
        needs = map(Requirement, found.requires or [])
        wanted += [each.name for each in needs if each.marker is None or each.marker.evaluate({"extra": ""})]
    (told,) = re.findall(r"and (\d+) MB of disk, half of it for pyarrow and Apache", README)
    assert sum(sizes.values()) / 1e6 == pytest.approx(int(told), rel=0.1)
    assert sorted(sizes, key=lambda name: -sizes[name])[:2] == ["pyarrow", "apache-beam"]
    assert (sizes["pyarrow"] + sizes["apache-beam"]) / sum(sizes.values()) == pytest.approx(0.5, abs=0.03)


def test_versions_of_python_are_those_that_readme_names() -> None:
    settings = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    first, last = re.findall(r"\bPython 3\.(\d+) to 3\.(\d+)\b", README)[0]
    assert f'requires-python = ">=3.{first},<3.{int(last) + 1}"' in settings
    assert re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', settings) == [
        str(minor) for minor in range(int(first), int(last) + 1)
    ]


@pytest.mark.long
def test_a_wheel_holds_everything(checkout: Path, wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for path in [
        *checkout.glob("bertdata/**/*.py"),
        *checkout.glob("bertdata/**/*.toml"),
        *checkout.glob("bertdata/sample/**/*"),
    ]:
        if path.is_file():
            assert path.relative_to(checkout).as_posix() in names
    for path in checkout.glob("pipelines/**/*.py"):
        assert f"bertdata/{path.relative_to(checkout).as_posix()}" in names
    assert "bertdata/py.typed" in names
    assert not any(name.startswith(("pipelines/", "tests/", "benchmarks/")) for name in names)
    sdist = tarfile.open(next((checkout / "dist").glob("*.tar.gz")))  # noqa: SIM115
    with sdist:
        inside = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pipelines/make_pairs.py", "bertdata/sample/books", "pyproject.toml"} <= inside


@pytest.mark.long
@pytest.mark.parametrize("how", ["wheel", "editable", "clone"])
def test_the_commands_and_pipelines_run(how: str, checkout: Path, wheel: Path, tmp_path: Path) -> None:
    """Also in a clone that is not installed. The environment has this one's dependencies but no heavy libraries."""
    environment = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    site = next((environment / "lib").glob("python*")) / "site-packages"
    theirs = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(theirs))  # the editable hook of this checkout is not run
    what = {"wheel": [wheel], "editable": ["--editable", checkout]}.get(how, [])
    if what:
        subprocess.run([python, "-m", "pip", *INSTALL, *what], check=True, cwd=tmp_path)
    for name in HEAVY:
        (tmp_path / "absent").mkdir(exist_ok=True)
        (tmp_path / "absent" / f"{name}.py").write_text("raise ImportError('not in the core')")
    (tmp_path / "absent" / "mine.py").write_text(
        "def drop(document):\n    return 'Chinese' if document.language == 'zh' else document\n"
    )
    where = {"cwd": checkout if how == "clone" else tmp_path, "env": {**os.environ, "PYTHONPATH": str(tmp_path / "absent")}}

    def run(*words: object) -> str:
        done = subprocess.run([python, *map(str, words)], capture_output=True, text=True, check=False, **where)
        assert done.returncode == 0, done.stderr
        return done.stdout

    folder = "" if how == "clone" else "bertdata."
    home = site if how == "wheel" else checkout
    shown = run(
        "-c", f"import bertdata, {folder}pipelines.make_pairs as made; print(bertdata.__file__, made.__file__, sep='\\n')"
    )
    assert all(Path(line).is_relative_to(home) for line in shown.splitlines()), shown
    run("-m", "bertdata", "demo", "--output", tmp_path / "demo")
    assert (tmp_path / "demo" / "pairs" / "manifest.json").is_file()
    words = ("--books", home / "bertdata" / "sample" / "books", "--map", "mine:drop", "--output", tmp_path / "corpus")
    run("-m", "bertdata", "build-corpus", *words, "--", "--runner=FnApiRunner")
    assert read_manifest(tmp_path / "corpus")["rows"] == 2
