"""Inputs and outputs in a store: the same names, the same bytes and the same refusals as on a disk."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import SAMPLE, Build, digests, read_manifest

from bertdata.dataset import manifest
from bertdata.dataset.build import STATE, building, is_complete
from bertdata.dataset.manifest import NAME
from bertdata.dataset.shards import DOCUMENT, DocumentBatch, read_batches, write
from bertdata.dataset.tasks import FilesReport, count_done, perform
from bertdata.errors import NoInputError, OutputExistsError, ResumeError, StorageError, UsageError
from bertdata.run.state import run_state
from bertdata.sources.inputs import find
from bertdata.storage import files, moves

pytestmark = pytest.mark.long

pytest.importorskip("upath")
IDENTITY: dict[str, Any] = {"command": "build-corpus", "config": {"seed": 1}}


@pytest.fixture
def store() -> Iterator[Any]:
    """The store ``memory://``, empty."""
    import fsspec

    memory: Any = fsspec.filesystem("memory", use_listings_cache=False)

    def clear() -> None:
        memory.store.clear()
        memory.pseudo_dirs[:] = [""]

    clear()
    yield memory
    clear()


def _put(store: Any, root: Path, prefix: str) -> None:
    """Copy the files below a directory into the store."""
    for path in root.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            store.pipe_file(f"/{prefix}/{path.relative_to(root).as_posix()}", path.read_bytes())


def _stored(store: Any, prefix: str) -> dict[str, str]:
    """Hash what lies below a prefix, but for the state of runs."""
    names = [name for name in store.find(f"/{prefix}") if f"/{STATE}/" not in name]
    return {name[len(prefix) + 2 :]: hashlib.sha256(store.cat_file(name)).hexdigest() for name in names}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("corpus", "corpus"),
        ("./odd://name", "odd:/name"),
        ("C://corpus", "C:/corpus"),
        ("://corpus", ":/corpus"),
        ("file:///data/corpus", "/data/corpus"),
        ("FILE://localhost/data/a%20b", "/data/a b"),
    ],
)
def test_names_of_this_machine_are_plain_paths(name: str, path: str) -> None:
    found = files.to_path(name)
    assert type(found) is type(Path()) and found == Path(path)
    assert files.is_local(name) and not files.is_private(name)


def test_a_url_keeps_its_form_through_every_step(store: Any) -> None:
    root = files.to_path("memory://bucket/dir")
    assert str(root / "data" / "x.arrow") == "memory://bucket/dir/data/x.arrow"
    assert files.to_path(str(root)) == root and files.to_path(root) is root
    assert not files.is_local(root) and files.is_private("memory://bucket")
    assert root.resolve() == root and root.name == "dir" and (root / "a.xml").with_name("b").name == "b"


@pytest.mark.parametrize(
    ("name", "missing", "says"),
    [
        ("s3://bucket/corpus", "upath", r"s3://bucket/corpus: .*pip install universal_pathlib s3fs"),
        ("hdfs://host/corpus", "upath", r"pip install universal_pathlib"),
        ("gs://bucket/corpus", "gcsfs", r"gs://bucket/corpus: .*gcsfs.*pip install universal_pathlib gcsfs"),
        ("nowhere://bucket/corpus", "", r"nowhere://bucket/corpus: .*'nowhere'.*written \./nowhere://bucket/corpus"),
    ],
)
def test_a_store_that_no_package_reaches(monkeypatch: pytest.MonkeyPatch, name: str, missing: str, says: str) -> None:
    if missing:
        monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match=says):
        files.to_path(name)


@pytest.mark.parametrize("renames", [False, True])
def test_nothing_stands_under_the_name_until_it_is_whole(store: Any, monkeypatch: pytest.MonkeyPatch, renames: bool) -> None:
    if renames:  # as on HDFS
        monkeypatch.setattr(files, "OBJECT_STORES", frozenset())
    path = files.to_path("memory://bucket/deep/file.bin")
    for content in (b"first", b"second"):
        before = store.find("/bucket")
        with files.replacing(path) as file:
            file.write(content)
            file.flush()
            assert store.find("/bucket") == before
        assert path.read_bytes() == content and files.size(path) == len(content)
        assert store.find("/bucket") == ["/bucket/deep/file.bin"]
    with pytest.raises(RuntimeError), files.replacing(path) as file:
        file.write(b"a part of the third")
        raise RuntimeError
    assert path.read_bytes() == b"second" and store.find("/bucket") == ["/bucket/deep/file.bin"]
    assert files.digest(path, 1, 4) == hashlib.sha256(b"eco").hexdigest()


def test_a_file_of_a_store_that_renames_is_never_half_under_its_name(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "OBJECT_STORES", frozenset())
    sent: list[str] = []
    monkeypatch.setattr(type(store), "put_file", lambda self, here, there: sent.append(there) or self.pipe_file(there, b"half"))
    monkeypatch.setattr(type(store), "mv", lambda *_: (_ for _ in ()).throw(OSError("cut off")))
    with pytest.raises(StorageError, match="cannot write memory://bucket/file.bin: cut off"):
        files.write_text(files.to_path("memory://bucket/file.bin"), "whole")
    assert [name.startswith(f"/bucket/{files.TEMPORARY_PREFIX}file.bin-") for name in sent] == [True]
    assert not files.to_path("memory://bucket/file.bin").exists()
    moves.remove_temporary(files.to_path("memory://bucket"))
    assert store.find("/bucket") == []


