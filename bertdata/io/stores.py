"""Give fsspec what it needs beside a store's URL, from which secrets are taken out: a login, or a session that puts them back."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from .. import credentials
from ..errors import UsageError

__all__ = ["options"]

_LOGINS = frozenset(("ftp", "sftp", "ssh", "smb"))  # schemes whose package takes a user and a password


def options(name: str, scheme: str) -> dict[str, Any]:
    """Return options of the store that a URL is of; raise UsageError for a login where the store takes none."""
    if scheme in ("http", "https"):
        return {"get_client": _client}
    user, _, password = map(unquote, credentials.login(name).partition(":"))
    if not user:
        return {}
    if scheme in ("s3", "s3a"):
        return {"key": user, "secret": password}
    if scheme in _LOGINS:
        return {"username": user, "password": password}
    raise UsageError(f"{name}: a URL of {scheme} takes no login: give credentials in the way of the store's own tools")


class _Revealing:
    """A session of aiohttp that asks for the URLs as they were given, with logins and signatures."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._session, name)
        if name not in ("get", "head", "post", "put", "delete", "request"):
            return attribute
        return lambda *given, **options: attribute(*given[:-1], _revealed(given[-1]), **options)


def _revealed(url: Any) -> Any:
    return type(url)(credentials.reveal(str(url))) if credentials.is_used() else url


async def _client(**options: Any) -> Any:
    """Make the session with which fsspec asks over HTTP."""
    import aiohttp

    return _Revealing(aiohttp.ClientSession(**options))
