"""Find the files of a Wikipedia dump from the lists that the Wikimedia Foundation publishes.

    https://dumps.wikimedia.org/zhwiki/                             the dates of dumps
    https://dumps.wikimedia.org/zhwiki/20261101/dumpstatus.json     jobs with their status and files
    https://dumps.wikimedia.org/zhwiki/20261101/zhwiki-20261101-sha1sums.txt

The articles are downloaded as a multistream dump with its indexes, in several files if the wiki has them. If that job was not
run, the single-stream dump is used.  Mirrors have the same layout, so you can pass a mirror's address.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ...config.languages import problem_of
from ...errors import NoInputError, TransferError, UsageError, VerificationError
from ...storage.stores import check_url
from .client import Client, Missing
from .transfer import RemoteFile

__all__ = ["DUMPS", "Dump", "find_dump", "mirror", "wiki_name"]

DUMPS = "https://dumps.wikimedia.org"
_JOBS = ("articlesmultistreamdump", "articlesdump")  # in order of preference
_MAX_FILE_BYTES = 1 << 50  # bytes of a file
_CODE = re.compile(r"[a-z]{2,}(?:-[a-z]+)*")
_DATE = re.compile(r"[0-9]{8}")
_MAX_DATES = 24  # number of latest dates to check: a year of dumps
_LISTED_DATE = re.compile(r"""href=["']?(?:[^"'>]{0,300}/)?([0-9]{8})/?["'>]""")
_NAME = re.compile("[A-Za-z0-9_.-]{1,200}")
_SHA1 = re.compile("[0-9a-f]{40}")
_SUM_LINE = re.compile(r"([0-9a-f]{40}) [ *](\S+)")
_OLD_WIKI_NAMES = {  # language codes -> wikis named before those codes existed
    "als": "als", "be-tarask": "be_x_old", "cmn": "zh", "egl": "eml", "gsw": "als", "lzh": "zh_classical", "nan": "zh_min_nan",
    "nb": "no", "rup": "roa_rup", "sgs": "bat_smg", "vro": "fiu_vro", "yue": "zh_yue", "cbk": "cbk_zam",
}  # fmt: skip


class Dump(NamedTuple):
    """A wiki's dump of a date, its files, and the text of its checksum file."""

    wiki: str
    date: str
    files: list[RemoteFile]

    @property
    def sums(self) -> tuple[str, str]:
        """The name and the text of the checksum file, in the format of sha1sum(1)."""
        lines = (f"{file.checksum.partition(':')[2]}  {file.name}\n" for file in self.files)
        return f"{self.wiki}-{self.date}-sha1sums.txt", "".join(lines)


def wiki_name(language: str) -> str:
    """Return the name of a language's Wikipedia.

    >>> wiki_name("zh"), wiki_name("zh-yue"), wiki_name("be-tarask"), wiki_name("simple")
    ('zhwiki', 'zh_yuewiki', 'be_x_oldwiki', 'simplewiki')
    """
    code = language.strip().lower().replace("_", "-")
    if not _CODE.fullmatch(code):
        raise UsageError(
            f"`language` {language!r} is not the code of a Wikipedia. Use a code such as zh, zh-yue or simple",
            field="language",
            value=language,
        )
    return _OLD_WIKI_NAMES.get(code, code.replace("-", "_")) + "wiki"


def find_dump(client: Client, language: str, date: str = "", base_url: str = DUMPS) -> Dump:
    """Find the files of a dump. Without a date, use the newest complete dump, and prefer multistream to single-stream.

    Raise NoInputError if the wiki, the date or a complete dump does not exist.
    """
    if date and not _DATE.fullmatch(date):
        raise UsageError(f"`date` {date} is not a date. Use the form YYYYMMDD, such as 20261101", field="date", value=date)
    if problem := problem_of(language):
        raise UsageError(f"`language`: {problem}", field="language")
    wiki, base = wiki_name(language), mirror(base_url)
    dates = [date] if date else _dates(client, base, wiki)
    finished: dict[str, tuple[str, Any]] = {}  # per job: latest finished date, and files
    states: list[str] = []
    for day in dates:
        jobs = _status(client, base, wiki, day)
        states.append(f"{day}: {jobs.get(_JOBS[0], {}).get('status', 'no status')}"[:60])
        for job in _JOBS:
            if jobs.get(job, {}).get("status") == "done":
                finished.setdefault(job, (day, jobs[job].get("files")))
        if _JOBS[0] in finished:
            break
    if job := next((job for job in _JOBS if job in finished), ""):
        day, files = finished[job]
        return Dump(wiki, day, _files(client, f"{base}/{wiki}/{day}", f"{wiki}-{day}", files))
    raise NoInputError(
        f"{base}/{wiki}/ has no complete dump of articles ({', '.join(states[:5])}). Try again later, or use another `date`"
    )


