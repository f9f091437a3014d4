"""Find the files of a Wikipedia dump in the lists that the Wikimedia Foundation publishes, and download and verify them.

The articles are downloaded as a multistream dump, in several files if the wiki has them. If that job was not run, the
single-stream dump is used. Mirrors have the same layout, so you can pass a mirror's address.

A file is written to ``NAME.part``, which a later run continues at its last byte. It gets its name once its checksum matches.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import __version__
from ..config.languages import problem_of
from ..credentials import cause
from ..errors import NoInputError, StorageError, TransferError, UsageError, VerificationError
from ..storage.files import digest, sync_directory, write_text
from ..storage.lock import lock
from ..storage.storage import storage_errors
from ..storage.stores import check_url

if TYPE_CHECKING:
    import requests

DUMPS = "https://dumps.wikimedia.org"
_JOBS = ("articlesmultistreamdump", "articlesdump")  # in order of preference
_MAX_DATES = 24  # number of latest dates to check: a year of dumps
_LISTED_DATE = re.compile(r"""href=["']?(?:[^"'>]{0,300}/)?([0-9]{8})/?["'>]""")
_NAME = re.compile("[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}")
_MAX_TRIES = 8  # failed requests, or broken connections in a row without a new byte
_RETRIED_STATUSES = (408, 425, 429, 500, 502, 503, 504)
_MAX_WAIT_S = 600  # if the server asks for a longer wait, stop and report when to try again
_TIMEOUTS_S = (30, 60)  # to connect, and to wait for a byte
_MAX_LIST_BYTES = 4 << 20  # the largest list, a wiki's dumpstatus.json, is under 1 MB
_BLOCK_BYTES = 1 << 16
_OLD_WIKI_NAMES = {  # language codes -> wikis named before those codes existed
    "als": "als", "be-tarask": "be_x_old", "cmn": "zh", "egl": "eml", "gsw": "als", "lzh": "zh_classical", "nan": "zh_min_nan",
    "nb": "no", "rup": "roa_rup", "sgs": "bat_smg", "vro": "fiu_vro", "yue": "zh_yue", "cbk": "cbk_zam",
}  # fmt: skip


class RemoteFile(NamedTuple):
    """A file to download: its name, address, size in bytes and SHA-1."""

    name: str
    url: str
    size: int
    sha1: str


class Dump(NamedTuple):
    """The dump of a wiki and a date, and its files."""

    wiki: str
    date: str
    files: list[RemoteFile]

    @property
    def sums(self) -> str:
        """The files and their checksums, in the format of sha1sum(1)."""
        return "".join(f"{file.sha1}  {file.name}\n" for file in self.files)


Progress = Callable[[str, int], None]


def wiki_name(language: str) -> str:
    """Return the name of a language's Wikipedia.

    >>> wiki_name("zh"), wiki_name("zh-yue"), wiki_name("be-tarask"), wiki_name("simple")
    ('zhwiki', 'zh_yuewiki', 'be_x_oldwiki', 'simplewiki')
    """
    code = language.strip().lower().replace("_", "-")
    if not re.fullmatch(r"[a-z]{2,}(?:-[a-z]+)*", code):
        problem = f"`language` {language!r} is not the code of a Wikipedia. Use a code such as zh, zh-yue or simple"
        raise UsageError(problem, field="language", value=language)
    return _OLD_WIKI_NAMES.get(code, code.replace("-", "_")) + "wiki"


def open_session(contact: str = "") -> requests.Session:
    """Open a session that names the program and a contact, as Wikimedia's policy requires, and that retries failed requests."""
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3 import BaseHTTPResponse, Retry

    class BoundedRetry(Retry):
        def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
            seconds = super().get_retry_after(response)
            if seconds and seconds > _MAX_WAIT_S:
                raise TransferError(f"the server demands a wait of {seconds:.0f} seconds: run the same command again after that")
            return seconds

    session = requests.Session()
    session.headers["User-Agent"] = f"bertdata/{__version__} (corpus builder{'; ' if contact else ''}{contact})"
    session.headers["Accept-Encoding"] = "identity"
    retries = BoundedRetry(
        _MAX_TRIES - 1, redirect=5, backoff_factor=1, status_forcelist=_RETRIED_STATUSES, raise_on_status=False
    )
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(max_retries=retries))
    return session


