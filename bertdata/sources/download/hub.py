"""Find the files of a Hugging Face dataset that bertdata can read: tables and text.

The files of a configuration and split are listed on the dataset's card (``configs:``), or identified by name:

    en/train-00000-of-00002.parquet     configuration en, split train
    data/validation/0000.parquet        split validation

If a dataset has a script instead of such files, its tables are in the branch ``refs/convert/parquet``.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ...credentials import cause
from ...errors import BertDataError, NoInputError, TransferError, UsageError
from ...extras import missing_package
from .. import DELIMITED, SUFFIXES
from .client import LIST_TIMEOUT_S, with_timeout
from .transfer import RemoteFile
from .wikimedia import mirror

if TYPE_CHECKING:
    from huggingface_hub import HfApi

__all__ = ["CONVERTED", "HubDataSet", "choose", "find_data_set"]

CONVERTED = "refs/convert/parquet"  # branch with every dataset as CONFIG/SPLIT/0000.parquet
# For CSV and archives, use the Hub's conversion to Parquet, which also has their configurations.
_READ = tuple(suffix for suffix in dict.fromkeys((*SUFFIXES["text"], *SUFFIXES["books"])) if suffix not in (*DELIMITED, ".zip"))
_NO_DATA = ("requirements.txt", "license.txt", "readme.txt", "dataset_infos.jsonl")
_ALIASES = {"validation": ("validation", "valid", "dev"), "train": ("train", "training"), "test": ("test", "testing")}
_WORDS = re.compile(r"[^0-9a-z]+")


class HubDataSet(NamedTuple):
    """A dataset's files at a commit, and the headers for requests."""

    name: str
    commit: str
    files: list[RemoteFile]
    headers: dict[str, str]

    @property
    def is_partial(self) -> bool:
        """Whether the Hub provides only the first gigabytes of a larger dataset."""
        return any(part.startswith("partial-") for file in self.files for part in file.name.split("/"))


def find_token() -> str:
    """Return the user's token for the Hub, or an empty string. Raise UsageError for one that no HTTP header can contain."""
    from huggingface_hub import get_token

    token = get_token() or ""
    if not (token.isascii() and token.isprintable()):  # the HTTP library's error would quote it
        raise UsageError("the token for the Hub contains control or non-ASCII characters. Set HF_TOKEN, or run `hf auth login`")
    return token


def find_data_set(name: str, *, config: str = "", split: str = "", revision: str = "", endpoint: str = "") -> HubDataSet:
    """Find the files of a dataset, or of one configuration or split.

    `endpoint` is the Hub's address, by default HF_ENDPOINT; the token is the one that `huggingface_hub` stores.  Raise
    NoInputError if the name has no readable files, UsageError if a choice is required.
    """
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise missing_package("datasets of the Hub need huggingface_hub", "hub", error) from None
    token = find_token()
    base = mirror(endpoint or HfApi().endpoint)
    api = HfApi(endpoint=base, library_name="bertdata")
    info = _info(api, base, name, revision or None)
    files = _readable(info)
    if not files and not revision:
        info = _info(api, base, name, CONVERTED)
        files = _readable(info)
    if not files:
        raise NoInputError(f"{name} has no file of {', '.join(_READ)}: choose another dataset, or another `revision`")
    chosen = choose([file.rfilename for file in files], info.card_data or {}, config=config, split=split)
    folder = f"{base}/datasets/{name}/resolve/{info.sha}"
    remotes = [_remote(f"{folder}/{quote(file.rfilename)}", file) for file in files if file.rfilename in chosen]
    return HubDataSet(name, str(info.sha), remotes, {"Authorization": f"Bearer {token}"} if token else {})


def choose(names: Sequence[str], card: Mapping[str, Any], *, config: str = "", split: str = "") -> list[str]:
    """Choose the files of a configuration and a split, by the card's ``configs`` or else by their names.

    >>> choose(["en/train-0.parquet", "en/test-0.parquet", "fr/train-0.parquet"], {}, config="en", split="train")
    ['en/train-0.parquet']
    """
    configs = {str(entry.get("config_name", "default")): entry for entry in card.get("configs") or () if isinstance(entry, dict)}
    patterns = {key: paths for key, entry in configs.items() if (paths := _patterns(entry))}
    if not patterns:
        of_config = [n for n in names if not config or config in n.split("/")[:-1]]
        return _some([n for n in of_config if not split or _is_of(n, split)], names, config, split)
    if not config:
        marked = [key for key in patterns if configs[key].get("default") or key == "default" or len(patterns) == 1]
        if not marked:
            raise UsageError(f"the dataset has several configurations ({', '.join(patterns)}): choose one with `config`")
        config = marked[0]
    if config not in patterns:
        raise UsageError(f"`config` {config}: the dataset has {', '.join(patterns)}", field="config", value=config)
    splits = patterns[config]
    if split and splits.keys().isdisjoint({split, ""}):
        raise UsageError(f"`split` {split}: the configuration {config} has {', '.join(splits)}", field="split", value=split)
    wanted = [pattern for key, globs in splits.items() for pattern in globs if not split or key in (split, "")]
    chosen = [name for name in names if any(_fits(name, pattern) for pattern in wanted)]
    if split and "" in splits:
        chosen = [name for name in chosen if _is_of(name, split)]
    return _some(chosen, names, config, split)


