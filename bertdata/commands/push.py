"""Put a data set on the Hugging Face Hub: what is there already is not sent again, and what was sent is checked.

Files go in commits of a gigabyte at most; the manifest goes with the last of them, so a data set without one is not whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..config import PushConfig
from ..credentials import cause, mask_secret
from ..dataset import manifest, shards
from ..errors import OutputExistsError, TransferError, UsageError, VerificationError
from ..extras import missing_package
from ..io.files import digest, is_local, open_file, read_json, to_path
from ..io.storage import storage_errors
from ..report import card

if TYPE_CHECKING:
    from huggingface_hub import HfApi

__all__ = ["Pushed", "push"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_COMMIT = 1 << 30, 100  # bytes and files of a commit
_THEIRS = frozenset((".gitattributes",))  # what the Hub makes by itself
_AGAIN = "run the same command again: what is there is not sent again"


class Pushed(NamedTuple):
    """Where a data set is, the last commit, and how many files were sent and how many were there already."""

    address: str
    commit: str
    sent: int
    kept: int


def push(
    directory: str | Path,
    name: str,
    *,
    config: PushConfig | None = None,
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Pushed:
    """Put a data set on the Hugging Face Hub, with its card and its splits, and check what is there then.

    The token is the one that `huggingface_hub` finds (``HF_TOKEN``, or that of ``hf auth login``); the Hub is ``HF_ENDPOINT``.

    Args:
        directory: Directory that another command has written.
        name: ``OWNER/NAME`` of the data set; it is made where there is none.
        config: Whether shards become Parquet on the way, and who may see a new data set.
        overwrite: Replace another data set that is there, and remove its files.
        progress: Is called with how many bytes are done, and of how many.

    Returns:
        Address, commit, and how many files were sent and kept.

    Raises:
        UsageError: There is no token, no package, no such name, or nothing to make Parquet of.
        OutputExistsError: Another data set is there.
        VerificationError: A file here, or one there afterwards, is not what the manifest says.
        StorageError, TransferError: The Hub or the disk fails; the same call continues.

    Examples:
        >>> push("pairs-128", "pairs-128")
        Traceback (most recent call last):
        bertdata.errors.UsageError: pairs-128 is no name on the Hub: write OWNER/NAME
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name} is no name on the Hub: write OWNER/NAME")
    source, settings = to_path(str(directory)), config or PushConfig()
    contents = manifest.read(source)
    manifest.check_files(source, contents)
    if settings.format == "parquet" and contents["kind"] not in ("documents", "pairs"):
        raise UsageError(f"{source} holds {contents['kind']}, which has no shards to make Parquet of: leave out `format` parquet")
    api = _api()
    with storage_errors(f"cannot push to {name}"), _silent(), tempfile.TemporaryDirectory(prefix="bertdata-") as scratch:
        api.create_repo(name, repo_type="dataset", private=settings.private or None, exist_ok=True)
        job = _Push(api, name, source, Path(scratch), contents, settings.format == "parquet", overwrite, progress)
        return job.run()


def _api() -> HfApi:
    """Return a client of the Hub with the user's token, which no message shows."""
    try:
        from huggingface_hub import HfApi, get_token
    except ImportError as error:
        raise missing_package("push needs huggingface_hub", "hub", error) from None
    token = get_token()
    if not token:
        raise UsageError("there is no token for the Hub: set HF_TOKEN to one that may write, or run `hf auth login`")
    mask_secret(token)
    return HfApi(token=token, library_name="bertdata")


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep huggingface_hub from drawing bars."""
    import huggingface_hub.utils

    utils: Any = huggingface_hub.utils
    before = utils.are_progress_bars_disabled()
    utils.disable_progress_bars()
    try:
        yield
    finally:
        if not before:
            utils.enable_progress_bars()


class _Sent(NamedTuple):
    """A file of the data set as it is on the Hub: SHA-256, as large files are known by there, and Git's digest, as others are."""

    bytes: int
    sha256: str
    git: str


