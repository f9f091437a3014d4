"""Keep secrets out of what is shown or stored: logins and signatures in URLs, and tokens.

    s3://KEY:SECRET@bucket/corpus               ->   s3://bucket/corpus
    https://ada:word@host/a.jsonl?Signature=…   ->   https://host/a.jsonl

`conceal` takes the secret out of a URL before anything else sees it, and `reveal` puts it back for the request itself; between
the two it is in the memory of this process and of the workers that it starts.  `hide` masks secrets in a text: what an HTTP
library says of the URL that it was asked for, or a server of the one that it leads to.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator
from urllib.parse import quote, unquote

__all__ = ["cause", "conceal", "hand_over", "hide", "hide_in_url", "is_signed", "is_used", "login", "mask_secret", "reveal"]

_VARIABLE = "BERTDATA_CREDENTIALS"  # of the environment in which a worker finds, once, what its driver knows
_MASK = "***"
_WEB = ("http", "https")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://")
_QUERIED = re.compile(r"\?(?=[^?]*=|[^?/.*\[]*$)")  # begins a query; another question mark is a glob's
_LOGIN = re.compile(  # after ://, up to the @: in what stands before the first /, or behind a colon that begins no port
    r"(?<=://)(?:[^\s/?#\"'<>]{0,600}@|(?!\[[^\s\]/]{0,100}\]|[^\s/:@?#\"'<>]{0,300}:[0-9]{1,5}(?![0-9A-Za-z]))"
    r"[^\s/:@?#\"'<>]{1,300}:[^\s@?\"'<>]{0,200}@)"
)
_SIGNED = re.compile(  # parameters that stores and hubs sign a URL with, also one that nobody gave us, as in a redirect
    r"([?&;](?:amp;)?(?:x-(?:amz|goog|oss|cos|obs)-[a-z-]{1,40}|(?:aws|google)accesskeyid|googleaccessid|ossaccesskeyid|key-pair-id"
    r"|signature|sig|policy|(?:[a-z]{1,10}[_-])?token|password|passwd|pwd|secret|(?:client|api)[_-]?(?:key|secret))=)"
    r"[^\s&;\"'<>)\]},|\\]+",
    re.IGNORECASE,
)
_LONG, _PASSWORD = 8, 4  # characters from which on a secret, or a password, is masked wherever it stands, not in a URL alone


class _Known:
    """What this process knows: logins by the folder from which on they hold, queries by URL, and what is to be masked."""

    def __init__(self) -> None:
        self.logins: dict[str, str] = {}
        self.queries: dict[str, str] = {}
        self.masked: set[str] = set()
        self._pattern: tuple[int, re.Pattern[str] | None] = (0, None)

    def add(self, public: str, login: str, query: str) -> None:
        if login:
            self.logins[_canonical(_folder(public))] = login
        if query:
            self.queries[_canonical(public)] = query
        self.masked.update(_forms(login, query))

    def receive(self) -> _Known:
        """Learn what the driver of this worker has handed over, the first time."""
        if handed := os.environ.pop(_VARIABLE, ""):
            logins, queries = json.loads(handed)
            for folder, login in logins.items():
                self.add(folder, login, "")
            for url, query in queries.items():
                self.add(url, "", query)
        return self

    def pattern(self) -> re.Pattern[str] | None:
        """Return what finds all that is to be masked; None where there is nothing."""
        if self._pattern[0] != len(self.masked):
            longest_first = sorted(self.masked, key=lambda text: (-len(text), text))
            self._pattern = len(self.masked), re.compile("|".join(map(_whole, longest_first)))
        return self._pattern[1]


_known = _Known()


def conceal(url: str) -> str:
    """Return a URL without login and, of http, without query, which `reveal` knows then.  What is no URL is returned as it is."""
    public, login, query = _parts(url)
    if login or query:
        _known.receive().add(public, login, query)
    return public


def reveal(url: str) -> str:
    """Return the URL that is to be asked for instead of one that `conceal` returned, or of one below it."""
    scheme, mark, rest = url.partition("://")
    user = login(url)
    return f"{scheme}{mark}{user}{'@' if user else ''}{rest}{_known.queries.get(_canonical(url), '')}"


def login(url: str) -> str:
    """Return the login, ``user:password``, that was given for a URL or for a folder above it; nothing where there is none."""
    logins = _known.receive().logins
    above = [folder for folder in logins if f"{_canonical(url)}/".startswith(folder)]
    return logins[max(above, key=len)] if above else ""


def is_signed(url: object) -> bool:
    """Tell whether a query was taken out of a URL, which then stands for one file, and for nothing beside it."""
    return _canonical(str(url)) in _known.receive().queries


def is_used() -> bool:
    """Tell whether a URL was given with a secret in it."""
    return bool(_known.receive().logins or _known.queries)


def hand_over() -> dict[str, str]:
    """Return what a worker process of this one needs in its environment to `reveal` the same URLs."""
    return {_VARIABLE: json.dumps([_known.logins, _known.queries])} if is_used() else {}


def mask_secret(text: str) -> None:
    """Mask from now on a secret, or those in the URL that an argument of a command ends with."""
    url = _URL.search(text)
    _, login, query = _parts(text[url.start() :]) if url else ("", text, "")
    _known.masked.update(_forms(login, query))


def hide(text: str) -> str:
    """Mask what is secret in a text, be it a message, a log or a traceback.

    >>> hide("https://ada:word@host/a?X-Amz-Signature=1f2e&n=1 gives 403")
    'https://***@host/a?X-Amz-Signature=***&n=1 gives 403'
    >>> hide("abfs://container@account/a, hf://datasets/a/b@main, http://[::1]:80/@a")
    'abfs://container@account/a, hf://datasets/a/b@main, http://[::1]:80/@a'
    """
    if (secrets := _known.receive().pattern()) is not None:
        text = secrets.sub(_MASK, text)
    return hide_in_url(text)


def hide_in_url(text: str) -> str:
    """Mask what a URL shows to be secret, whatever this process knows: so that data come out the same in any run."""
    if "://" in text:
        text = _LOGIN.sub(_without_login, text)
    return _SIGNED.sub(rf"\1{_MASK}", text) if "=" in text else text


def cause(error: BaseException) -> BaseException | None:
    """Return an error that may be shown as the cause of another; None where it, or what it came of, tells a secret."""
    each: BaseException | None = error
    while each is not None:
        said = f"{each} {each!r}"
        if hide(said) != said:
            return None
        each = each.__cause__ or each.__context__
    return error


def _without_login(match: re.Match[str]) -> str:
    scheme = re.split(r"[^A-Za-z0-9+.-]", match.string[max(0, match.start() - 33) : match.start() - 3])[-1]
    return f"{_MASK}@" if _is_secret(scheme, match.group()) else match.group()


def _is_secret(scheme: str, login: str) -> bool:
    """Tell whether what stands before an @ is a secret: in ``abfs://container@account`` and ``sftp://user@host`` it is none."""
    return scheme.lower().endswith(_WEB) or ":" in login