def _some(chosen: list[str], names: Sequence[str], config: str, split: str) -> list[str]:
    if not chosen:
        listed = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
        raise UsageError(f"no file is of `config` {config!r} and `split` {split!r}: the dataset has {listed}")
    return chosen


def _patterns(entry: dict[str, Any]) -> dict[str, list[str]]:
    """Return the patterns of a configuration's files, by split; "" if the card does not separate splits.

    >>> _patterns({"data_files": "en/*"}), _patterns({"data_files": [{"split": "train", "path": ["a/*", "b/*"]}]})
    ({'': ['en/*']}, {'train': ['a/*', 'b/*']})
    """
    patterns: dict[str, list[str]] = {}
    root = str(entry.get("data_dir") or "").strip("/")
    entries = entry.get("data_files") or ([] if not root else "**")
    for item in entries if isinstance(entries, list) else [entries]:
        path = item.get("path", []) if isinstance(item, dict) else item
        split = str(item.get("split", "")) if isinstance(item, dict) else ""
        paths = path if isinstance(path, list) else [path]
        patterns.setdefault(split, []).extend(f"{root}/{p}" if root else str(p) for p in paths)
    return patterns


def _fits(name: str, pattern: str) -> bool:
    """Return True if a card's pattern matches this file; ``**/`` matches any number of folders."""
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, pattern.replace("**/", ""))


def _is_of(name: str, split: str) -> bool:
    """Return True if a file's path contains the split as a word."""
    return not set(_WORDS.split(name.lower())).isdisjoint(_ALIASES.get(split.lower(), (split.lower(),)))


def _readable(info: Any) -> list[Any]:
    def is_read(name: str) -> bool:
        hidden = any(part.startswith(".") for part in name.split("/")) or not name.isprintable()
        return name.lower().endswith(_READ) and not hidden and name.lower().rpartition("/")[2] not in _NO_DATA

    return [file for file in info.siblings or () if is_read(file.rfilename)]


def _remote(url: str, file: Any) -> RemoteFile:
    """Describe a file of the Hub; a large one has a SHA-256, a small one a git blob id."""
    if file.lfs is not None:
        return RemoteFile(file.rfilename, url, file.lfs.size, f"sha256:{file.lfs.sha256}")
    if file.size is None or not file.blob_id:
        raise TransferError(f"{url}: the Hub does not list its size or checksum: try again later")
    return RemoteFile(file.rfilename, url, file.size, f"git:{file.blob_id}")


def _info(api: HfApi, base: str, name: str, revision: str | None) -> Any:
    """Request a dataset's files from the Hub; translate its errors."""
    from huggingface_hub import errors

    where = name + (f" at {revision}" if revision else "")
    try:
        return with_timeout(
            LIST_TIMEOUT_S, base, lambda: api.dataset_info(name, revision=revision, files_metadata=True, timeout=30)
        )
    except BertDataError:
        raise
    except errors.HFValidationError as error:
        raise UsageError(f"{name!r} is not a dataset name ({error}): write OWNER/NAME") from error
    except errors.GatedRepoError as error:
        raise TransferError(f"{where} has terms to agree to: do that on its page, then set HF_TOKEN") from cause(error)
    except errors.HfHubHTTPError as error:
        if error.response is not None and error.response.status_code in (401, 404):
            raise NoInputError(f"{base} has no dataset {where}: check the name, or set HF_TOKEN if it is private") from cause(
                error
            )
        raise TransferError(f"{base}: {str(error).splitlines()[0]}: try again later") from cause(error)
    except Exception as error:  # from the HTTP library, which differs between versions
        message = " ".join(str(error).split())[:300]
        raise TransferError(f"{base} cannot be reached ({type(error).__name__}: {message}): check the network") from cause(error)
