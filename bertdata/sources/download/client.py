"""Send HTTP requests, and retry those that may succeed later.

200, 206, 416                      returned to the caller (416: the file does not have the requested range)
408, 425, 429, 500, 502, 503, 504  retried, after the time in `Retry-After` if the response has one
no or incomplete response          retried, with pauses of 1, 2, 4 … 60 s
404, 410                           `Missing`
any other status                   a TransferError with the server's answer

`Client.retry` gives up after eight failures in a row without a new byte.
"""

from __future__ import annotations

import contextlib
import email.utils
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from ... import __version__
from ...credentials import cause
from ...errors import BertDataError, TransferError, UsageError

if TYPE_CHECKING:
    import requests

__all__ = ["RetryableError", "Client", "Missing", "Stopped", "user_agent", "with_timeout"]

MAX_TRIES = 8  # failures in a row without progress before giving up
FIRST_PAUSE_S = 1.0  # seconds before the second attempt, doubled for each further one
MAX_PAUSE_S = 60.0
MAX_WAIT_S = 600.0  # if the server asks for a longer wait, stop and report when to try again
TIMEOUTS_S = (30.0, 60.0)  # seconds to connect, and to wait for a byte
MAX_LIST_BYTES = 4 << 20  # maximum bytes of a list or table; the largest, a wiki's dumpstatus.json, is under 1 MB
LIST_TIMEOUT_S = 120.0  # timeout in seconds for such a list
_BLOCK_BYTES = 1 << 16
_RETRIED_STATUSES = frozenset((408, 425, 429, 500, 502, 503, 504))

T = TypeVar("T")


class RetryableError(Exception):
    """A failure that a retry may fix.

    Attributes:
        wait: Seconds to wait before the next attempt, as the server demands, or 0.
        final_type: Type of the exception to raise when all attempts fail.
    """

    def __init__(self, reason: str, wait: float = 0.0, final_type: type[BertDataError] = TransferError) -> None:
        super().__init__(reason)
        self.wait, self.final_type = wait, final_type


class NoConnectionError(RetryableError):
    """A server that cannot be connected to."""


class Missing(TransferError):
    """An address that does not exist."""


class Stopped(TransferError):
    """A transfer that ended because the run is stopping."""


def user_agent(contact: str = "") -> str:
    """Return the program's name and contact, as the Wikimedia Foundation's User-Agent policy requires.

    >>> user_agent("ada@example.org").partition(" ")[2]
    '(corpus builder; ada@example.org)'
    """
    return f"bertdata/{__version__} (corpus builder{'; ' if contact else ''}{contact})"


