"""Reject URLs that contain a secret, and return the fsspec options of a store."""

from __future__ import annotations

from typing import Any

from .. import credentials
from ..errors import UsageError

_LOGIN = (
    "bertdata accepts no login or key in a URL. Put it into ~/.netrc (https), the store's own environment variables or files "
    "(AWS_ACCESS_KEY_ID, ~/.aws/credentials), or fsspec's configuration (~/.config/fsspec/conf.json)"
)
_QUERY = (
    "bertdata accepts no query or signature in a URL. Download the file first and pass its path, or remove everything from the "
    "question mark on if the file is public"
)


def check_url(url: str) -> None:
    """Raise UsageError for a URL with a login, a signature or, for http, a query; other names are fine.

    >>> check_url("s3://bucket/corpus"), check_url("https://host/*.bz2"), check_url("books/emma.txt")
    (None, None, None)
    """
    public, login, query = credentials.split_url(url)
    shown = credentials.hide(public)
    if login:
        raise UsageError(f"{shown}: {_LOGIN}")
    if query or ("://" in url and shown != public):
        raise UsageError(f"{shown}: {_QUERY}")


def options(scheme: str) -> dict[str, Any]:
    """Return the options of a store: over HTTP, a session that uses ~/.netrc and the proxies of the environment."""
    return {"get_client": _session} if scheme in ("http", "https") else {}


async def _session(**options: Any) -> Any:
    import aiohttp

    return aiohttp.ClientSession(**{"trust_env": True, **options})
