"""Find the files of a Wikipedia dump in the lists that the Wikimedia Foundation publishes.

The articles are downloaded as a multistream dump, in several files if the wiki has them. If that job was not run, the
single-stream dump is used. Mirrors have the same layout, so you can pass a mirror's address.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..config.languages import problem_of
from ..errors import NoInputError, TransferError, UsageError
from ..storage.stores import check_url
from .download import Dump, RemoteFile, read_list, read_size

if TYPE_CHECKING:
    import requests

DUMPS = "https://dumps.wikimedia.org"
_JOBS = ("articlesmultistreamdump", "articlesdump")  # in order of preference
_MAX_DATES = 24  # number of latest dates to check: a year of dumps
_LISTED_DATE = re.compile(r"""href=["']?(?:[^"'>]{0,300}/)?([0-9]{8})/?["'>]""")
_NAME = re.compile("[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}")
_OLD_WIKI_NAMES = {  # language codes -> wikis named before those codes existed
    "als": "als", "be-tarask": "be_x_old", "cmn": "zh", "egl": "eml", "gsw": "als", "lzh": "zh_classical", "nan": "zh_min_nan",
    "nb": "no", "rup": "roa_rup", "sgs": "bat_smg", "vro": "fiu_vro", "yue": "zh_yue", "cbk": "cbk_zam",
}  # fmt: skip


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


def find_dump(session: requests.Session, language: str, date: str = "", base_url: str = DUMPS) -> Dump:
    """Find the files of a dump. Without a date, use the newest complete dump, and prefer multistream to single-stream.

    Raise NoInputError if the wiki, the date or a complete dump does not exist.
    """
    wiki, base = _place(language, date, base_url)
    states: list[str] = []
    finished: dict[str, tuple[str, Any]] = {}  # per job: latest finished date, and files
    for day in [date] if date else _dates(session, f"{base}/{wiki}/"):
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


def find_rendered(session: requests.Session, language: str, date: str = "", base_url: str = DUMPS) -> Dump:
    """Find the rendered articles of a wiki (Wikimedia Enterprise HTML). Without a date, use the newest that has them.

    No checksums are published beside these files; gzip's own are checked when they are read.
    """
    wiki, base = _place(language, date, base_url)
    runs = f"{base}/other/enterprise_html/runs/"
    for day in [date] if date else _dates(session, runs):
        name = f"{wiki}-NS0-{day}-ENTERPRISE-HTML.json.tar.gz"
        if size := read_size(session, url := f"{runs}{day}/{name}"):
            return Dump(wiki, day, [RemoteFile(name, url, size, "")])
    problem = f"{runs} has no rendered articles of {wiki}{f' of {date}' if date else ''}"
    raise NoInputError(f"{problem}. Use another `date` or `base_url`, or the dump of wikitext (without --html)")


def _place(language: str, date: str, base_url: str) -> tuple[str, str]:
    """Check the options, and return the wiki's name and the server's address."""
    if date and not re.fullmatch("[0-9]{8}", date):
        raise UsageError(f"`date` {date} is not a date. Use the form YYYYMMDD, such as 20261101", field="date", value=date)
    if problem := problem_of(language):
        raise UsageError(f"`language`: {problem}", field="language")
    check_url(base_url)
    return wiki_name(language), base_url.rstrip("/")


def _dates(session: requests.Session, url: str) -> list[str]:
    """List the dates of a directory page, latest first."""
    page = read_list(session, url)
    if page is None:
        raise NoInputError(f"{url} does not exist. Check `base_url` and `language`, the code in the wiki's address")
    if not (dates := sorted(set(_LISTED_DATE.findall(page.decode("utf-8", "replace"))), reverse=True)):
        raise NoInputError(f"{url} lists no dates of dumps. Set `date`, or use another `base_url`")
    return dates[:_MAX_DATES]


def _jobs(session: requests.Session, address: str) -> dict[str, Any]:
    """Return the jobs of a date; empty if the date has no dumpstatus.json (yet)."""
    if (text := read_list(session, address)) is None:
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
