"""Upload a dataset to the Hugging Face Hub: skip files that the Hub already has, send the others, then compare all digests.

`huggingface_hub.upload_folder` uploads folders of about a gigabyte. The manifest is in the last folder, so a dataset without a
manifest is incomplete.
"""

from __future__ import annotations

import contextlib
import glob
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..codec import decode, encode
from ..config import PushConfig
from ..credentials import cause
from ..dataset import croissant, manifest, shards
from ..dataset.manifest_records import File, ShardEntry
from ..dataset.manifest_types import Manifest, ReadableManifest
from ..errors import OutputExistsError, TransferError, UsageError, VerificationError
from ..extras import missing_package
from ..reports import card
from ..sources.download.hub import find_token
from ..storage.files import digest, is_local, open_file, read_json, to_path
from ..storage.storage import storage_errors

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from typing_extensions import Unpack

    from ..config.keywords import PushOptions

__all__ = ["Pushed", "push"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_GROUP_BYTES = 1 << 30  # upload size per commit, and temporary disk space for converted and remote shards
_HUB_FILES = frozenset((".gitattributes",))  # files that the Hub creates
_FORMAT_DIGESTS = ("card", "croissant", "sha256")  # digests of a manifest, which depend on the format of the shards
_RETRY_ADVICE = "run the same command again. Files that are already there are not sent again"


class Pushed(NamedTuple):
    """The result of a push: the dataset's URL, the last commit, and the numbers of uploaded and unchanged files."""

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
    **options: Unpack[PushOptions],
) -> Pushed:
    """Upload a dataset to the Hugging Face Hub, with its data card and splits, and verify the upload.

    The token is read from ``HF_TOKEN`` or ``hf auth login``, and the URL of the Hub from ``HF_ENDPOINT``.

    Args:
        directory: Dataset of another command.
        name: ``OWNER/NAME`` of the dataset on the Hub, created if it does not exist.
        config: Settings, if you do not pass them as keywords.
        overwrite: Replace a different dataset at this name and remove its files.
        progress: Called with the numbers of uploaded and total bytes.
        options: Fields of `PushConfig`, such as ``private=True``.

    Returns:
        URL, commit, and the numbers of uploaded and unchanged files.

    Raises:
        UsageError: The token or a package is missing, the name is invalid, or the dataset has no shards to convert.
        OutputExistsError: The Hub has a different dataset at this name.
        VerificationError: A local or uploaded file differs from the manifest.
        StorageError, TransferError: The Hub or the disk fails. Repeat the call to resume.

    Examples:
        >>> push("pairs-128", "pairs-128")
        Traceback (most recent call last):
        bertdata.errors.UsageError: pairs-128 is not a name on the Hub. Use the form OWNER/NAME
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name} is not a name on the Hub. Use the form OWNER/NAME")
    source, settings = to_path(str(directory)), PushConfig.with_options(config, options)
    contents = manifest.read(source)
    manifest.check_files(source, manifest.listed(contents))
    if settings.format == "parquet" and not isinstance(contents, ReadableManifest):
        raise UsageError(f"{source} is a dataset of kind {contents.kind}, which cannot be converted to Parquet. Omit `format`")
    api = _api()
    with storage_errors(f"cannot push to {name}"), _silent():
        api.create_repo(name, repo_type="dataset", private=settings.private or None, exist_ok=True)
        convert = settings.format == "parquet" and contents.config["format"] != "parquet"
        return _Push(api, name, source, contents, convert, overwrite, progress).run()


def _api() -> HfApi:
    """Return a client of the Hub with the user's token."""
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise missing_package("push needs huggingface_hub", "hub", error) from None
    token = find_token()
    if not token:
        raise UsageError("no token for the Hub found. Set HF_TOKEN to a token with write access, or run `hf auth login`")
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
    """Size and digests of a file on the Hub: SHA-256 identifies large files there, and Git's digest small ones."""

    bytes: int
    sha256: str
    git: str

    def matches(self, remote: Any) -> bool:
        """Return True if `remote`, a file of the Hub, has these bytes."""
        if remote is None or remote.size != self.bytes:
            return False
        return bool(remote.lfs.sha256 == self.sha256 if remote.lfs else remote.blob_id == self.git)


