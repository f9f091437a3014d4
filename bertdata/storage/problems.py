"""Convert errors of the operating system or of a store to StorageError, with advice on how to fix them."""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterator

from ..credentials import cause
from ..errors import SYSTEM_LIMITS, BertDataError, StorageError, system_limit

# Packages whose errors mean that a store or the network failed
_CLIENTS = re.compile(r"(botocore|aiobotocore|aiohttp|gcsfs|google|azure|huggingface_hub|hf_xet|requests|httpx2?|fsspec)(\.|$)")


@contextlib.contextmanager
def storage_errors(doing: str = "") -> Iterator[None]:
    """Convert errors of the operating system or of a store to StorageError, with advice on how to fix them.

    `doing` describes what failed. By default, the message uses the file name of the error.
    """
    try:
        yield
    except BertDataError:
        raise
    except Exception as error:
        if (found := storage_error(error, doing)) is None:
            raise
        raise found from cause(error)


def storage_error(error: BaseException, doing: str = "") -> StorageError | None:
    """Convert an error to StorageError, or return None if it does not come from the system or a store."""
    message = " ".join(str(error).split()).rstrip(".")
    if _CLIENTS.match(type(error).__module__):  # some are OSErrors, too
        advice = "Check the address, the network and the credentials, then run the same command again"
        return StorageError(f"{doing or 'cannot reach the store'}: {message}. {advice}")
    if advice := system_limit(error):
        return StorageError(
            f"{doing or 'a limit of the system is reached'}: {message}. {advice}, then run the same command again"
        )
    if not isinstance(error, OSError):
        return None
    number = error.errno or next((n for kind, n in _ERRNO.items() if isinstance(error, kind)), 0)
    advice = _ADVICE.get(number, "Look at the file system, then run the same command again")
    if "usable temporary directory" in message:  # message of Python's tempfile, without a file name
        advice = "Set TMPDIR to a directory with space, and look at ulimit -f; then run the same command again"
    where = str(error.filename or "")
    nameless = "a limit of the system is reached" if number in SYSTEM_LIMITS else "cannot use the file system"
    subject = f"{doing}: {where}" if doing and where not in doing else doing or (f"cannot use {where}" if where else nameless)
    return StorageError(f"{subject}: {error.strerror or message}. {advice}")


# Errors of stores have no errno.
_ERRNO = {FileNotFoundError: errno.ENOENT, PermissionError: errno.EACCES, BlockingIOError: errno.EAGAIN}
_ADVICE = SYSTEM_LIMITS | {
    errno.ENOENT: "Check the name",
    errno.ENOSPC: "Free some space, then run the same command again",
    errno.EDQUOT: "The disk quota is used up; free some space, then run the same command again",
    errno.EFBIG: "The file size limit is reached (ulimit -f); raise it, then run the same command again",
    errno.EACCES: "Check the permissions, or choose another directory",
    errno.EPERM: "Check the permissions, or choose another directory",
    errno.EROFS: "The file system is read-only; choose another directory",
    errno.ENOTDIR: "A part of the path is a file, not a directory; choose another path",
    errno.EEXIST: "A file is in the place of a directory; remove it or choose another path",
    errno.EISDIR: "A directory is in the place of a file; remove it or choose another path",
    errno.ENAMETOOLONG: "Choose a shorter name",
}