def test_two_readers_of_a_file_do_not_share_a_position(store: Any) -> None:
    store.pipe_file("/bucket/file", b"0123456789")
    with files.open_file("memory://bucket/file") as one, files.open_file("memory://bucket/file") as two:
        assert (one.read(3), two.read(2), one.read(3), two.seek(-1, 2), two.read()) == (b"012", b"01", b"345", 9, b"9")


def test_move_and_remove(store: Any) -> None:
    root = files.to_path("memory://bucket")
    files.write_text(root / "a" / "one", "1")
    moves.move(root / "a" / "one", root / "b" / "two")
    assert store.find("/bucket") == ["/bucket/b/two"]
    moves.remove(root / "b")
    moves.remove(root / "b")
    assert not (root / "b").exists()


def test_shards_are_written_and_read_as_on_a_disk(store: Any, tmp_path: Path) -> None:
    from bertdata.records import Document

    def batches() -> Iterator[Any]:
        for number in range(5):
            batch = DocumentBatch()
            for row in range(number + 1):
                batch.add(Document(f"text:{number}:{row}", "text", "en", "Tea", "", ["One.", "Two."], [0]))
            yield batch.take()

    root = files.to_path("memory://bucket")
    here, there = (write(path, "data/a.arrow", DOCUMENT, batches()) for path in (tmp_path, root))
    assert here == there and there.rows == 15
    assert (root / "data" / "a.arrow").read_bytes() == (tmp_path / "data" / "a.arrow").read_bytes()
    for start, end in ((0, None), (1, 3), (4, 5)):
        mine, theirs = ([b.to_pylist() for b in read_batches(p / "data/a.arrow", start, end)] for p in (tmp_path, root))
        assert mine == theirs


def _finish(directory: Path, text: str = "first", **how: bool) -> None:
    with building(directory, {**IDENTITY, "text": text}, **how) as root:
        if root is None:
            return
        files.write_text(root / "data" / f"{text}.arrow", text)
        files.write_json(root / NAME, {"text": text})


def test_an_output_in_a_store_is_refused_replaced_and_resumed(store: Any) -> None:
    directory = files.to_path("memory://bucket/corpus")
    _finish(directory)
    assert is_complete(directory)
    with pytest.raises(OutputExistsError, match="contains a finished dataset"):
        _finish(directory, "second")
    _finish(directory)  # is done
    with pytest.raises(OutputExistsError, match="text: 'first' then, 'second' now"):
        _finish(directory, "second")
    assert set(_stored(store, "bucket/corpus")) == {"data/first.arrow", NAME}
    with pytest.raises(RuntimeError), building(directory, {**IDENTITY, "text": "second"}, overwrite=True):
        assert not _stored(store, "bucket/corpus")  # the old one is gone from here on
        raise RuntimeError
    assert not is_complete(directory) and run_state(directory).startswith("unfinished")
    with pytest.raises(
        ResumeError, match="is an unfinished run with other settings or inputs; what differs: text: 'second' then, 'first' now"
    ):
        _finish(directory)
    _finish(directory, "second")
    assert set(_stored(store, "bucket/corpus")) == {"data/second.arrow", NAME}
    store.pipe_file("/bucket/own/thesis.txt", b"mine")
    for name, says in (("own", "did not write"), ("own/thesis.txt", "is a file")):
        with pytest.raises(OutputExistsError, match=says):
            _finish(files.to_path(f"memory://bucket/{name}"))


def test_tasks_are_done_once_in_a_store(store: Any) -> None:
    directory, done = files.to_path("memory://bucket/corpus"), list[int]()

    def work() -> FilesReport:
        done.append(1)
        files.write_text(directory / "data" / "a", "text")
        return FilesReport(files=[manifest.entry(directory, "data/a")])

    with building(directory, IDENTITY):
        first = perform(directory, "extract", 0, ["task"], work, FilesReport)
        assert perform(directory, "extract", 0, ["task"], work, FilesReport) == first and len(done) == 1
        assert count_done(directory, "extract") == 1 and count_done(directory, "other") == 0
        store.pipe_file("/bucket/corpus/data/a", b"tex")
        assert perform(directory, "extract", 0, ["task"], work, FilesReport) == first and len(done) == 2
    with pytest.raises(StorageError, match=r"memory://elsewhere: not found. All workers must see .* or a store"):
        perform(files.to_path("memory://elsewhere"), "extract", 0, ["task"], work, FilesReport)


