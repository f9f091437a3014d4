"""Download Wikipedia dumps and Hugging Face datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..storage.storage import storage_errors

if TYPE_CHECKING:
    from ..sources.download.client import Client
    from ..sources.download.transfer import RemoteFile

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
    return find_wikipedia(language, date, base_url, contact).fetch(Path(output), connections, progress)


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
    return find_hub(name, config, split, revision, base_url).fetch(Path(output), connections, progress)


class Download(NamedTuple):
    """Files to download, and the name and text of their checksum file, if there is one."""

    title: str
    files: Sequence[RemoteFile]
    client: Client
    sums: tuple[str, str] | None = None

    def fetch(self, output: Path, connections: int, progress: Callable[[str, int], None] | None) -> list[Path]:
        """Download the files, and return their paths."""
        from ..sources.download.transfer import fetch_all
        from ..storage.files import write_text

        show = progress or (lambda _name, _at: None)
        fetch_all(self.files, output, self.client, connections=connections, progress=lambda file, at: show(file.name, at))
        if self.sums is not None:
            write_text(output / self.sums[0], self.sums[1])
        return [output / file.name for file in self.files]


def find_wikipedia(
    language: str, date: str, base_url: str, contact: str, note: Callable[[str], None] = lambda text: None
) -> Download:
    """Find the files of a Wikipedia's dump."""
    from ..sources.download.client import Client, user_agent
    from ..sources.download.wikimedia import find_dump

    client = Client({"User-Agent": user_agent(contact)}, note=note)
    dump = find_dump(client, language, date, base_url)
    return Download(f"{dump.wiki}-{dump.date}", dump.files, client, dump.sums)


def find_hub(
    name: str, config: str, split: str, revision: str, base_url: str, note: Callable[[str], None] = lambda text: None
) -> Download:
    """Find the files of a Hugging Face dataset."""
    from ..sources.download.client import Client, user_agent
    from ..sources.download.hub import find_data_set

    found = find_data_set(name, config=config, split=split, revision=revision, endpoint=base_url)
    if found.is_partial:
        note(f"{name}: the Hub has converted only the first gigabytes. Convert the other files yourself")
    return Download(
        f"{found.name} at {found.commit[:12]}", found.files, Client({"User-Agent": user_agent(), **found.headers}, note=note)
    )
