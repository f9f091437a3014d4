"""Every error bertdata raises on purpose: what happened, where, and what to do about it.

    BertDataError                exit code 1   something inside bertdata is wrong
    ├── UsageError                         2   an option, a file name or a configuration cannot be right
    │   └── NoInputError                   2   nothing was found to read
    ├── EmptyResultError                   3   the run would have written nothing
    │   └── TooManyRejectsError            3   more records were refused than the run allows
    ├── StorageError                       4   no space, no permission, a file system that fails
    ├── TransferError                      4   a server that cannot be reached, refuses or does not send all
    ├── OutputExistsError                  5   the output directory holds something already
    │   ├── OutputLockedError              5   another run is writing there
    │   └── ResumeError                    5   the unfinished run there was of another input, option or seed
    └── VerificationError                  6   what is on disk is not what the manifest says

The library raises; the command line prints the message and leaves with the exit code.
"""

from __future__ import annotations

from collections.abc import Iterable

from .credentials import hide

__all__ = [
    "BertDataError",
    "EmptyResultError",
    "NoInputError",
    "OutputExistsError",
    "OutputLockedError",
    "ResumeError",
    "StorageError",
    "TooManyRejectsError",
    "TransferError",
    "UsageError",
    "VerificationError",
    "did_you_mean",
]


class BertDataError(Exception):
    """Say what happened, where, and what to do, and no secret; carry the exit code of the command line."""

    exit_code = 1

    def __init__(self, *said: object) -> None:
        super().__init__(*(hide(each) if isinstance(each, str) else each for each in said))


class UsageError(BertDataError):
    """Refuse an option, file name or configuration that cannot be right."""

    exit_code = 2


class NoInputError(UsageError):
    """Refuse to run on nothing."""


class EmptyResultError(BertDataError):
    """Refuse to write a data set without a row."""

    exit_code = 3


class TooManyRejectsError(EmptyResultError):
    """Refuse to finish when more records were rejected than the run allows."""


class StorageError(BertDataError):
    """Report a file system that has no space, gives no permission or fails."""

    exit_code = 4


class TransferError(BertDataError):
    """Report a server that cannot be reached, refuses or does not send what was asked for."""

    exit_code = 4


class OutputExistsError(BertDataError):
    """Refuse to write over a directory that holds something."""

    exit_code = 5


class OutputLockedError(OutputExistsError):
    """Refuse a directory that another run is writing."""


class ResumeError(OutputExistsError):
    """Refuse to continue an unfinished run of another input, option or seed."""


class VerificationError(BertDataError):
    """Report files that are not what their manifest says."""

    exit_code = 6


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of an error that refuses a word: with those that are like it, in whatever case, or with nothing.

    >>> did_you_mean("build", ["build-corpus", "train-vocab"]), did_you_mean("x", ["y"])
    (": did you mean 'build-corpus'?", '')
    """
    from difflib import get_close_matches

    names = {name.lower(): name for name in known}
    begun = [name for name in names if len(word) > 1 and name.startswith(word.lower())]
    similar = [names[name] for name in begun or get_close_matches(word.lower(), names, 3)]
    return f": did you mean {' or '.join(map(repr, similar[:3]))}?" if similar else ""