class Client:
    """An HTTP client with fixed headers.

    `note` receives a message for each wait. Set `stopped` to end all transfers and waits with `Stopped`.
    """

    def __init__(self, headers: Mapping[str, str], note: Callable[[str], None] = lambda text: None) -> None:
        self._headers, self._note = headers, note
        self._list_budget_s = 3 * LIST_TIMEOUT_S  # seconds left for reading lists, over all calls of `read`
        self._has_answered = False  # any server
        self.stopped = threading.Event()

    @contextlib.contextmanager
    def open(self, url: str, **headers: str) -> Iterator[requests.Response]:
        """Yield a response, whose body the caller reads. `headers` have ``_`` for ``-``, such as ``If_Range``.

        Raises:
            RetryableError: A retry may succeed. The caller's block raises it too, if the body ends early.
            Missing: The address does not exist.
            TransferError: The server refuses the request.
            UsageError: The address is not valid.
        """
        import requests

        sent = {**self._headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        redirects: list[str] = []

        def record_redirect(answer: requests.Response, **_: object) -> None:
            stack.callback(answer.close)
            if answer.is_redirect:
                redirects.append(answer.headers["Location"])

        with contextlib.ExitStack() as stack:
            try:
                session = stack.enter_context(requests.Session())
                hooks = {"response": record_redirect}
                response = session.get(url, headers=sent, stream=True, timeout=TIMEOUTS_S, hooks=hooks)
                stack.enter_context(response)
            except requests.TooManyRedirects as error:
                raise TransferError(f"{url} redirects in a circle: choose another server") from cause(error)
            except ValueError as error:  # from requests, urllib3, or the codec of host names
                if redirects:
                    target = ascii(redirects[-1])[:200]
                    raise TransferError(f"{url} redirects to an invalid address ({target}): choose another server") from None
                raise UsageError(f"{url} cannot be fetched ({error}): use an address that begins with https://") from cause(error)
            except requests.RequestException as error:
                raise _failure(error) from cause(error)
            _check(response, url)
            try:
                yield response
            except requests.RequestException as error:
                raise _failure(error) from cause(error)

    def retry(self, url: str, attempt: Callable[[], T], received: Callable[[], int] = lambda: 0) -> T:
        """Call `attempt` until it succeeds. Give up after MAX_TRIES failures in a row without a new byte.

        `received` returns the number of bytes received so far.
        """
        best, failures = received(), 0
        while True:
            try:
                return attempt()
            except RetryableError as error:
                if received() > best:
                    best, failures = received(), 0
                failures += 1
                if failures >= MAX_TRIES:
                    advice = "run the same command again later: it continues where it stopped"
                    raise error.final_type(f"{url}: {error}, {failures} times in a row: {advice}") from error
                pause = max(error.wait, min(MAX_PAUSE_S, FIRST_PAUSE_S * 2 ** (failures - 1)))
                if pause > MAX_WAIT_S:
                    raise TransferError(
                        f"{url}: {error}, and demands a wait of {pause:.0f} seconds: run the same command again after that"
                    ) from error
                self._note(f"{url}: {error}: trying again in {pause:.0f} s")
                self.pause(pause)

    def pause(self, seconds: float = 0.0) -> None:
        """Wait. Raise Stopped as soon as the run ends."""
        if self.stopped.wait(seconds):
            raise Stopped("the run has been stopped: run the same command again, it continues where it stopped")

    def read(self, url: str) -> bytes:
        """Return a complete list or table. Raise TransferError if it is too long or takes too long."""

        def attempt() -> bytes:
            begun = time.monotonic()
            try:
                data = with_timeout(min(LIST_TIMEOUT_S, max(1.0, self._list_budget_s)), url, lambda: self._read(url))
                self._has_answered = True
                return data
            except NoConnectionError as error:
                if self._has_answered:
                    raise
                advice = "check the network and the address, then run the same command again"
                raise TransferError(f"{error}: {advice}") from error
            finally:
                self._list_budget_s -= time.monotonic() - begun

        return self.retry(url, attempt)

    def _read(self, url: str) -> bytes:
        data = bytearray()
        with self.open(url) as response:
            for block in response.iter_content(_BLOCK_BYTES):
                self.pause()
                data += block
                if len(data) > MAX_LIST_BYTES:
                    raise TransferError(f"{url} has over {MAX_LIST_BYTES} bytes, more than a list can have: check the address")
        return bytes(data)


def with_timeout(seconds: float, what: str, call: Callable[[], T]) -> T:
    """Return the result of `call`, made in a thread. Raise TransferError, starting with `what`, after too many seconds.

    The thread of a late call ends with the process.
    """
    done: Future[T] = Future()

    def work() -> None:
        try:
            done.set_result(call())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        return done.result(seconds)
    except FutureTimeoutError:
        if done.done():  # an error of the call
            raise
        advice = "choose another server, or try again later"
        raise TransferError(f"{what} did not arrive in {seconds:.0f} seconds: {advice}") from None


def _failure(error: requests.RequestException) -> RetryableError:
    """Return the error for a missing or incomplete response, with a short reason."""
    import requests

    within = error.args[0] if error.args else error
    while isinstance(inner := getattr(within, "reason", None), Exception):
        within = inner
    host = urlsplit(str(error.request.url or "")).hostname if error.request is not None else ""
    if "NewConnectionError" in [kind.__name__ for kind in type(within).__mro__] or isinstance(error, requests.ConnectTimeout):
        return NoConnectionError(f"no connection to {host or 'the server'}")
    if isinstance(error, requests.ReadTimeout):
        return RetryableError(f"no byte of {host or 'the server'} in {TIMEOUTS_S[1]:.0f} seconds")
    return RetryableError(f"{type(error).__name__}: {' '.join(str(within).split())[:300]}")


def _check(response: requests.Response, url: str) -> None:
    """Raise the exception for an error status code."""
    status = response.status_code
    if status in (200, 206, 416):
        return
    message = f"the server answers {status} {response.reason}"
    if status in _RETRIED_STATUSES:
        raise RetryableError(message, _retry_after(response.headers.get("Retry-After", "")))
    if status in (404, 410):
        raise Missing(f"{url}: {message}: the file does not exist: check the address")
    if status in (401, 403):
        raise TransferError(f"{url}: {message}: access denied: set `contact`, or for the Hub a token (HF_TOKEN)")
    raise TransferError(f"{url}: {message}: check the address, or try again later")


def _retry_after(value: str) -> float:
    """Return the wait in seconds of a Retry-After header, which is a number or a date.

    >>> _retry_after("7"), _retry_after("Thu, 01 Jan 1970 00:00:00 GMT"), _retry_after("soon")
    (7.0, 0.0, 0.0)
    """
    if re.fullmatch(r"\s*[0-9]{1,18}\s*", value):
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError, IndexError):
        return 0.0