def find_dump(session: requests.Session, language: str, date: str = "", base_url: str = DUMPS) -> Dump:
    """Find the files of a dump. Without a date, use the newest complete dump, and prefer multistream to single-stream.

    Raise NoInputError if the wiki, the date or a complete dump does not exist.
    """
    if date and not re.fullmatch("[0-9]{8}", date):
        raise UsageError(f"`date` {date} is not a date. Use the form YYYYMMDD, such as 20261101", field="date", value=date)
    if problem := problem_of(language):
        raise UsageError(f"`language`: {problem}", field="language")
    check_url(base_url)
    wiki, base = wiki_name(language), base_url.rstrip("/")
    states: list[str] = []
    finished: dict[str, tuple[str, Any]] = {}  # per job: latest finished date, and files
    for day in [date] if date else _dates(session, base, wiki):
        jobs = _jobs(session, f"{base}/{wiki}/{day}/dumpstatus.json")
        states.append(f"{day}: {jobs.get(_JOBS[0], {}).get('status', 'no status')}"[:60])
        for job in _JOBS:
            if jobs.get(job, {}).get("status") == "done":
                finished.setdefault(job, (day, jobs[job].get("files")))
        if _JOBS[0] in finished:
            break
    for job in _JOBS:
        if job in finished:
            day, entries = finished[job]
            return Dump(wiki, day, list(_files(f"{base}/{wiki}/{day}", f"{wiki}-{day}", entries)))
    problem = f"{base}/{wiki}/ has no complete dump of articles ({', '.join(states[:5])})"
    raise NoInputError(f"{problem}. Try again later, or use another `date`")


def _dates(session: requests.Session, base: str, wiki: str) -> list[str]:
    """List the dates of a wiki's dumps, latest first, from its directory page."""
    page = _read(session, f"{base}/{wiki}/")
    if page is None:
        raise NoInputError(f"{base} has no {wiki}. Check `base_url` and `language`, the code in the wiki's address")
    if not (dates := sorted(set(_LISTED_DATE.findall(page.decode("utf-8", "replace"))), reverse=True)):
        raise NoInputError(f"{base}/{wiki}/ lists no dates of dumps. Set `date`, or use another `base_url`")
    return dates[:_MAX_DATES]


def _jobs(session: requests.Session, address: str) -> dict[str, Any]:
    """Return the jobs of a date; empty if the date has no dumpstatus.json (yet)."""
    if (text := _read(session, address)) is None:
        return {}
    problem = f"{address} is not a valid list of jobs. Try again later, or use another `base_url`"
    try:
        jobs = json.loads(text)["jobs"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TransferError(problem) from error
    if not isinstance(jobs, dict) or not all(isinstance(job, dict) for job in jobs.values()):
        raise TransferError(problem)
    return jobs


def _files(folder: str, prefix: str, entries: object) -> Iterator[RemoteFile]:
    """Return the files of a job, which lists their sizes and checksums."""
    if not isinstance(entries, dict) or not entries:
        raise NoInputError(f"{folder}/dumpstatus.json lists no article files. Use another `date` or `base_url`")
    for name, entry in sorted(entries.items()):
        fields: dict[str, Any] = entry if isinstance(entry, dict) else {}
        size, sha1 = fields.get("size", -1), fields.get("sha1", "")
        is_valid = type(size) is int and 0 <= size < 1 << 50 and isinstance(sha1, str) and re.fullmatch("[0-9a-f]{40}", sha1)
        if not is_valid or not _NAME.fullmatch(name) or not name.startswith(f"{prefix}-"):
            problem = f"{folder}/dumpstatus.json has no valid name, size or sha1 for {ascii(name)[:300]}"
            raise TransferError(f"{problem}. Use another `date` or `base_url`")
        yield RemoteFile(name, f"{folder}/{name}", size, sha1)


def _read(session: requests.Session, url: str) -> bytes | None:
    """Return a list, or None if it does not exist."""
    with _get(session, url) as response:
        if response.status_code in (404, 410):
            return None
        _check(response, url)
        data = b""
        for block in response.iter_content(_BLOCK_BYTES):
            data += block
            if len(data) > _MAX_LIST_BYTES:
                raise TransferError(f"{url} has over {_MAX_LIST_BYTES} bytes, more than a list can have: check the address")
        return data


@contextlib.contextmanager
def _get(session: requests.Session, url: str, **headers: str) -> Iterator[requests.Response]:
    """Yield a response, whose body the caller reads. Raise TransferError without parts of an address that may be secret."""
    import requests

    try:
        with session.get(url, headers=headers, stream=True, timeout=_TIMEOUTS_S) as response:
            yield response
    except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema, requests.exceptions.MissingSchema) as error:
        raise UsageError(f"{url} cannot be fetched: use an address that begins with https://") from cause(error)
    except requests.RequestException as error:
        raise TransferError(f"{url}: {type(error).__name__}: check the network, and run the same command again") from cause(error)


