"""Print: lines for people, with ``--log-json`` an object of JSON a line, with ``--quiet`` nothing but errors."""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from typing import Any

import click

from ..errors import StorageError, UsageError
from ..io.terminal import clean

__all__ = ["duration", "echo", "error", "event", "is_json", "is_quiet", "speak"]

_LONG = 14 * 86400.0  # seconds that are written as days
_mode = ""  # of this process: "quiet", "json" or for people
_begun = time.monotonic()


def speak(*, quiet: bool, log_json: bool) -> None:
    """Choose how this process speaks from here on; raise UsageError for both at once."""
    global _mode, _begun
    if quiet and log_json:
        raise UsageError("--quiet prints nothing and --log-json prints lines: give one of them")
    _mode, _begun = "quiet" if quiet else "json" if log_json else "", time.monotonic()


def is_quiet() -> bool:
    """Tell whether nothing but errors is to be printed."""
    return _mode == "quiet"


def is_json() -> bool:
    """Tell whether lines of JSON are to be printed."""
    return _mode == "json"


def echo(text: str = "", *, err: bool = False) -> None:
    """Print a line, cleaned; on the standard error it is what the command says beside its result."""
    if is_quiet():
        return
    if err and is_json():
        event("message", text=text)
    else:
        _print(text, err=err)


def error(text: str, code: int) -> None:
    """Print what ended the command."""
    if is_json():
        event("error", text=text, exit_code=code)
    else:
        _print(f"bertdata: {text}", err=True)


def event(name: str, step: str = "", counts: dict[str, Any] | None = None, **more: Any) -> None:
    """Print an object of JSON where that is wanted: ``event``, ``step``, ``counts`` and ``seconds`` since the command began."""
    if is_json():
        at = click.get_current_context(silent=True)
        step = step or (at.info_name or "" if at else "")
        record = {"event": name, "step": step, "counts": counts or {}, "seconds": round(time.monotonic() - _begun, 3), **more}
        _print(json.dumps(record, ensure_ascii=False), err=True)


def _print(text: str, *, err: bool) -> None:
    """Print a line; where nobody reads any more (``| head``, a closed terminal), print no more."""
    stream = sys.stderr if err else sys.stdout
    try:
        click.echo(clean(text), file=stream)
    except OSError as failed:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # or Python complains of what it still holds for the stream when it ends
        os.close(nowhere)
        if not err and failed.errno not in (errno.EPIPE, errno.EIO):
            raise StorageError(f"cannot write to the standard output: {failed.strerror}: what was asked for is done") from failed


def duration(seconds: float) -> str:
    """Return a time as hours, minutes and seconds, or in days.

    >>> duration(59.6), duration(360000), duration(34.6e6)
    ('0:01:00', '100:00:00', '400 days')
    """
    if seconds >= _LONG:
        return f"{seconds / 86400:,.0f} days"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
