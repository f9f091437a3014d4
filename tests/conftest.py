"""What the tests share: where the sample and the real inputs are, and how to run the command line."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import io
import json
import logging
import os
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

_XDG = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
_USER_CACHES = (*_XDG, "TORCH_HOME", "TRITON_CACHE_DIR", "MPLCONFIGDIR")
_USER_LIBRARIES = ("HF_", "HUGGINGFACE_", "TRANSFORMERS_", "DATASETS_")


def _use_temporary_home() -> None:
    """Keep tests away from the user's home: libraries cache downloads and settings there, and read tokens from it.

    Libraries read these variables when they are imported, so this runs before any of them is. Workers of pytest-xdist inherit
    the directory, and the first process removes it.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    os.environ.setdefault("PYTHONUSERBASE", site.getuserbase())  # else packages of `pip install --user` would be missing
    for name in [name for name in os.environ if name in _USER_CACHES or name.startswith(_USER_LIBRARIES)]:
        del os.environ[name]
    os.environ["HOME"] = tempfile.mkdtemp(prefix="bertdata-home-")
    os.environ["HF_HOME"] = os.path.join(os.environ["HOME"], "huggingface")
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"


_use_temporary_home()
from hypothesis import settings  # noqa: E402
from processes import COMMAND, skip_fsync  # noqa: E402

from bertdata.cli import cli  # noqa: E402
from bertdata.codec import decode  # noqa: E402
from bertdata.tally import StageCounts, Tally  # noqa: E402

REPOSITORY = Path(__file__).resolve().parent.parent
SAMPLE = REPOSITORY / "bertdata" / "sample"
SECONDS = 300  # that a command may take
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each of the processes that tests start, hundreds, compiles bertdata anew
sys.dont_write_bytecode = False
skip_fsync()
settings.register_profile("bertdata", deadline=None, max_examples=50)  # how long an example takes tells of the machine's load
settings.load_profile("bertdata")
Run = Callable[..., "subprocess.CompletedProcess[str]"]
Build = Callable[..., Path]
Rows = dict[str, list[dict[str, Any]]]
Load = Callable[..., list[Rows]]
LOAD = """
import datasets, json, os, sys
while line := sys.stdin.readline():
    if not (child := os.fork()):
        found = [datasets.load_dataset(directory) for directory in json.loads(line)]
        print(json.dumps([{split: rows.to_list() for split, rows in each.items()} for each in found]), flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print("null", flush=True)
"""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays to the end: nobody looks for garbage among it, which are millions of objects."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the temporary home when the last test has ended."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ["HOME"], ignore_errors=True)


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they use: commands in new processes are long, commands in this process are slow."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if "run" in fixtures and not item.get_closest_marker("smoke"):
            item.add_marker("long")
        if {"run", "build"} & fixtures:
            item.add_marker("slow")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real dumps and books beside the checkout; tests that need it skip where it is absent."""
    path = REPOSITORY.parent / "shared"
    if not (path / "data" / "wiki").is_dir():
        pytest.skip("the folder ../shared with real dumps and books is not here")
    return path


@pytest.fixture(scope="session")
def run() -> Run:
    """Run `bertdata ARGUMENTS` in a new process; fail the test unless it ends with `code`, or with one of several."""

    def call(
        *arguments: object, code: int | tuple[int, ...] = 0, cwd: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        line, environment = [*COMMAND, *map(str, arguments)], {**os.environ, **env}
        done = subprocess.run(line, capture_output=True, text=True, cwd=cwd, env=environment, timeout=SECONDS, check=False)
        wanted = (code,) if isinstance(code, int) else code
        assert done.returncode in wanted, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return call


@pytest.fixture(scope="session")
def build() -> Build:
    """Run `bertdata COMMAND ARGUMENTS --output OUTPUT` in this process, which is faster; return the output.

    One worker does the work unless the arguments name more, or Beam where its options stand behind ``--``.
    """

    def call(command: str, output: Path, *arguments: object) -> Path:
        root, said = logging.getLogger(), io.StringIO()
        handlers, level = root.handlers[:], root.level
        words = [*map(str, arguments)]
        at = words.index("--") if "--" in words else len(words)
        how = [] if "--" in words else ["--workers", "1"]
        options = [command, *how, *words[:at], "--output", str(output), *words[at:]]
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                cli.main(options, prog_name="bertdata", standalone_mode=False)
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)
        return output

    return call


def read_rows(directory: Path, split: str = "*") -> list[dict[str, Any]]:
    """Read the rows of a dataset of Arrow streams, or of one split of it, with pyarrow alone."""
    rows: list[dict[str, Any]] = []
    for path in sorted((directory / "data").glob(f"{split}-*.arrow")):
        with pa.memory_map(str(path)) as source:
            rows += pa.ipc.open_file(source).read_all().to_pylist()
    return rows


def is_alive(number: int) -> bool:
    """Return True if a process runs, and is no zombie."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def read_manifest(directory: Path) -> dict[str, Any]:
    """Read a manifest; its counts add up."""
    found: dict[str, Any] = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    for stage in found["counts"]:
        Tally.of(decode(stage, StageCounts)).check()
    return found


