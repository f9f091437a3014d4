"""Inputs of the Hugging Face Hub by their ``hf://`` names, from a server on this machine that answers as the Hub does."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import importlib
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Build, Run, digests, read_manifest, read_rows
from loopback import listening

from bertdata.errors import NoInputError, StorageError, UsageError
from bertdata.sources.inputs import find
from bertdata.storage import files

pytest.importorskip("upath")
huggingface_hub = pytest.importorskip("huggingface_hub")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONVERTED = "refs/convert/parquet"


class Hub:
    """Datasets by name and revision, a record of what was asked, and what is answered with an error."""

    def __init__(self) -> None:
        self.data_sets: dict[tuple[str, str], dict[str, bytes]] = {}
        self.fails: dict[str, int] = {}  # the status of every answer to a path that has this in it
        self.asked: list[tuple[str, str, str]] = []
        self.url = ""

    @property
    def environment(self) -> dict[str, str]:
        """What sends huggingface_hub here, without a token, a cache or another way to the bytes."""
        names = ("HF_HUB_DISABLE_XET", "HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_IMPLICIT_TOKEN")
        return {"HF_ENDPOINT": self.url, "NO_PROXY": "127.0.0.1", "HF_HUB_OFFLINE": "0", **dict.fromkeys(names, "1")}

    def answer(self, method: str, target: str, headers: dict[str, str], form: str) -> tuple[int, dict[str, str], bytes]:
        """Answer a request with a status, headers and a body."""
        path, query = unquote(urlsplit(target).path), parse_qs(urlsplit(target).query or form)
        self.asked.append((method, path, headers.get("range", "")))
        if status := next((status for part, status in self.fails.items() if part in path), 0):
            return status, {}, b"no"
        for (name, revision), found in self.data_sets.items():
            at = rf"(?P<revision>{re.escape(revision)}|{COMMIT})"
            if asked := re.fullmatch(rf"/datasets/{name}/resolve/{at}/(?P<file>.+)", path):
                return self._file(found.get(asked["file"]), headers.get("range", ""))
            if re.fullmatch(rf"/api/datasets/{name}(/revision/{at})?", path):
                info = {"id": name, "sha": COMMIT, "private": False, "tags": [], "siblings": [{"rfilename": f} for f in found]}
                return 200, {}, json.dumps(info).encode()
            if asked := re.fullmatch(rf"/api/datasets/{name}/tree/{at}(/(?P<folder>.*))?", path):
                return self._tree(found, asked["folder"] or "", query.get("recursive", [""])[0].lower() == "true")
            if re.fullmatch(rf"/api/datasets/{name}/paths-info/{at}", path):
                entries = [entry for entry in _entries(found) if entry["path"] in query["paths"]]
                return 200, {}, json.dumps(entries).encode()
        missing = "RevisionNotFound" if any(f"/{name}/" in path for name, _ in self.data_sets) else "RepoNotFound"
        return 404, {"X-Error-Code": missing, "X-Error-Message": "Repository not found"}, b"{}"

    def _file(self, body: bytes | None, span: str) -> tuple[int, dict[str, str], bytes]:
        if body is None:
            return 404, {"X-Error-Code": "EntryNotFound"}, b"{}"
        told = {"ETag": f'"{hashlib.sha256(body).hexdigest()}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        if not (asked := re.fullmatch(r"bytes=(\d+)-(\d*)", span)):
            return 200, told, body
        first, last = int(asked[1]), min(int(asked[2] or len(body)), len(body) - 1)
        return 206, {**told, "Content-Range": f"bytes {first}-{last}/{len(body)}"}, body[first : last + 1]

    def _tree(self, found: dict[str, bytes], folder: str, recursive: bool) -> tuple[int, dict[str, str], bytes]:
        below = [entry for entry in _entries(found) if entry["path"].startswith(f"{folder}/" if folder else "")]
        if folder and not below:
            return 404, {"X-Error-Code": "EntryNotFound"}, b"{}"
        depth = len(folder.split("/")) if folder else 0
        return 200, {}, json.dumps([e for e in below if recursive or e["path"].count("/") == depth]).encode()


def _entries(found: dict[str, bytes]) -> list[dict[str, Any]]:
    """Describe the files and the folders of a dataset as the Hub does."""
    folders = {parent.as_posix() for name in found for parent in Path(name).parents} - {"."}
    listed: list[dict[str, Any]] = [{"type": "directory", "oid": COMMIT, "size": 0, "path": name} for name in sorted(folders)]
    for name, body in sorted(found.items()):
        oid = hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()
        listed.append({"type": "file", "oid": oid, "size": len(body), "path": name})
    return listed


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    """A Hub with one dataset of two tables and a card, and the same tables in the branch of converted ones."""
    found = Hub()
    tables = {f"data/{split}/0000.parquet": _table(first) for first, split in enumerate(("test", "train"))}
    found.data_sets["ada/books", "main"] = {"README.md": b"# Books", "data/.cache/x.parquet": b"no table", **tables}
    found.data_sets["ada/script", CONVERTED] = {name.replace("data", "plain", 1): body for name, body in tables.items()}

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            form = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, told, body = found.answer(self.command, self.path, headers, form)
            self.send_response(status)
            for name, value in {**told, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                with contextlib.suppress(OSError):  # the client may have gone away
                    self.wfile.write(body)

        do_HEAD = do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with listening(Handler) as found.url:
        yield found


@pytest.fixture(autouse=True)
def well(hub: Hub) -> None:
    """Begin each test with a Hub that answers everything and was asked nothing."""
    hub.fails.clear()
    hub.asked.clear()


def _table(first: int) -> bytes:
    """Make a table of three row groups of two books of some 12 kB each."""
    rows = range(first * 6, first * 6 + 6)
    begins = [f"The ferry of day {n} was late. Nobody minded the rain.\n\n" for n in rows]
    texts = [begin + " ".join(f"At noon {n} lamps were lit in house {begin[17:20]}." for n in range(300)) for begin in begins]
    file = io.BytesIO()
    table = pa.table({"title": [f"Day {n}" for n in rows], "text": texts})
    pq.write_table(table, file, row_group_size=2, compression="none", use_dictionary=False)
    return file.getvalue()


def _put(found: dict[str, bytes], root: Path) -> Path:
    """Put the files of a dataset on the disk."""
    for name, body in found.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(body)
    return root


@pytest.fixture
def here(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process take that Hub for the Hub."""
    for name, value in hub.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
    template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"  # it is made when the package is imported
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
    huggingface_hub.HfFileSystem.clear_instance_cache()