@dataclass
class _Push:
    """One push: `there` are the Hub's files, `expected` those that it should have, `waiting` the operations of the next commit.

    `contents` are those of the manifest; `bytes` are those of `waiting`, and `sent` counts files.
    """

    api: HfApi
    name: str
    source: Path
    scratch: Path
    contents: dict[str, Any]
    parquet: bool
    overwrite: bool
    progress: Callable[[int, int], None] | None
    there: dict[str, Any] = field(default_factory=dict)
    expected: dict[str, _Sent] = field(default_factory=dict)
    waiting: list[Any] = field(default_factory=list)
    bytes: int = 0
    sent: int = 0
    commit: str = ""

    def run(self) -> Pushed:
        """Send what is missing, the manifest last, and look at what is there."""
        convert = self.parquet and self.contents["config"]["format"] != "parquet"
        self.there = self._list()
        self._refuse({self._name_of(entry["name"], convert) for entry in manifest.listed(self.contents)})
        done, total = 0, sum(entry["bytes"] for entry in manifest.listed(self.contents))
        to_convert = {shard["name"] for shard in self.contents["shards"]} if convert else set[str]()
        converted: list[dict[str, Any]] = []
        for entry in manifest.listed(self.contents):
            given = self._give(entry, entry["name"] in to_convert)
            converted += [given] if entry["name"] in to_convert else []
            done += entry["bytes"]
            if self.progress:
                self.progress(done, total)
        self._finish(converted)
        self._check()
        return Pushed(f"{self.api.endpoint}/datasets/{self.name}", self.commit, self.sent, len(self.expected) - self.sent)

    def _list(self) -> dict[str, Any]:
        """Return the files of the data set on the Hub, by name."""
        entries = self.api.list_repo_tree(self.name, recursive=True, repo_type="dataset")
        return {entry.path: entry for entry in entries if hasattr(entry, "blob_id")}

    def _refuse(self, names: set[str]) -> None:
        """Raise OutputExistsError where another data set is there."""
        expected = {*names, manifest.NAME, manifest.CARD}
        strange = sorted(path for path in self.there if path not in expected | _THEIRS)
        if strange and not self.overwrite:
            raise OutputExistsError(
                f"{self.name} has {strange[0]}, which is no file of {self.source}: give another name, or `overwrite` to remove it"
            )
        if manifest.NAME in self.there and not self.overwrite:
            path = self.api.hf_hub_download(self.name, manifest.NAME, repo_type="dataset", local_dir=self.scratch / "there")
            if _content(read_json(Path(path))) != _content(self.contents):
                raise OutputExistsError(f"{self.name} holds another data set: give another name, or `overwrite` to replace it")

    def _name_of(self, name: str, convert: bool) -> str:
        return f"{name.removesuffix('.arrow')}.parquet" if convert and name.startswith("data/") else name

    def _give(self, entry: dict[str, Any], convert: bool) -> dict[str, Any]:
        """Take a file into the next commit unless the Hub has it; return its entry in the manifest there."""
        path = self.source / entry["name"]
        if not is_local(path):
            path = self._copy(path, entry["name"])
        if digest(path) != entry["sha256"]:
            raise VerificationError(
                f"{self.source / entry['name']} is not what its manifest says: build it again with `overwrite`"
            )
        if convert:
            batches = shards.read_batches(path, self.contents["config"]["format"])
            schema = next(shards.read_batches(path, self.contents["config"]["format"])).schema
            entry = shards.write(self.scratch, self._name_of(entry["name"], True), schema, batches, "parquet")
            path = self.scratch / entry["name"]
        self._take(entry["name"], path)
        return entry

    def _copy(self, path: Path, name: str) -> Path:
        target = self.scratch / name
        target.parent.mkdir(exist_ok=True)
        with open_file(path) as source, open(target, "wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
        return target

    def _take(self, name: str, path: Path) -> None:
        from huggingface_hub import CommitOperationAdd

        self.expected[name] = sent = _sent(path)
        if _is(self.there.get(name), sent):
            if path.is_relative_to(self.scratch):
                path.unlink()
            return
        self.waiting.append(CommitOperationAdd(name, str(path)))
        self.bytes += sent.bytes
        self.sent += 1
        if self.bytes >= _COMMIT[0] or len(self.waiting) >= _COMMIT[1]:
            self._send(f"Add {len(self.waiting)} files")

    def _send(self, message: str) -> None:
        """Commit what waits, and remove what was made for it."""
        if self.waiting:
            try:
                created = self.api.create_commit(self.name, self.waiting, commit_message=message, repo_type="dataset")
            except RuntimeError as error:  # of an upload, in whose place the Hub's own answer is
                said = " ".join(f"{error} {error.__cause__ or ''}".split())
                raise TransferError(f"cannot push to {self.name}: {said}: {_AGAIN}") from cause(error)
            self.commit, self.waiting, self.bytes = created.oid, [], 0
        for path in self.scratch.rglob("*"):
            if path.is_file():
                path.unlink()

    def _finish(self, converted: list[dict[str, Any]]) -> None:
        """Commit the card and the manifest, and remove files of another data set."""
        from huggingface_hub import CommitOperationDelete

        self._send(f"Add {len(self.waiting)} files")
        final: Path = self.source
        if converted:
            contents = {key: value for key, value in self.contents.items() if key not in ("card", "sha256")}
            contents |= {"config": {**contents["config"], "format": "parquet"}, "shards": converted}
            final = self.scratch
            manifest.write(final, contents, card.write(contents))
        names = [manifest.NAME, *([manifest.CARD] if "card" in self.contents else [])]
        for name in names:
            self._take(name, final / name if is_local(final) else self._copy(final / name, name))
        strange = [path for path in self.there if path not in self.expected and path not in _THEIRS | {manifest.CARD}]
        self.waiting += [CommitOperationDelete(path) for path in strange]
        self._send(f"Complete {self.contents['kind']} of bertdata")

    def _check(self) -> None:
        """Raise TransferError for a file that the Hub has not as it was sent."""
        listed = self._list()
        for name, sent in self.expected.items():
            if not _is(listed.get(name), sent):
                raise TransferError(f"{self.name} has not {name} as it was sent: {_AGAIN}")


def _content(parsed: Any) -> dict[str, Any]:
    """Return what a manifest says whatever format its shards have."""
    contents = parsed if isinstance(parsed, dict) and isinstance(parsed.get("config"), dict) else {"config": {}}
    rest = {key: value for key, value in contents.items() if key not in ("card", "sha256", "shards")}
    return {**rest, "config": {**rest["config"], "format": ""}}


def _sent(path: Path) -> _Sent:
    size = path.stat().st_size
    plain, git = hashlib.sha256(usedforsecurity=False), hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            plain.update(block)
            git.update(block)
    return _Sent(size, plain.hexdigest(), git.hexdigest())


def _is(entry: Any, sent: _Sent) -> bool:
    """Tell whether a file of the Hub is this one."""
    if entry is None or entry.size != sent.bytes:
        return False
    return bool(entry.lfs.sha256 == sent.sha256 if entry.lfs else entry.blob_id == sent.git)