def digests(directory: Path) -> dict[str, str]:
    """Hash every file of a dataset but the state of runs, which names this machine's processes."""
    files = sorted(path for path in directory.rglob("*") if path.is_file() and ".bertdata" not in path.parts)
    return {path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def leftovers(directory: Path) -> list[str]:
    """Name what a finished run must not leave: temporary files, records of tasks, spill files."""
    paths = [Path(root) / name for root, folders, files in os.walk(directory) for name in (*folders, *files)]  # a run may go on
    state = [path for path in paths if path.name.startswith(".tmp-") or path.parent.name == ".bertdata"]
    return sorted(path.name for path in state if path.name not in ("run.json", "run.sha256", "lock", "commit"))


def build_of(directory: Path) -> Path:
    """The directory in which a run that is not finished builds."""
    (found,) = directory.glob(".bertdata/build-*")
    return found


def records(directory: Path, step: str) -> list[Path]:
    """The records of a step's finished tasks, of the run that builds in a directory."""
    return sorted(directory.glob(f".bertdata/build-*/.bertdata/tasks/{step}/[0-9]*.json"))


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A JSONL file of 400 documents, of sentences put together from our own words; enough for dozens of tasks."""
    path = tmp_path_factory.mktemp("text") / "text.jsonl"
    subjects = ("The ferry", "A miller", "Old glass", "The tide", "His sister", "The committee", "A grey heron", "Nobody")
    verbs = ("crossed", "remembered", "measured", "painted", "forgot", "repaired", "followed", "described")
    objects = ("the lower harbour", "a map of the marsh", "seven lamps", "the long bridge", "an empty house", "the winter road")
    with path.open("w", encoding="utf-8") as file:
        for number in range(400):
            sentences = []
            for place in range(8 + number * 7 % 40):
                pick = number * 31 + place * 17
                words = subjects[pick % 8], verbs[pick // 3 % 8], objects[pick // 5 % 6], number, place
                sentences.append("{} {} {} in the year {} on day {}.".format(*words))
            file.write(json.dumps({"title": f"Story {number}", "text": " ".join(sentences)}) + "\n")
    return path


@pytest.fixture(scope="session")
def sample_corpus(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample as a corpus."""
    output = tmp_path_factory.mktemp("sample") / "corpus"
    return build("build-corpus", output, "--wikipedia", SAMPLE, "--books", SAMPLE / "books")


@pytest.fixture(scope="session")
def sample_vocab(build: Build, sample_corpus: Path) -> Path:
    """A vocabulary of the sample."""
    return build("train-vocab", sample_corpus.parent / "vocab", sample_corpus, "--size", 4000)


@pytest.fixture(scope="session")
def sample_pairs(build: Build, sample_corpus: Path, sample_vocab: Path) -> Path:
    """Pairs of the sample, with where they came from."""
    return build("make-pairs", sample_corpus.parent / "pairs", sample_corpus, "--vocab", sample_vocab, "--provenance")


@pytest.fixture(scope="session")
def load_datasets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Load]:
    """Read datasets as a user does, all with one cache, each time in another process, which has only imported `datasets`."""
    pytest.importorskip("datasets")
    cache = tmp_path_factory.mktemp("cache")
    environment = {**os.environ, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", LOAD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:

        def call(*directories: Path) -> list[Rows]:
            assert process.stdin is not None and process.stdout is not None
            print(json.dumps([*map(str, directories)]), file=process.stdin, flush=True)
            found: list[Rows] | None = json.loads(process.stdout.readline())
            assert found is not None, "the process has failed"
            return found

        yield call


STEPS = {"build-corpus": "extract", "train-vocab": "count", "make-pairs": "pairs"}  # a step of each command, for its records


def command_line(name: str, text: Path, root: Path) -> list[object]:
    """The arguments of a command whose inputs are `text` and what the other commands wrote in `root`."""
    corpus = root / "build-corpus"
    return {
        "build-corpus": ["--text", text, "--task-bytes", 1 << 16],
        "train-vocab": [corpus, "--size", 900],
        "make-pairs": [corpus, "--vocab", root / "train-vocab", "--shards", 12],
    }[name]


@pytest.fixture(scope="session")
def parts(build: Build, text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, a vocabulary and pairs made without a break: what resumed runs are compared with."""
    root = tmp_path_factory.mktemp("whole")
    for name in STEPS:
        build(name, root / name, *command_line(name, text, root))
    return root
