"""Find the files of a Wikipedia dump in the lists that the Wikimedia Foundation publishes.

The articles are downloaded as a multistream dump, in several files if the wiki has them. If that job was not run, the
single-stream dump is used. Mirrors have the same layout, so you can pass a mirror's address.
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
import requests

from ..config.languages import problem_of
from ..errors import NoInputError, TransferError, UsageError
from ..storage.files import check_url
from .download import Dump, RemoteFile, read_list, read_size

DUMPS = "https://dumps.wikimedia.org"
_JOBS = ("articlesmultistreamdump", "articlesdump")  # in order of preference
_MAX_DATES = 24  # number of latest dates to check: a year of dumps
_OLD_WIKI_NAMES = {  # language codes -> wikis named before those codes existed
    "als": "als", "be-tarask": "be_x_old", "cmn": "zh", "egl": "eml", "gsw": "als", "lzh": "zh_classical", "nan": "zh_min_nan",
    "nb": "no", "rup": "roa_rup", "sgs": "bat_smg", "vro": "fiu_vro", "yue": "zh_yue", "cbk": "cbk_zam",
}  # fmt: skip


class _File(msgspec.Struct):
    size: Annotated[int, msgspec.Meta(gt=0, lt=1 << 50)]
    sha1: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{40}\Z")]


class _Job(msgspec.Struct):
    status: str = ""
    files: msgspec.Raw = msgspec.Raw(b"{}")  # without checksums as long as the job runs


class _DumpStatus(msgspec.Struct):
    jobs: dict[str, _Job]


_Files = dict[Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}\Z")], _File]


def wiki_name(language: str) -> str:
    """Return the name of a language's Wikipedia.

    >>> wiki_name("zh"), wiki_name("zh-yue"), wiki_name("be-tarask"), wiki_name("simple")
    ('zhwiki', 'zh_yuewiki', 'be_x_oldwiki', 'simplewiki')
    """
    code = language.strip().lower().replace("_", "-")
    return _OLD_WIKI_NAMES.get(code, code.replace("-", "_")) + "wiki"


def find_dump(session: requests.Session, language: str, date: str = "", base_url: str = DUMPS) -> Dump:
    """Find the files of a dump. Without a date, use the newest complete dump, and prefer multistream to single-stream.

    Raise NoInputError if the wiki, the date or a complete dump does not exist.
    """
    wiki, base = _place(language, date, base_url)
    for day in [date] if date else _dates(session, f"{base}/{wiki}/"):
        folder = f"{base}/{wiki}/{day}"
        try:
            jobs = msgspec.json.decode(read_list(session, f"{folder}/dumpstatus.json") or b'{"jobs": {}}', type=_DumpStatus).jobs
            finished = [jobs[name].files for name in _JOBS if name in jobs and jobs[name].status == "done"]
            files = msgspec.json.decode(finished[0], type=_Files) if finished else {}
        except (msgspec.DecodeError, RecursionError) as error:
            raise TransferError(f"{folder}/dumpstatus.json is not a valid list of files. Use another `base_url`") from error
        if files:
            return Dump(wiki, day, [RemoteFile(name, f"{folder}/{name}", f.size, f.sha1) for name, f in sorted(files.items())])
    raise NoInputError(f"{base} has no complete dump of {wiki}. Try again later, or use another `date`")


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
    raise NoInputError(f"{runs} has no rendered articles of {wiki}. Use another `date` or the dump of wikitext (without --html)")


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
    page = (read_list(session, url) or b"").decode("utf-8", "replace")
    if not (dates := sorted(set(re.findall(r"\b([0-9]{8})/", page)), reverse=True)):
        raise NoInputError(f"{url} lists no dates of dumps. Check `base_url` and `language`, the code in the wiki's address")
    return dates[:_MAX_DATES]
