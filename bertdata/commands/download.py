"""Download Wikipedia dumps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..storage.problems import storage_errors

WIKIMEDIA = "https://dumps.wikimedia.org"


@storage_errors()
def download_wikipedia(
    language: str,
    *,
    output: str | Path,
    date: str = "",
    html: bool = False,
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
        html: Whether to download the articles rendered as HTML (Wikimedia Enterprise) instead, for `wikipedia_html`.
        base_url: Dump server or mirror.
        contact: Your e-mail address or web page for the User-Agent header, as Wikimedia's policy requests.
        connections: Number of parallel downloads. The robot policy of dumps.wikimedia.org allows two.
        progress: Called with the name of a file and the number of its bytes on the disk.

    Returns:
        The files, in the order of the server's list.

    Raises:
        UsageError: `language` or `date` is invalid.
        NoInputError: The wiki, date or complete dump does not exist.
        TransferError, VerificationError, StorageError: The server or the disk fails, or a file differs from its checksum.

    Examples:
        >>> download_wikipedia("english", output=here)
        Traceback (most recent call last):
        bertdata.errors.UsageError: `language`: 'english' is not a language code. Use en
    """
    from ..sources.download import fetch_all, open_session
    from ..sources.wikimedia import find_dump, find_rendered

    with open_session(contact) as session:
        dump = (find_rendered if html else find_dump)(session, language, date, base_url)
        fetch_all(dump, Path(output), session, connections, progress or (lambda _name, _at: None))
    return [Path(output) / file.name for file in dump.files]
