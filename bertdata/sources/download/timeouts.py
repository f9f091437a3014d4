"""Time limits for unreachable hosts, and for responses that arrive slowly without an end."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

from ...errors import TransferError

__all__ = ["check_reachable", "with_timeout"]

CONNECT_TIMEOUT_S = 8.0  # seconds to resolve a host and connect to it, for all its addresses together
_ADDRESS_TIMEOUT_S = 4.0  # seconds for one address
_PORTS = {"http": 80, "https": 443}

T = TypeVar("T")


class _Late(Exception):
    """A call that took too long."""


def with_timeout(seconds: float, what: str, call: Callable[[], T]) -> T:
    """Return the result of `call`; raise TransferError, starting with `what`, if it takes longer than `seconds`."""
    try:
        return _timed(seconds, call)
    except _Late:
        raise TransferError(
            f"{what} did not arrive in {seconds:.0f} seconds: choose another server, or try again later"
        ) from None


def check_reachable(url: str) -> None:
    """Raise TransferError if a URL's host, or the proxy that the environment configures for it, cannot be reached.

    Skip an invalid URL; the request itself reports it.
    """
    import requests

    proxy = requests.utils.select_proxy(url, requests.utils.get_environ_proxies(url)) or ""
    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}" if proxy else url)
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return
    if not host or not port:
        return
    via = f", the proxy for {urlsplit(url).hostname}," if proxy else ""
    advice = "check the network and the address, then run the same command again"
    try:
        _timed(CONNECT_TIMEOUT_S, lambda: socket.create_connection((host, port), _ADDRESS_TIMEOUT_S).close())
    except UnicodeError:
        return
    except _Late:
        raise TransferError(f"no connection to {host}{via} in {CONNECT_TIMEOUT_S:.0f} seconds: {advice}") from None
    except OSError as error:
        raise TransferError(f"no connection to {host}{via} ({error.strerror or error}): {advice}") from error


def _timed(seconds: float, call: Callable[[], T]) -> T:
    """Call a function in a thread; if it takes too long, abandon the thread, which ends with the process."""
    done: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            done.put((call(), None))
        except BaseException as error:
            done.put((None, error))

    threading.Thread(target=work, daemon=True).start()
    try:
        result, error = done.get(timeout=seconds)
    except queue.Empty:
        raise _Late from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]