def test_a_glob_of_tables_gives_the_bytes_of_the_same_files_here(run: Run, build: Build, hub: Hub, tmp_path: Path) -> None:
    source = "hf://datasets/ada/books/data/*/*.parquet"
    options = ["--task-bytes", 65536]
    said = run("build-corpus", "--books", source, *options, "--workers", 2, "--output", tmp_path / "hub", **hub.environment)
    assert re.search(r"2 files, .* in [2-9] tasks", said.stderr)
    root = _put(hub.data_sets["ada/books", "main"], tmp_path / "disk")
    local = build("build-corpus", tmp_path / "local", "--books", f"{root}/data/*/*.parquet", *options)
    assert digests(tmp_path / "hub") == digests(local)
    rows = read_rows(tmp_path / "hub")
    assert sorted(row["title"] for row in rows) == sorted(f"Day {n}" for n in range(12))
    assert all(row["sentences"][0].startswith("The ferry") and row["sentences"][1] == "Nobody minded the rain." for row in rows)
    read = {(path, span) for _, path, span in hub.asked if "/resolve/" in path}
    assert len({path for path, _ in read}) == 2 and all(span for _, span in read)


@pytest.mark.parametrize(
    ("source", "folder"), [("hf://datasets/ada/books", "data"), ("hf://datasets/ada/script@refs/convert/parquet/plain", "plain")]
)
def test_a_data_set_or_a_folder_of_it(here: None, hub: Hub, build: Build, tmp_path: Path, source: str, folder: str) -> None:
    found = next(files for files in hub.data_sets.values() if any(name.startswith(folder) for name in files))
    root = _put(found, tmp_path / "disk")
    corpus = build("build-corpus", tmp_path / "hub", "--text", source)
    assert digests(corpus) == digests(build("build-corpus", tmp_path / "local", "--text", root))
    assert len(read_rows(corpus)) == read_manifest(corpus)["counts"][0]["in"] == 12


