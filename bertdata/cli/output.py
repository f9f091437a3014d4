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
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import click

from ..errors import StorageError, UsageError
from ..storage.signals import print_stop
from ..storage.terminal import clean

__all__ = ["JsonHandler", "duration", "echo", "error", "event", "is_json", "is_quiet", "configure", "stop"]

_MIN_DAYS_S = 14 * 86400.0  # seconds from which a duration is printed in days
_mode = ""  # "quiet", "json" or "" for plain text
_begun = time.monotonic()
_run_id = ""  # the same in all JSON lines of a command
_command = ""  # name of the command, for lines from threads without a click context


def configure(*, quiet: bool, log_json: bool) -> None:
    """Set the output mode of this process. Raise UsageError if both modes are set."""
    global _mode, _begun, _run_id, _command
    if quiet and log_json:
        raise UsageError("--quiet and --log-json cannot be combined: use one of them")
    context = click.get_current_context(silent=True)
    _mode, _command = "quiet" if quiet else "json" if log_json else "", context.info_name or "" if context else ""
    _run_id, _begun = _run_id or os.urandom(8).hex(), time.monotonic()


def is_quiet() -> bool:
    """Return True if only errors are printed."""
    return _mode == "quiet"


def is_json() -> bool:
    """Return True if messages are printed as JSON lines."""
    return _mode == "json"


def echo(text: str = "", *, err: bool = False, level: str = "info") -> None:
    """Print a result on stdout, or with `err` a message of this level on stderr."""
    if is_quiet():
        return
    if err and is_json():
        event("message", level=level, text=text)
    else:
        _print(text, err=err)


def error(text: str, code: int) -> None:
    """Print the error that ended the command."""
    if is_json():
        event("error", level="error", text=text, exit_code=code)
    else:
        _print(f"bertdata: {text}", err=True)


def stop(text: str) -> None:
    """Print that a signal stops the command. Any thread can call this."""
    if is_json():
        event("stopped", level="warning", text=text)
    else:
        print_stop(text)


def event(name: str, step: str = "", counts: Mapping[str, object] | None = None, *, level: str = "info", **more: Any) -> None:
    """Print one line of JSON with ``--log-json``; otherwise do nothing.

    Args:
        name: Kind of line, such as "progress".
        step: Step of the command. Defaults to the command's name.
        counts: Numbers by name.
        level: "debug", "info", "warning", "error" or "critical".
        more: Other keys of this kind of line.
    """
    if not is_json():
        return
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    head = {"time": now, "level": level, "run": _run_id, "event": name, "step": step or _command}
    record = {**head, "counts": counts or {}, "seconds": round(time.monotonic() - _begun, 3), **more}
    _print(json.dumps(record, ensure_ascii=False), err=True)


class JsonHandler(logging.Handler):
    """Print log records of libraries as JSON lines, for ``--verbose --log-json``."""

    def emit(self, record: logging.LogRecord) -> None:
        more: dict[str, Any] = {"traceback": logging.Formatter().formatException(record.exc_info)} if record.exc_info else {}
        event("log", level=record.levelname.lower(), logger=record.name, text=record.getMessage(), **more)


def _print(text: str, *, err: bool) -> None:
    """Print a line. Stop printing once the reader is gone (``| head``, a closed terminal)."""
    stream = sys.stderr if err else sys.stdout
    try:
        click.echo(clean(text), file=stream)
    except OSError as failed:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # otherwise Python fails at exit when it flushes the stream
        os.close(nowhere)
        if not err and failed.errno not in (errno.EPIPE, errno.EIO):
            raise StorageError(f"cannot write to the standard output: {failed.strerror}: the work itself is done") from failed


def duration(seconds: float) -> str:
    """Format a duration as hours, minutes and seconds, or as days from 14 days on.

    >>> duration(59.6), duration(360000), duration(34.6e6)
    ('0:01:00', '100:00:00', '400 days')
    """
    if seconds >= _MIN_DAYS_S:
        return f"{seconds / 86400:,.0f} days"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
