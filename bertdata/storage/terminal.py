"""Clean terminal output: mask secrets, and replace control characters from titles, names and servers."""

from __future__ import annotations

import re
import sys
from typing import Any, TextIO, cast

from ..credentials import hide

# C0 and C1 controls except tab and line feed, bidirectional controls, and surrogates, which cannot be encoded
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    r"""Replace characters that steer a terminal, and mask secrets.

    >>> clean("a\x1b[31mb\u202ec")
    'a�[31mb�c'
    """
    return _STEERING.sub("\ufffd", hide(text))


class _Guarded:
    """A stream that cleans its output."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(clean(text))

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def guard() -> None:
    """Clean everything that this process writes to stdout and stderr: messages, logs, warnings and tracebacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Guarded):
            setattr(sys, name, _Guarded(stream))


def unguarded(stream: TextIO) -> TextIO:
    """Return the original stream, for code that draws on a terminal and cleans its text itself."""
    return cast(_Guarded, stream).stream if isinstance(stream, _Guarded) else stream
