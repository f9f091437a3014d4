"""`bertdata verify` as people use it, and what must not lead any reader astray: hostile names, links, failing disks, stores."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import COMMAND, Build, Run, is_alive
from tiny import write_pairs

from bertdata import Shards
from bertdata.cli import cli
from bertdata.dataset import manifest
from bertdata.errors import BertDataError, NoInputError, StorageError, VerificationError
from bertdata.storage import files
from bertdata.storage.files import file_entry, to_path
from bertdata.storage.storage import storage_errors
from bertdata.verification import verify

SECRET = "nobody is to see this"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that no reader may open."""
    path = tmp_path / "outside.txt"
    path.write_text(SECRET * 100)  # long enough to be a shard of one batch: no reader is to stop at its size
    return path


@pytest.fixture
def pairs(sample_pairs: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sample_pairs, tmp_path / "sets" / "pairs"))


@pytest.fixture
def corpus(sample_corpus: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sample_corpus, tmp_path / "sets" / "corpus"))


def _commands(root: Path, vocab: Path, output: Path) -> Iterator[list[Any]]:
    """Every command that reads a dataset."""
    yield ["verify", root]
    yield ["inspect", root]
    yield ["inspect", root, "--explain", "x"]
    yield ["train-vocab", root, "--output", output]
    yield ["make-pairs", root, "--vocab", vocab, "--output", output]


def _refused(root: Path, vocab: Path, outside: Path) -> None:
    """Run every reader; none may open the file outside."""
    with _watched() as opened:
        for command in _commands(root, vocab, root.parent / "out"):
            done = CliRunner().invoke(cli, [str(part) for part in command], standalone_mode=False)
            error = done.exception
            assert isinstance(error, BertDataError) and error.exit_code in (2, 6), (command, done.output, error)
            assert SECRET not in done.output + str(error)
        with pytest.raises(BertDataError):
            Shards(root, verify=True)
    assert os.path.realpath(outside) not in opened and opened


_watching: list[list[str]] = []


def _look(event: str, args: tuple[Any, ...]) -> None:
    if _watching and event == "open" and isinstance(args[0], str):
        _watching[-1].append(os.path.realpath(args[0]))


@functools.cache
def _hook() -> None:
    """Have `_look` called, once: what is added stays as long as the process, and is called for other tests as well."""
    sys.addaudithook(_look)


@contextlib.contextmanager
def _watched() -> Iterator[list[str]]:
    """Yield a list of the files that are opened in the block."""
    _hook()
    _watching.append([])
    try:
        yield _watching[-1]
    finally:
        _watching.pop()


@pytest.mark.parametrize("kind", ["corpus", "pairs"])
@pytest.mark.parametrize(
    ("key", "name"), [("shards", "../../outside.txt"), ("drops", "data/../../../outside.txt"), ("files", "{outside}")]
)
def test_no_reader_follows_a_name_out_of_the_directory(
    kind: str, key: str, name: str, outside: Path, request: pytest.FixtureRequest
) -> None:
    root: Path = request.getfixturevalue(kind)
    made = manifest.read_json(root)
    entry = {**file_entry(outside.parent, outside.name), "name": name.format(outside=outside), "rows": 1, "batches": 1}
    made[key] = [*made.get(key, []), {**entry, "text_bytes": 1}]
    manifest.store(root, made)
    _refused(root, request.getfixturevalue("sample_vocab"), outside)


@pytest.mark.parametrize("kind", ["corpus", "pairs"])
@pytest.mark.parametrize("link", ["file", "folder"])
def test_no_reader_follows_a_link_out_of_the_directory(
    kind: str, link: str, outside: Path, request: pytest.FixtureRequest
) -> None:
    root: Path = request.getfixturevalue(kind)
    made = manifest.read_json(root)
    shard = root / made["shards"][0]["name"]
    if link == "file":
        shard.unlink()
        shard.symlink_to(outside)
    else:
        shard.parent.rename(outside.parent / "data")
        (outside.parent / "data" / shard.name).unlink()
        (outside.parent / "data" / shard.name).hardlink_to(outside)
        (root / "data").symlink_to(outside.parent / "data")
        outside = outside.parent / "data" / shard.name
    made["shards"][0] |= file_entry(root, made["shards"][0]["name"])
    manifest.store(root, made)
    _refused(root, request.getfixturevalue("sample_vocab"), outside)
    assert any("leads out of" in problem.what for problem in verify(root, workers=1).problems)


