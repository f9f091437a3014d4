"""Download Wikipedia dumps and Hugging Face datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..storage.storage import storage_errors

if TYPE_CHECKING:
    from ..sources.download.client import Client
    from ..sources.download.transfer import RemoteFile

__all__ = ["WIKIMEDIA", "download_hub", "download_wikipedia", "fetch"]

WIKIMEDIA = "https://dumps.wikimedia.org"


@storage_errors()
def download_wikipedia(
    language: str,
    *,
    output: str | Path,
    date: str = "",
    base_url: str = WIKIMEDIA,
    contact: str = "",
    connections: int = 2,
    progress: Callable[[str, int], None] | None = None,
) -> list[Path]:
    """Download the articles of a Wikipedia: its multistream dump files, indexes and checksums.

    A repeated call resumes an interrupted download, and checks a finished one.

    Args:
        language: Code of the Wikipedia, such as ``en``, ``zh`` or ``simple``.
        output: Local directory for the files.
        date: Date of the dump, as ``YYYYMMDD``. An empty string means the latest complete dump.
        base_url: Dump server or mirror.
        contact: Your e-mail address or web page for the User-Agent header, as Wikimedia's policy requests.
        connections: Number of parallel downloads. The robot policy of dumps.wikimedia.org allows two.
        progress: Called with the name of a file and the number of its bytes on the disk.

    Returns:
        The files, in the order of the server's list.

    Raises:
        UsageError: `language` or `date` is invalid.
        NoInputError: There is no such wiki, date or complete dump.
        TransferError, VerificationError, StorageError: The server or the disk fails, or a file differs from its checksum.

    Examples:
        >>> download_wikipedia("english", output=here)
        Traceback (most recent call last):
        bertdata.errors.UsageError: `language`: 'english' is not a language code: use en
    """
    from ..sources.download.client import Client, user_agent
    from ..sources.download.wikimedia import find_dump

    client = Client({"User-Agent": user_agent(contact)})
    dump = find_dump(client, language, date, base_url)
    return fetch(dump.files, Path(output), client, connections, dump.sums, progress)


@storage_errors()
def download_hub(
    name: str,
    *,
    output: str | Path,
    config: str = "",
    split: str = "",
    revision: str = "",
    base_url: str = "",
    connections: int = 4,
    progress: Callable[[str, int], None] | None = None,
) -> list[Path]:
    """Download the tables and text files of a Hugging Face dataset.

    A repeated call resumes an interrupted download, and checks a finished one.

    Args:
        name: ``OWNER/NAME`` of the dataset.
        output: Local directory for the files.
        config: Configuration of the dataset. An empty string means its default, or all files.
        split: Split, such as ``train``. An empty string means all.
        revision: Branch, tag or commit.
        base_url: URL of the Hub. An empty string means ``HF_ENDPOINT``, or https://huggingface.co.
        connections: Number of parallel downloads.
        progress: Called with the name of a file and the number of its bytes on the disk.

    Returns:
        The files, in the order of the Hub's list.

    Raises:
        UsageError: A package is missing, or a choice is required.
        NoInputError: The dataset does not exist or has no readable files.
        TransferError, VerificationError, StorageError: The Hub or the disk fails, or a file differs from its checksum.

    Examples:
        >>> files = download_hub("ada/books", output="books", split="train")  # doctest: +SKIP
    """
    from ..sources.download.client import Client, user_agent
    from ..sources.download.hub import find_data_set

    found = find_data_set(name, config=config, split=split, revision=revision, endpoint=base_url)
    return fetch(found.files, Path(output), Client({"User-Agent": user_agent(), **found.headers}), connections, None, progress)


def fetch(
    files: Sequence[RemoteFile],
    output: Path,
    client: Client,
    connections: int,
    sums: tuple[str, str] | None,
    progress: Callable[[str, int], None] | None,
) -> list[Path]:
    """Download files, and return their paths. Also write their checksum file, if `sums` has its name and text."""
    from ..sources.download.transfer import fetch_all
    from ..storage.files import write_text

    fetch_all(files, output, client, connections=connections, progress=lambda file, at: progress and progress(file.name, at))
    if sums is not None:
        write_text(output / sums[0], sums[1])
    return [output / file.name for file in files]
