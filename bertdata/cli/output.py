"""Print messages: as text, as lines of JSON with ``--log-json``, or only errors with ``--quiet``.

{"time": "2026-11-24T10:25:01.123Z", "level": "info", "run": "9f2c61d07b3e85aa", "event": "done", "step": "build-corpus", …}
"""

from __future__ import annotations

import errno
import json
import logging
import os
import sys
import time
from datetime import datetime, timezone
from typing import Any

import click

from ..errors import StorageError, UsageError
from ..io.signals import print_stop
from ..io.terminal import clean

__all__ = ["JsonHandler", "duration", "echo", "error", "event", "is_json", "is_quiet", "speak", "stop"]

_LONG = 14 * 86400.0  # seconds that are written as days
_mode = ""  # of this process: "quiet", "json" or for people
_begun = time.monotonic()
_run_id = ""  # the same in all lines of JSON of one command
_command = ""  # the name of the command, for lines from other threads, which have no context of click's


def speak(*, quiet: bool, log_json: bool) -> None:
    """Choose how this process speaks from here on; raise UsageError for both at once."""
    global _mode, _begun, _run_id, _command
    if quiet and log_json:
        raise UsageError("--quiet prints nothing and --log-json prints lines: give one of them")
    context = click.get_current_context(silent=True)
    _mode, _command = "quiet" if quiet else "json" if log_json else "", context.info_name or "" if context else ""
    _run_id, _begun = _run_id or os.urandom(8).hex(), time.monotonic()


def is_quiet() -> bool:
    """Return True if nothing but errors is to be printed."""
    return _mode == "quiet"


def is_json() -> bool:
    """Return True if lines of JSON are to be printed."""
    return _mode == "json"


def echo(text: str = "", *, err: bool = False, level: str = "info") -> None:
    """Print a line: a result on the standard output, or with `err` a message of this level on the standard error."""
    if is_quiet():
        return
    if err and is_json():
        event("message", level=level, text=text)
    else:
        _print(text, err=err)


def error(text: str, code: int) -> None:
    """Print what ended the command."""
    if is_json():
        event("error", level="error", text=text, exit_code=code)
    else:
        _print(f"bertdata: {text}", err=True)


def stop(text: str) -> None:
    """Print that a signal stops the command, from whatever thread."""
    if is_json():
        event("stopped", level="warning", text=text)
    else:
        print_stop(text)


def event(name: str, step: str = "", counts: dict[str, Any] | None = None, *, level: str = "info", **more: Any) -> None:
    """Print one line of JSON with ``--log-json``; otherwise do nothing.

    Args:
        name: the kind of line, such as "progress".
        step: the step that it is about; the command if not given.
        counts: numbers by name.
        level: "debug", "info", "warning", "error" or "critical".
        more: other keys of this kind of line.
    """
    if not is_json():
        return
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    head = {"time": now, "level": level, "run": _run_id, "event": name, "step": step or _command}
    record = {**head, "counts": counts or {}, "seconds": round(time.monotonic() - _begun, 3), **more}
    _print(json.dumps(record, ensure_ascii=False), err=True)


class JsonHandler(logging.Handler):
    """Print the log records of libraries as lines of JSON, for ``--verbose --log-json``."""

    def emit(self, record: logging.LogRecord) -> None:
        more: dict[str, Any] = {"traceback": logging.Formatter().formatException(record.exc_info)} if record.exc_info else {}
        event("log", level=record.levelname.lower(), logger=record.name, text=record.getMessage(), **more)


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