@pytest.fixture
def tree(store: Any, tmp_path: Path) -> Path:
    """Files, hidden ones and a dataset of ours, on the disk and in the store under ``books``."""
    names = ("austen/emma.txt", "doyle/sign.txt", "doyle/notes.md", ".hidden/x.txt", "doyle/.y.txt", "z.txt")
    for name in (*names, "corpus/.bertdata/run.json", "corpus/data/a.txt", "corpus2/b.txt"):
        files.write_text(tmp_path / "books" / name, name)
    _put(store, tmp_path / "books", "books")
    return tmp_path / "books"


@pytest.mark.parametrize("pattern", ["", "/", "/**/*.txt", "/*/*.txt", "/doyle/*", "/*", "/z.tx?", "/[az]*", "/doyle/sign.txt"])
def test_a_store_is_searched_as_a_disk(tree: Path, pattern: str) -> None:
    here, there = (find([f"{root}{pattern}"], (".txt",), "--books") for root in (tree, "memory://books"))
    assert [name for name, _ in there] == [name for name, _ in here]
    for name, path in there:
        assert path.startswith("memory://books/") and path.endswith(name) and files.to_path(path).is_file()


def test_what_is_not_found_in_a_store(tree: Path, store: Any) -> None:
    for pattern, kind, says in (
        ("memory://books/none*", NoInputError, "no file of this name"),
        ("memory://bookz", NoInputError, "no file of this name"),
        ("memory://books/doyle/notes.md", UsageError, "not this kind of file"),
    ):
        with pytest.raises(kind, match=says):
            find([pattern], (".txt",), "--books")
    with pytest.raises(UsageError, match="have no common parent: pass files from one disk or store"):
        find(["memory://books", str(tree)], (".txt",), "--books")
    store.pipe_file("/dumps/wiki.xml.7z", b"7z")
    with pytest.raises(UsageError, match="recompress it: 7z x -so wiki.xml.7z | bzip2 > wiki.xml.bz2"):
        find(["memory://dumps"], (".xml", ".xml.bz2"), "--wikipedia")


def test_the_whole_job_in_a_store_gives_the_bytes_of_a_local_one(
    build: Build, store: Any, sample_corpus: Path, sample_vocab: Path, sample_pairs: Path
) -> None:
    _put(store, SAMPLE, "in")
    corpus, vocab, pairs = (files.to_path(f"memory://out/{name}") for name in ("corpus", "vocab", "pairs"))
    sources = ["--wikipedia", "memory://in/*multistream.xml.bz2", "--books", "memory://in/books"]
    build("build-corpus", corpus, *sources, "--dry-run")
    assert not store.find("/out")
    build("build-corpus", corpus, *sources)
    build("train-vocab", vocab, corpus, "--size", 4000)
    build("make-pairs", pairs, corpus, "--vocab", vocab, "--provenance")
    for here, name in ((sample_corpus, "corpus"), (sample_vocab, "vocab"), (sample_pairs, "pairs")):
        assert _stored(store, f"out/{name}") == digests(here)
    assert sorted(name for name in store.find("/out") if STATE in name) == [
        f"/out/{name}/{STATE}/run.{end}" for name in ("corpus", "pairs", "vocab") for end in ("json", "sha256")
    ]
    manifest = read_manifest(corpus)
    assert [entry["name"] for entry in manifest["inputs"]] == [e["name"] for e in read_manifest(sample_corpus)["inputs"]]


def test_the_commands_speak_of_stores(build: Build, store: Any, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bertdata.cli import cli

    def command(*arguments: object) -> str:
        cli.main(list(map(str, arguments)), prog_name="bertdata", standalone_mode=False)
        return capsys.readouterr().out

    assert run_state(files.to_path("memory://out/corpus")) == ""
    build("build-corpus", files.to_path("memory://out/corpus"), "--text", text)
    assert run_state(files.to_path("memory://out/corpus")) == "complete"
    said = command("build-corpus", "--text", text, "--output", "memory://out/corpus")
    line = 'datasets.load_dataset("arrow", data_files="memory://out/corpus/data/train-*.arrow", split="train")'
    assert "is complete already" in said and line in said
    said = command("inspect", "memory://out/corpus", "--n", 1)
    assert "memory://out/corpus: 400 documents" in said and "Story 0" in said
    with pytest.raises(UsageError, match="is in the memory of this process. Omit --workers"):
        command("build-corpus", "--text", text, "--output", "memory://out/other", "--workers", 2)
    with pytest.raises(UsageError, match="memory://out/corpus is in the memory of this process"):
        command("train-vocab", "memory://out/corpus", "--output", text.parent / "vocab", "--workers", 2)
    with pytest.raises(UsageError, match="is also an input"):
        command("train-vocab", "memory://out/corpus", "--output", "memory://out/corpus", "--overwrite")


def test_an_output_named_by_a_file_url_is_a_directory(build: Build, tmp_path: Path, text: Path) -> None:
    build("build-corpus", tmp_path / "plain", "--text", text)
    build("build-corpus", f"file://{tmp_path}/by%20url", "--text", f"file://{text}")  # type: ignore[arg-type]
    assert digests(tmp_path / "by url") == digests(tmp_path / "plain")