@pytest.mark.parametrize("branch", ["refs/convert/parquet", "refs%2Fconvert%2Fparquet"])
@pytest.mark.slow
def test_files_of_a_branch_have_the_names_that_they_have_there(here: None, branch: str) -> None:
    root = f"hf://datasets/ada/script@{branch}"
    names = [f"{split}/0000.parquet" for split in ("test", "train")]
    for source in (root, f"{root}/plain", f"{root}/plain/**/*.parquet"):
        found = find([source], [".parquet"], "--text")
        assert found == [(name, f"{root}/plain/{name}") for name in names]
        with files.open_file(found[0][1]) as file:
            assert file.read(4) == b"PAR1" and file.seek(-4, io.SEEK_END) and file.read() == b"PAR1"


@pytest.mark.parametrize(
    ("name", "fails", "kind", "says"),
    [
        ("ada/nothing", {}, StorageError, "repository not found.*: check the name"),
        ("ada/books@v2/data", {}, StorageError, "revision not found.*: check the name"),
        ("ada/books/data/0001.parquet", {}, NoInputError, "no file of this name.*check the path"),
        ("ada/books/nothing/*.parquet", {}, NoInputError, "no file of this name.*check the path"),
        ("ada", {}, UsageError, "write hf://datasets/OWNER/NAME"),
        ("ada/books", {"/api/": 500}, StorageError, "500 .*: check the address, the network"),
        ("ada/books", {"/tree/": 501}, StorageError, "501 .*: check the address, the network"),
        ("ada/books/data/*/*.parquet", {"/tree/": 403}, StorageError, "403 .*and the credentials"),
    ],
)
@pytest.mark.slow
def test_what_is_not_there_or_fails(here: None, hub: Hub, name: str, fails: dict[str, int], kind: type, says: str) -> None:
    hub.fails.update(fails)
    with pytest.raises(kind, match=says) as caught:
        find([f"hf://datasets/{name}"], [".parquet"], "--text")
    assert "\n" not in str(caught.value)


def test_no_connection_is_said_as_such(here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    huggingface_hub.HfFileSystem.clear_instance_cache()
    with pytest.raises(StorageError, match="refused.*: check the address, the network"):
        find(["hf://datasets/ada/books"], [".parquet"], "--text")


def test_a_hub_that_fails_in_the_middle_is_no_broken_table(run: Run, hub: Hub, tmp_path: Path) -> None:
    hub.fails["/resolve/"] = 501  # one that huggingface_hub does not ask again about
    options = ["--text", "hf://datasets/ada/books", "--output", tmp_path / "corpus"]
    said = run("build-corpus", *options, code=4, **hub.environment).stderr
    assert "cannot read hf://datasets/ada/books/data/test/0000.parquet: " in said and "501" in said.splitlines()[-1]
    assert "Traceback" not in said
    hub.fails.clear()
    run("build-corpus", *options, **hub.environment)
    assert len(read_rows(tmp_path / "corpus")) == 12


@pytest.mark.parametrize("package", ["upath", "huggingface_hub"])
def test_without_the_packages_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    reached = importlib.import_module("fsspec.registry")._registry  # by what was imported before
    monkeypatch.delitem(reached, "hf", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=r"hf://datasets/ada/books: .*pip install universal_pathlib datasets huggingface_hub"):
        files.to_path("hf://datasets/ada/books")
