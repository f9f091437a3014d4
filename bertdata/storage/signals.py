"""Handle Ctrl-C, SIGTERM and SIGHUP: print one line, and end the command, or let it save its work first.

Python runs a signal handler in the main thread, after the C call that is running there. The handler raises KeyboardInterrupt.
Files are written atomically, and worker processes end with this one, so a command may end at any place.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NamedTuple

from .terminal import clean

HANDLED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SECOND_SIGNAL_S = 1.0  # until another Ctrl-C counts as a second one: torchrun delivers the first one twice


class Answer(NamedTuple):
    """The message for a signal. With `saves`, the command saves its work and then ends."""

    text: str
    saves: bool = False


def stopped(kept: str = "") -> Answer:
    """Return the message for a stopped command, with the finished work and how to continue."""
    work = f"stopped, and finished work is kept: {kept}" if kept else "stopped"
    return Answer(f"{work}: continue with the same command")


@contextlib.contextmanager
def signals(answer: Callable[[], Answer] = stopped, show: Callable[[str], None] | None = None) -> Iterator[list[int]]:
    """Handle signals. The first one ends the block with a KeyboardInterrupt whose first argument is the exit code.

    `show` prints the text of `answer`, by default `print_stop`. If the answer says that the command saves its work, the block
    continues: the yielded list then has the exit code, and another Ctrl-C ends the block. A signal that is ignored when the block
    begins stays ignored: SIGHUP by ``nohup``, SIGINT in the background of a script.
    """
    handled = [number for number in HANDLED_SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    received, ends, first, process = list[int](), list[int](), 0.0, os.getpid()

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal first
        if os.getpid() != process:  # a forked child: its parent answers, and ends it
            if number == signal.SIGTERM:
                os._exit(128 + number)
            return
        now = time.monotonic()
        saves = bool(received) and not ends and (number != signal.SIGINT or now - first < _SECOND_SIGNAL_S)
        if not received:
            first, (text, saves) = now, answer()
            with contextlib.suppress(RuntimeError):  # the signal came while the same stream was written
                (show or print_stop)(text)
            received.append(128 + number)
        if not saves:
            ends.append(128 + number)
            raise KeyboardInterrupt(ends[0])

    before = {number: signal.signal(number, handle) for number in handled}
    try:
        yield received
    except BaseException:  # Beam wraps exceptions that are raised inside a step
        if not ends:
            raise
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if ends else handler)
    if ends:  # also if the interrupt was lost in code that cannot raise
        raise KeyboardInterrupt(ends[0])


def print_stop(text: str) -> None:
    """Print why the command ends to the standard error, unless nothing reads it any more."""
    if not text:
        return
    try:
        print(clean(f"\nbertdata: {text}"), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # Otherwise Python fails to flush the stream at exit.
        with contextlib.suppress(OSError, ValueError, AttributeError), open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stderr.fileno())