def _check(response: requests.Response, url: str) -> None:
    if response.status_code not in (200, 206):
        advice = "set `contact`" if response.status_code in (401, 403) else "check the address, or try again later"
        raise TransferError(f"{url}: the server answers {response.status_code} {response.reason}: {advice}")


def missing_bytes(files: Sequence[RemoteFile], directory: Path) -> int:
    """Return the number of bytes left to download, by the sizes of existing files."""
    return sum(max(0, file.size - max(_size(directory / file.name), _size(_part(directory, file)))) for file in files)


def fetch_all(dump: Dump, directory: Path, session: requests.Session, connections: int, progress: Progress) -> None:
    """Download a dump and its checksums, several files at a time; `progress` receives the name of a file and its bytes.

    Raise VerificationError if a file differs from the published one, TransferError if the server does not send it,
    StorageError if the disk is full.  Received data is always kept, and the next call continues from there.
    """
    with storage_errors(f"cannot write {directory}"):
        directory.mkdir(parents=True, exist_ok=True)
        needed, free = missing_bytes(dump.files, directory), shutil.disk_usage(directory).free
    if needed > free:
        problem = f"{directory} has room for {free} bytes, {needed} are to come"
        raise StorageError(f"{problem}: free some space or choose another `output`")
    stopped = threading.Event()
    with lock(directory / ".download.lock"), ThreadPoolExecutor(connections) as pool:
        futures = [pool.submit(_fetch, file, directory, session, progress, stopped) for file in dump.files]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    (directory / ".download.lock").unlink(missing_ok=True)
    write_text(directory / f"{dump.wiki}-{dump.date}-sha1sums.txt", dump.sums)


def _fetch(file: RemoteFile, directory: Path, session: requests.Session, progress: Progress, stopped: threading.Event) -> None:
    target, part = directory / file.name, _part(directory, file)
    if _size(target) == file.size and digest(target, algorithm="sha1") == file.sha1:
        return progress(file.name, file.size)
    for _ in range(2):  # a partial file may be of another version, so try again from the beginning
        _fetch_part(file, part, session, progress, stopped)
        if digest(part, algorithm="sha1") == file.sha1:
            with storage_errors(f"cannot write {target}"):
                os.replace(part, target)
                sync_directory(directory)
            return None
        part.unlink()
    raise VerificationError(
        f"{file.url} does not match its checksum, twice in a row. Try again later, or another server with `base_url`"
    )


def _fetch_part(file: RemoteFile, part: Path, session: requests.Session, progress: Progress, stopped: threading.Event) -> None:
    """Download the rest of a partial file, with a new request after each broken connection."""
    if part.is_symlink() or _size(part) > file.size:
        part.unlink()
    best, failures = _size(part), 0
    while _size(part) < file.size or not part.exists():
        try:
            _continue(file, part, session, progress, stopped)
            failures += _size(part) < file.size
        except TransferError:
            failures = 1 if _size(part) > best else failures + 1
            if failures >= _MAX_TRIES or stopped.is_set():
                raise
            stopped.wait(2**failures)
        best = max(best, _size(part))
        if failures >= _MAX_TRIES:
            raise TransferError(f"{file.url}: the connection ends early: run the same command again later")


def _continue(file: RemoteFile, part: Path, session: requests.Session, progress: Progress, stopped: threading.Event) -> None:
    """Append what a response has to a partial file."""
    at = _size(part)
    with _get(session, file.url, **({"Range": f"bytes={at}-"} if at else {})) as response:
        if response.status_code == 416 or response.headers.get("Content-Encoding", "identity") != "identity":
            part.unlink(missing_ok=True)
            raise TransferError(f"{file.url}: the server does not continue at byte {at}")
        _check(response, file.url)
        at = at if response.headers.get("Content-Range", "").startswith(f"bytes {at}-") else 0
        with storage_errors(f"cannot write {part}"), open(part, "ab" if at else "wb") as output:
            for block in response.iter_content(_BLOCK_BYTES):
                at += len(block)
                if at > file.size:
                    output.truncate(0)
                    raise VerificationError(f"{file.url} has more than the {file.size} bytes that were published")
                output.write(block)
                progress(file.name, at)
                if stopped.is_set():
                    raise TransferError("the download was stopped: run the same command again, it continues where it stopped")
            output.flush()
            os.fsync(output.fileno())


def _part(directory: Path, file: RemoteFile) -> Path:
    return directory / f"{file.name}.part"


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