def _parts(url: str) -> tuple[str, str, str]:
    """Part a URL into what may be seen, its login, and its query with the ? before it."""
    if not (match := _URL.match(url)):
        return url, "", ""
    scheme, rest, login, query = url[: match.end()], url[match.end() :], "", ""
    if (match := _LOGIN.match(url, match.end())) and _is_secret(scheme[:-3], match.group()):
        login, rest = match.group()[:-1], url[match.end() :]
    if scheme[:-3].lower() in _WEB and (match := _QUERIED.search(rest)):
        query, rest = rest[match.start() :], rest[: match.start()]
    return f"{scheme}{rest}", login, query


def _canonical(url: str) -> str:
    """Write a URL in the one way by which two are compared, whoever has percent-encoded what in it."""
    return quote(unquote(url), safe="/:")


def _folder(url: str) -> str:
    """Return the folder of a file or of a glob: ``s3://bucket/`` of ``s3://bucket`` and of ``s3://bucket/*.bz2``."""
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    folders = re.split(r"[*?\[]", path, maxsplit=1)[0].rpartition("/")
    return f"{scheme}://{host}/{folders[0]}{folders[1]}"


def _forms(login: str, query: str) -> Iterator[str]:
    """Yield what is to be masked of a login and a query, as it may be written: plain, encoded, in a header, in Python."""
    user, colon, password = map(unquote, login.partition(":"))
    given = [f"{user}:{password}"] if colon else []
    given += [base64.b64encode(text.encode("utf-8", "replace")).decode() for text in given]
    given += [password] * (len(password) >= _PASSWORD)
    values = [each.partition("=")[2] or each for each in re.split("[?&;]", query)]
    given += [text for text in (user, query[1:], *values) if len(text) >= _LONG]
    for text in (login, *given):
        plain = unquote(text)
        yield from filter(None, {text, plain, quote(plain), quote(plain, safe=""), repr(plain)[1:-1]} if text else ())


def _whole(text: str) -> str:
    """Make a pattern of a secret; a short one counts as a whole word only."""
    begins, ends = (r"(?:(?<!\w)|(?<=%[0-9A-Fa-f]{2}))", r"(?!\w)") if len(text) < _LONG else ("", "")
    return f"{begins}{re.escape(text)}{ends}"