@dataclass
class _Push:
    """An upload. `there` are the files on the Hub before it, and `expected` the files that the Hub must have after it."""

    api: HfApi
    name: str
    source: Path
    contents: Manifest
    convert: bool
    overwrite: bool
    progress: Callable[[int, int], None] | None
    there: dict[str, object] = field(default_factory=dict)
    expected: dict[str, _Sent] = field(default_factory=dict)
    sent: int = 0
    commit: str = ""

    def run(self) -> Pushed:
        """Send the missing files, the manifest last, and check the Hub's files."""
        entries = list(manifest.listed(self.contents))
        self.there = self._list()
        self._refuse({self._name_there(entry.name) for entry in entries})
        done, total, converted = 0, sum(entry.bytes for entry in entries), list[ShardEntry]()
        for group in _groups(entries):
            with tempfile.TemporaryDirectory(prefix="bertdata-") as folder:
                stage = Path(folder)
                for entry in group:
                    if there := self._add(entry, stage):
                        converted.append(there)
                    done += entry.bytes
                    if self.progress:
                        self.progress(done, total)
                self._upload(stage, "Add files")
        self._finish(converted)
        self._check()
        return Pushed(f"{self.api.endpoint}/datasets/{self.name}", self.commit, self.sent, len(self.expected) - self.sent)

    def _list(self) -> dict[str, object]:
        """Return the files of the dataset on the Hub, by name."""
        entries = self.api.list_repo_tree(self.name, recursive=True, repo_type="dataset")
        return {entry.path: entry for entry in entries if hasattr(entry, "blob_id")}

    def _refuse(self, names: set[str]) -> None:
        """Raise OutputExistsError if the Hub has another dataset of this name."""
        expected = {*names, manifest.NAME, manifest.CARD, manifest.CROISSANT}
        foreign = sorted(path for path in self.there if path not in expected | _HUB_FILES)
        if foreign and not self.overwrite:
            raise OutputExistsError(
                f"{self.name} has {foreign[0]}, which is not a file of {self.source}. Use another name or `overwrite`"
            )
        if manifest.NAME in self.there and not self.overwrite:
            with tempfile.TemporaryDirectory(prefix="bertdata-") as folder:
                stage = Path(folder)
                path = self.api.hf_hub_download(self.name, manifest.NAME, repo_type="dataset", local_dir=stage)
                if _content(read_json(Path(path))) != _content(manifest.read_json(self.source)):
                    raise OutputExistsError(f"{self.name} contains another dataset. Use another name or `overwrite`")

    def _name_there(self, name: str) -> str:
        return f"{name.removesuffix('.arrow')}.parquet" if self.convert and name.startswith("data/") else name

    def _add(self, entry: File, stage: Path) -> ShardEntry | None:
        """Check a file and put it into `stage` unless the Hub has it. Return the entry of a shard if it was converted."""
        source, path = self.source / entry.name, stage / entry.name
        path.parent.mkdir(exist_ok=True)
        if is_local(source):
            path.symlink_to(source.resolve())
        else:
            _copy(source, path)
        if digest(path) != entry.sha256:
            raise VerificationError(f"{source} does not match the digest in its manifest. Build it again with `overwrite`")
        if not self.convert or entry not in self.contents.shards:
            self._expect(entry, stage)
            return None
        format = self.contents.config["format"]
        batches, schema = shards.read_batches(path, format), next(shards.read_batches(path, format)).schema
        converted = shards.write(stage, self._name_there(entry.name), schema, batches, "parquet")
        path.unlink()
        self._expect(converted, stage)
        return converted

    def _expect(self, entry: File, stage: Path) -> None:
        """Record that the Hub must have this file in the end. Remove it from `stage` if the Hub already has it."""
        path = stage / entry.name
        self.expected[entry.name] = sent = _Sent(entry.bytes, entry.sha256, digest(path, algorithm="git"))
        if sent.matches(self.there.get(entry.name)):
            path.unlink()
        else:
            self.sent += 1

    def _upload(self, stage: Path, message: str, delete: list[str] | None = None) -> None:
        """Commit the files in a folder, and delete others from the Hub."""
        if not delete and not any(path.is_file() for path in stage.rglob("*")):
            return
        patterns = [glob.escape(name) for name in delete or ()] or None
        try:
            created = self.api.upload_folder(
                repo_id=self.name, folder_path=stage, repo_type="dataset", commit_message=message, delete_patterns=patterns
            )
        except RuntimeError as error:  # of the upload of one file; its cause has the Hub's answer
            reason = " ".join(f"{error} {error.__cause__ or ''}".split())
            raise TransferError(f"cannot push to {self.name}: {reason}: {_RETRY_ADVICE}") from cause(error)
        self.commit = created.oid

    def _finish(self, converted: list[ShardEntry]) -> None:
        """Commit the manifest and its descriptions, and remove files of another dataset."""
        names = [manifest.NAME, *(entry.name for entry in manifest.descriptions(self.contents))]
        with tempfile.TemporaryDirectory(prefix="bertdata-") as folder:
            stage = Path(folder)
            if converted:
                contents = {key: value for key, value in manifest.read_json(self.source).items() if key not in _FORMAT_DIGESTS}
                contents |= {"config": {**contents["config"], "format": "parquet"}, "shards": encode(converted)}
                manifest.store(stage, contents, *self._descriptions(contents))
                names = [manifest.NAME, manifest.CARD, manifest.CROISSANT]
            for name in names:
                if not converted:
                    _copy(self.source / name, stage / name)
                self._expect(manifest.entry(stage, name), stage)
            kept = {*self.expected, *_HUB_FILES, manifest.CARD}
            self._upload(stage, f"Complete {self.contents.kind} of bertdata", [n for n in self.there if n not in kept])

    def _descriptions(self, contents: dict[str, object]) -> tuple[str, str]:
        """Return the data card and croissant.json of the converted dataset."""
        converted = decode(contents, type(self.contents))
        assert isinstance(converted, ReadableManifest)  # `push` has refused any other kind
        return card.write(converted), croissant.text(converted, croissant.columns(self.source, self.contents))

    def _check(self) -> None:
        """Raise TransferError for a file whose size or digest on the Hub is wrong."""
        listed = self._list()
        for name, sent in self.expected.items():
            if not sent.matches(listed.get(name)):
                raise TransferError(f"the Hub's copy of {name} in {self.name} differs from the local file: {_RETRY_ADVICE}")


def _groups(entries: list[File]) -> Iterator[list[File]]:
    """Yield entries of files in groups of about a gigabyte."""
    group: list[File] = []
    for entry in entries:
        group.append(entry)
        if sum(each.bytes for each in group) >= _GROUP_BYTES:
            yield group
            group = []
    if group:
        yield group


def _copy(source: Path, target: Path) -> None:
    with open_file(source) as reader, open(target, "wb") as file:
        shutil.copyfileobj(reader, file, 1 << 20)


def _content(parsed: Any) -> dict[str, object]:
    """Return the entries of a manifest that do not depend on the format of the shards."""
    contents = parsed if isinstance(parsed, dict) and isinstance(parsed.get("config"), dict) else {"config": {}}
    rest = {key: value for key, value in contents.items() if key not in (*_FORMAT_DIGESTS, "shards")}
    return {**rest, "config": {**rest["config"], "format": ""}}
