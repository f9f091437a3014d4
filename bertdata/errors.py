"""Every error bertdata raises on purpose: what happened, where, and what to do about it.

    BertDataError                exit code 1   something inside bertdata is wrong
    ├── UsageError                         2   an option, a file name or a configuration cannot be right
    │   └── NoInputError                   2   nothing was found to read
    ├── EmptyResultError                   3   the run would have written nothing
    │   └── TooManyRejectsError            3   more records were refused than the run allows
    ├── StorageError                       4   no space, no permission, a file system that fails, a limit of the system
    ├── TransferError                      4   a server that cannot be reached, refuses or does not send all
    ├── OutputExistsError                  5   the output directory holds something already
    │   ├── OutputLockedError              5   another run is writing there
    │   └── ResumeError                    5   the unfinished run there was of another input, option or seed
    └── VerificationError                  6   files differ from their manifest

The library raises; the command line prints the message and leaves with the exit code.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence

from .credentials import hide

_MAX_SUGGESTIONS, _AS_NEAR = 3, 0.1  # names in a suggestion, and how much less similar than the best one they may be


class BertDataError(Exception):
    """Base class of errors, whose message has no secrets. It describes the problem, its place and the solution.

    Attributes:
        field: The option or argument that is wrong, or an empty string.
        value: The value that it had, if that is known.
    """

    exit_code = 1

    def __init__(self, *message: object, field: str = "", value: object = None) -> None:
        super().__init__(*(hide(each) if isinstance(each, str) else each for each in message))
        self.field = field
        self.value = hide(value) if isinstance(value, str) else value


class UsageError(BertDataError):
    """An option, file name or configuration is invalid."""

    exit_code = 2


class NoInputError(UsageError):
    """There are no input files."""


class EmptyResultError(BertDataError):
    """The dataset would have no rows."""

    exit_code = 3


class TooManyRejectsError(EmptyResultError):
    """More records were rejected than the run allows."""


class StorageError(BertDataError):
    """A file system is full, denies access or fails, or a system limit is reached."""

    exit_code = 4


class TransferError(BertDataError):
    """A server cannot be reached, refuses a request or sends unexpected data."""

    exit_code = 4


class OutputExistsError(BertDataError):
    """The output directory is not empty."""

    exit_code = 5


class OutputLockedError(OutputExistsError):
    """Another run is writing the output directory."""


class ResumeError(OutputExistsError):
    """An unfinished run in the output directory has another input, option or seed."""


class VerificationError(BertDataError):
    """Files differ from their manifest."""

    exit_code = 6


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Return the known words that begin with `word`, or those that are most similar to it. Case is ignored.

    >>> nearest("--varient", ["--variant", "--overwrite", "--quiet"]), nearest("--max", ["--max-words", "--mix", "--max-bytes"])
    (['--variant'], ['--max-words', '--max-bytes'])
    """
    from difflib import SequenceMatcher, get_close_matches

    wanted = word.lower().lstrip("-")
    names = {name.lower().lstrip("-"): name for name in known}
    begun = [name for name in names if len(wanted) > 1 and name.startswith(wanted)]
    shares = {name: SequenceMatcher(None, wanted, name).ratio() for name in get_close_matches(wanted, names, _MAX_SUGGESTIONS)}
    near = [name for name, share in shares.items() if share >= max(shares.values()) - _AS_NEAR]
    return [names[name] for name in (begun or near)[:_MAX_SUGGESTIONS]]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of an error about an unknown word: the similar known words, or "" if there are none.

    >>> did_you_mean("build", ["build-corpus", "train-vocab"]), did_you_mean("x", ["y"])
    (": did you mean 'build-corpus'?", '')
    """
    similar = nearest(word, known)
    return f": did you mean {' or '.join(map(repr, similar))}?" if similar else ""


def few(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """Join the first `most` names for a message, and add the number of others.

    >>> few(["a", "b", "c"], 3), few(["a", "b", "c", "d", "e"], 3)
    ('a, b, c', 'a, b, c and 2 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(names[:most]) + more


SYSTEM_LIMITS = {  # by number of the error: advice
    errno.EAGAIN: "Raise the limit of processes (ulimit -u, or pids.max of the container), or use fewer workers",
    errno.EMFILE: "Raise the limit of open files (ulimit -n 1024)",
    errno.ENFILE: "Too many files are open on this machine; end other programs",
    errno.ENOMEM: "Free some memory, or use fewer workers",
}


def system_limit(error: BaseException) -> str:
    """Return how to raise the limit that stopped the start of a thread or an import, or "" for any other error.

    Python raises a RuntimeError for a thread, and an ImportError for a library that the system's loader could not open.

    >>> system_limit(ImportError("libarrow.so: cannot open shared object file: Too many open files"))
    'Raise the limit of open files (ulimit -n 1024)'
    >>> system_limit(ImportError("No module named 'jieba'"))
    ''
    """
    if not isinstance(error, RuntimeError | ImportError):
        return ""
    message = str(error).replace("can't start new thread", os.strerror(errno.EAGAIN))
    return next((advice for number, advice in SYSTEM_LIMITS.items() if os.strerror(number) in message), "")