def mirror(base_url: str) -> str:
    """Return a mirror's address without a final slash. Raise UsageError if the address contains a login or a query."""
    check_url(base_url)
    return base_url.rstrip("/")


def _dates(client: Client, base: str, wiki: str) -> list[str]:
    """List the dates of a wiki's dumps, latest first, from its directory page."""
    try:
        page = client.read(f"{base}/{wiki}/").decode("utf-8", "replace")
    except Missing as error:
        raise NoInputError(f"{base} has no {wiki}. Check `base_url` and `language`, the code in the wiki's address") from error
    if not (dates := sorted(set(_LISTED_DATE.findall(page)), reverse=True)):
        raise NoInputError(f"{base}/{wiki}/ lists no dates of dumps. Set `date`, or use another `base_url`")
    return dates[:_MAX_DATES]


def _status(client: Client, base: str, wiki: str, date: str) -> dict[str, Any]:
    """Return the jobs of a date; empty if the date has no dumpstatus.json (yet)."""
    address = f"{base}/{wiki}/{date}/dumpstatus.json"
    try:
        jobs = json.loads(client.read(address))["jobs"]
    except Missing:
        return {}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TransferError(
            f"{address} is not a valid list of jobs ({error}). Try again later, or use another `base_url`"
        ) from error
    if not isinstance(jobs, dict) or not all(isinstance(job, dict) for job in jobs.values()):
        raise TransferError(f"{address} is not a valid list of jobs. Try again later, or use another `base_url`")
    return jobs


def _files(client: Client, folder: str, prefix: str, entries: object) -> list[RemoteFile]:
    """Return the files of a job from its table and the checksum file, which must agree."""
    try:
        text = client.read(f"{folder}/{prefix}-sha1sums.txt").decode("utf-8", "replace")
    except Missing:  # some jobs of the dump are not finished
        text = ""
    sums = {name: value for value, name in _SUM_LINE.findall(text)}
    files = []
    if isinstance(entries, dict) and f"{prefix}-sha1sums.txt" in entries:
        raise TransferError(f"{folder}/dumpstatus.json lists {prefix}-sha1sums.txt as an article file. Use another `base_url`")
    for name, entry in sorted(entries.items()) if isinstance(entries, dict) else ():
        fields = entry if isinstance(entry, dict) else {}
        size, sha1 = fields.get("size", -1), fields.get("sha1") or sums.get(name)
        sized = type(size) is int and 0 <= size < _MAX_FILE_BYTES
        if (
            not sized
            or not isinstance(sha1, str)
            or not _SHA1.fullmatch(sha1)
            or "/" in name
            or not name.startswith(f"{prefix}-")
        ):
            raise TransferError(
                f"{folder}/dumpstatus.json has no valid size or sha1 for {ascii(name)[:300]}. Use another `date` or `base_url`"
            )
        if not _NAME.fullmatch(name):
            raise VerificationError(
                f"the server lists a file named {ascii(name)[:300]}, which is not a safe name. Use another `base_url`"
            )
        if sums.get(name, sha1) != sha1:
            raise VerificationError(f"{folder}: dumpstatus.json and the sha1sums file have different checksums for {name}")
        files.append(RemoteFile(name, f"{folder}/{name}", size, f"sha1:{sha1}"))
    if not files:
        raise NoInputError(f"{folder}/dumpstatus.json lists no article files. Use another `date` or `base_url`")
    return files
