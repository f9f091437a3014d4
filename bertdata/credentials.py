"""Keep secrets out of messages and files: logins and signatures in URLs.

bertdata rejects URLs that contain a secret (`storage.files.check_url`).  A message may still quote one: the rejected URL, or a
signed address that a server redirects to.  `hide` masks these.

    https://ada:word@host/a.jsonl?Signature=…   ->   https://***@host/a.jsonl?Signature=***
"""

from __future__ import annotations

import re

_HIDDEN = "***"
_WEB_SCHEMES = ("http", "https")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://")
_QUERIED = re.compile(r"\?(?=[^?]*=|[^?/.*\[]*$)")  # begins a query; another question mark is a glob's
_LOGIN = re.compile(  # from :// to the @: before the first /, or after a colon that does not begin a port
    r"(?<=://)(?:[^\s/?#\"'<>]{0,600}@|(?!\[[^\s\]/]{0,100}\]|[^\s/:@?#\"'<>]{0,300}:[0-9]{1,5}(?![0-9A-Za-z]))"
    r"[^\s/:@?#\"'<>]{1,300}:[^\s@?\"'<>]{0,200}@)"
)
_SIGNED = re.compile(  # parameters that sign a URL, also in the URLs that a server redirects to
    r"([?&;](?:amp;)?(?:x-(?:amz|goog|oss|cos|obs)-[a-z-]{1,40}|(?:aws|google)accesskeyid|googleaccessid|ossaccesskeyid|key-pair-id"
    r"|signature|sig|policy|(?:[a-z]{1,10}[_-])?token|password|passwd|pwd|secret|(?:client|api)[_-]?(?:key|secret))=)"
    r"[^\s&;\"'<>)\]},|\\]+",
    re.IGNORECASE,
)


def split_url(url: str) -> tuple[str, str, str]:
    """Split a URL into the part without secrets, its login, and its query (for http only) with the question mark."""
    if not (match := _URL.match(url)):
        return url, "", ""
    scheme, rest, login, query = url[: match.end()], url[match.end() :], "", ""
    if (match := _LOGIN.match(url, match.end())) and _is_secret(scheme[:-3], match.group()):
        login, rest = match.group()[:-1], url[match.end() :]
    if scheme[:-3].lower() in _WEB_SCHEMES and (match := _QUERIED.search(rest)):
        query, rest = rest[match.start() :], rest[: match.start()]
    return f"{scheme}{rest}", login, query


def hide(text: str) -> str:
    """Mask the logins and signatures in a text's URLs. The result is the same in every run, so it may go into data.

    >>> hide("https://ada:word@host/a?X-Amz-Signature=1f2e&n=1 returned 403")
    'https://***@host/a?X-Amz-Signature=***&n=1 returned 403'
    >>> hide("abfs://container@account/a, hf://datasets/a/b@main, http://[::1]:80/@a")
    'abfs://container@account/a, hf://datasets/a/b@main, http://[::1]:80/@a'
    """
    if "://" in text:
        text = _LOGIN.sub(_without_login, text)
    return _SIGNED.sub(rf"\1{_HIDDEN}", text) if "=" in text else text


def cause(error: BaseException) -> BaseException | None:
    """Return an error to show as the cause of another; None if it, or one of its own causes, contains a secret."""
    each: BaseException | None = error
    while each is not None:
        shown = f"{each} {each!r}"
        if hide(shown) != shown:
            return None
        each = each.__cause__ or each.__context__
    return error


def _without_login(match: re.Match[str]) -> str:
    scheme = re.split(r"[^A-Za-z0-9+.-]", match.string[max(0, match.start() - 33) : match.start() - 3])[-1]
    return f"{_HIDDEN}@" if _is_secret(scheme, match.group()) else match.group()


def _is_secret(scheme: str, login: str) -> bool:
    """Return True for a login with a secret; ``abfs://container@account`` and ``sftp://user@host`` have none."""
    return scheme.lower().endswith(_WEB_SCHEMES) or ":" in login
