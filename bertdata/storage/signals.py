"""Handle Ctrl-C, SIGTERM and SIGHUP: print a message at once, and end the command within two seconds.

Python runs signal handlers only in the main thread, between two bytecode instructions. During a training step on a CPU, that may
be minutes later. So the handler only raises KeyboardInterrupt. A thread, woken through a pipe (`signal.set_wakeup_fd`), prints
the message, and ends the process if cleanup takes too long. That is safe, because all files are written atomically.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NamedTuple

from .process import descendants, end
from .terminal import clean

__all__ = ["HANDLED_SIGNALS", "Answer", "print_stop", "signals", "stopped"]

HANDLED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CLEANUP_S = 1.0  # seconds for cleanup; the next run does the rest
SECOND_SIGNAL_S = 1.0  # seconds until another Ctrl-C counts as a second one; torchrun delivers the first one twice
_STOPPED = "stopped: the same command continues with the finished work, if there is any"


class Answer(NamedTuple):
    """The message for a signal. With `saves`, the command saves its work and then ends."""

    text: str
    saves: bool = False


def stopped(kept: str = "") -> Answer:
    """Return the message for a stopped command, with the finished work and how to continue."""
    return Answer(f"stopped, and finished work is kept: {kept}: continue with the same command" if kept else _STOPPED)


@contextlib.contextmanager
def signals(answer: Callable[[], Answer] = stopped, show: Callable[[str], None] | None = None) -> Iterator[list[int]]:
    """Handle signals. The first one ends the block with a KeyboardInterrupt whose first argument is the exit code.

    `answer` is called at the first signal, in another thread, and `show` prints its text, by default `print_stop`. Where the
    answer says that the command saves its work, the block continues: the yielded list then holds the exit code, and another
    Ctrl-C ends the process at once. A signal that is ignored when the block begins stays ignored: SIGHUP by ``nohup``, SIGINT in
    the background of a script.
    """
    handled = tuple(each for each in HANDLED_SIGNALS if signal.getsignal(each) != signal.SIG_IGN)
    handler = _Handler(answer, show or print_stop, handled)
    with handler.listening():
        try:
            yield handler.received
        except BaseException:  # Beam wraps exceptions that are raised inside a step
            if not handler.ends:
                raise
    if handler.ends:  # also if the interrupt was lost in code that cannot raise
        handler.shown.wait(CLEANUP_S)
        end(handler.children)
        raise KeyboardInterrupt(handler.received[0])


class _Handler:
    """The signals of one block: the exit code of the first, and whether the block ends by it or saves."""

    def __init__(self, answer: Callable[[], Answer], show: Callable[[str], None], handled: tuple[int, ...]) -> None:
        self.received: list[int] = []
        self.ends = False
        self.shown = threading.Event()
        self.children: list[int] = []  # those there were at the signal that ends the block
        self._answer, self._show, self._handled, self._decided = answer, show, handled, threading.Event()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        # Python runs a signal handler only between two bytecodes of the main thread. While that
        # thread is inside a long C call, such as a Parquet write, a Ctrl-C would show nothing for
        # seconds. So the signal also writes a byte to a pipe (`set_wakeup_fd`, which C code does at
        # once), and a thread that reads the pipe answers immediately.
        _watch_forks()
        end, start = os.pipe()
        os.set_blocking(start, False)
        threading.Thread(target=self._watch, args=(end,), name="signals", daemon=True).start()
        woken = signal.set_wakeup_fd(start, warn_on_full_buffer=False)
        _woken.append(start)
        before = {number: signal.signal(number, self._handle) for number in self._handled}
        try:
            yield
        finally:
            signal.set_wakeup_fd(woken)  # first: a block around this one that gets a signal now ends the process, at the latest
            for number, handler in before.items():
                signal.signal(number, signal.SIG_IGN if self.ends else handler)
            _woken.remove(start)
            os.close(start)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        # The main thread, maybe later: wait for the answer of `_watch`, then end the block or go
        # on.
        self._decided.wait(CLEANUP_S)
        if self.ends:
            for each in self._handled:
                signal.signal(each, signal.SIG_IGN)
            raise KeyboardInterrupt(self.received[0])

    def _watch(self, end: int) -> None:
        """Answer the first signal, and a second Ctrl-C while the block saves."""
        with open(end, "rb", buffering=0) as pipe:
            while byte := pipe.read(1):
                if (number := byte[0]) not in self._handled:
                    continue
                # Compute the answer before anything ends: it reports the finished work. Then, if the
                # block does not end within `CLEANUP_S`, the timer ends the process and all it
                # has started.
                if not self.received:
                    first, answer = time.monotonic(), self._answer()
                    self.received.append(128 + number)
                    self.ends = not answer.saves
                    self._decided.set()
                    if self.ends:
                        self.children = descendants()
                        _later(CLEANUP_S, self.received[0], self.children)
                    threading.Thread(target=self._say, args=(answer.text,), daemon=True).start()
                elif number == signal.SIGINT and not self.ends and time.monotonic() - first >= SECOND_SIGNAL_S:
                    children = descendants()
                    _later(CLEANUP_S / 3, 128 + number, children)
                    self._say("ended at once")
                    _end(128 + number, children)

    def _say(self, text: str) -> None:
        if text:
            self._show(text)
        self.shown.set()


_woken: list[int] = []  # the ends of pipes that signals of this process wake


def _leave_to_parent() -> None:
    """Leave the signals of a terminal to the parent in a forked child, whose own would wake the parent's thread."""
    if _woken:
        signal.set_wakeup_fd(-1)
        for number in HANDLED_SIGNALS:
            signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)
        while _woken:
            os.close(_woken.pop())


@functools.cache
def _watch_forks() -> None:
    os.register_at_fork(after_in_child=_leave_to_parent)


def _later(seconds: float, code: int, children: list[int]) -> None:
    timer = threading.Timer(seconds, _end, (code, children))
    timer.daemon = True
    timer.start()


def _end(code: int, children: list[int]) -> None:
    end(children)
    os._exit(code)


def print_stop(text: str) -> None:
    """Print why the command ends to the standard error, unless nothing reads it any more."""
    try:
        print(clean(f"\nbertdata: {text}\n"), end="", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # otherwise Python fails to flush the stream at exit
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stderr.fileno())
            os.close(nowhere)