def test_links_that_stay_inside_are_no_harm(pairs: Path) -> None:
    shard = pairs / manifest.read_json(pairs)["shards"][0]["name"]
    linked = Path(shutil.copytree(pairs, pairs.parent / "other"))
    (pairs.parent / "link").symlink_to(linked)
    assert verify(pairs.parent / "link", workers=1).problems == []
    shard.rename(shard.with_name("kept"))
    shard.symlink_to("kept")
    assert [problem.name for problem in verify(pairs, workers=1).problems] == ["data/kept"]


def test_what_is_no_data_set_is_refused_before_anything_is_read(run: Run, tmp_path: Path, pairs: Path) -> None:
    (tmp_path / "empty").mkdir()
    for given, what in (
        (tmp_path / "nothing", "is not a directory. Pass a directory that bertdata has written"),
        (pairs / "vocab.txt", "is not a directory"),
        (tmp_path / "empty", "contains no bertdata dataset"),
    ):
        done = run("verify", pairs, given, code=2)
        assert done.stdout == "" and what in done.stderr and str(given) in done.stderr
    assert "DIRECTORY" in run("verify", code=2).stderr
    assert "workers" in run("verify", pairs, "--workers", 0, code=2).stderr


@pytest.mark.parametrize("name", ["metrics.jsonl", "state.json"])
def test_a_training_run_has_nothing_to_verify(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    done = run("verify", tmp_path, code=2)
    assert "is of a training run, which has no digests to verify: a checkpoint is checked when it is loaded" in done.stderr
    (tmp_path / ".bertdata").mkdir()  # as a run has it: no unfinished dataset
    shown = run("inspect", tmp_path, code=2).stderr
    assert f"{tmp_path} contains a training run, not a dataset. Show it with `bertdata report {tmp_path}`" in shown


def test_a_broken_manifest_is_told_and_the_other_sets_are_read(run: Run, pairs: Path, corpus: Path) -> None:
    path = pairs / manifest.NAME
    path.write_bytes(path.read_bytes()[:-20])
    done = run("verify", pairs, corpus, code=6)
    assert done.stdout.startswith(f"{corpus}: documents")
    first, last = done.stderr.splitlines()
    assert first.startswith(f"{path}: is damaged (") and first.endswith("or build the dataset again with --overwrite")
    assert last.startswith(f"bertdata: error: not as written: {pairs} (1 file): restore the files listed above")


@pytest.mark.parametrize("name", ["README.md", "vocab.txt", "data/train-00000-of-00001.arrow"])
def test_a_failing_disk_is_no_damage(pairs: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The error that a disk gives half-way through a file."""

    class Failing(files.Watched):
        def readinto(self, buffer: Any) -> int:
            with storage_errors(f"cannot read {self._path}"):
                if self._path == pairs / name:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                return super().readinto(buffer)

    monkeypatch.setattr(files, "Watched", Failing)
    with pytest.raises(StorageError, match="cannot read .*Input/output error"):
        verify(pairs, workers=1)


def test_a_directory_that_may_not_be_read(pairs: Path, run: Run) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (pairs / "data").chmod(0)
    try:
        assert "cannot read" in run("verify", pairs, code=4).stderr
    finally:
        (pairs / "data").chmod(0o755)


def test_a_data_set_in_a_store(build: Build, text: Path, run: Run) -> None:
    pytest.importorskip("upath")
    import fsspec

    memory: Any = fsspec.filesystem("memory", use_listings_cache=False)
    corpus = to_path("memory://verify/corpus")
    try:
        build("build-corpus", corpus, "--text", text)  # type: ignore[arg-type]
        found = verify(corpus, workers=4)
        assert found.problems == [] and found.rows == 400
        shard = manifest.read_json(corpus)["shards"][0]["name"]
        whole = memory.cat_file(f"/verify/corpus/{shard}")
        memory.pipe_file(f"/verify/corpus/{shard}", whole[:999] + b"#" + whole[1000:])
        memory.pipe_file("/verify/corpus/data/more", b"#")
        memory.rm_file("/verify/corpus/README.md")
        told = dict(verify(corpus).problems)
        assert (
            "SHA-256" in told[shard]
            and "does not belong to this dataset" in told["data/more"]
            and told["README.md"] == "is missing"
        )
        assert len(told) == 3
    finally:
        memory.rm("/verify", recursive=True)


def test_a_process_that_dies_is_told(tmp_path: Path) -> None:
    """As the system ends one where memory is short."""
    pairs = write_pairs(tmp_path / "pairs", {"train": [[9], [12]]})
    (tmp_path / "dying.py").write_text("""
import os
from bertdata.verification import check
class Dies(check._Job):
    def __call__(self, task):
        os.kill(os.getpid(), 9)
""")
    script = tmp_path / "dies.py"
    script.write_text(f"""
from pathlib import Path
from dying import Dies
from bertdata.verification import check
check._Job = Dies
try:
    check.verify(Path({str(pairs)!r}), workers=2)
except Exception as error:
    print(type(error).__name__, error)
""")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.startswith("BertDataError a second worker process was killed") and "fewer `workers`" in done.stdout, (
        done.stderr
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_processes(number: signal.Signals, text: Path, build: Build, tmp_path: Path) -> None:
    corpus = build("build-corpus", tmp_path / "corpus", "--text", text, "--task-bytes", 65536)
    made = manifest.read_json(corpus)
    shard = made["shards"][0]
    with (corpus / shard["name"]).open("r+b") as file:  # hashed for some seconds
        file.truncate(6 << 30)
    shard["bytes"] = 6 << 30
    manifest.store(corpus, made)
    command = [*COMMAND, "verify", str(corpus), "--workers", "2"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(_children(process.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    children = _children(process.pid)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 128 + number and "Traceback" not in said and "stopped" in said
    while (left := [child for child in children if is_alive(child)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(children) >= 2 and left == []


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_there_is_a_bar_on_a_terminal_and_none_elsewhere(pairs: Path) -> None:
    import pty

    master, slave = pty.openpty()
    done = subprocess.run([*COMMAND, "verify", str(pairs)], stderr=slave, stdout=subprocess.PIPE, timeout=60, check=False)
    os.close(slave)
    seen = b""
    try:
        while block := os.read(master, 1 << 16):
            seen += block
    except OSError:  # nobody writes any more
        pass
    os.close(master)
    assert done.returncode == 0 and b"pairs" in seen and b"B" in seen


def test_inspect_points_to_verify(run: Run, pairs: Path) -> None:
    assert "bertdata verify" in run("inspect", "--help").stdout
    (pairs / "vocab.txt").unlink()
    assert "vocab.txt is missing or cut" in run("inspect", pairs, code=6).stderr


def test_an_edited_manifest_stops_every_reader(run: Run, pairs: Path, corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    for root in (pairs, corpus):
        path = root / manifest.NAME
        path.write_text(path.read_text().replace('"seed": ', '"seed": 1').replace('"max_rejects": ', '"max_rejects": 1'))
    for command in (["inspect", pairs], ["make-pairs", corpus, "--vocab", sample_vocab, "--output", tmp_path / "x"]):
        said = run(*command, code=6).stderr
        assert "manifest.json is not as it was written: restore it from a copy, or build the dataset again" in said
    with pytest.raises(VerificationError, match="is not as it was written"):
        Shards(pairs)
    with pytest.raises(NoInputError):
        verify(tmp_path / "x")
