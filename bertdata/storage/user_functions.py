"""Load user functions named ``module:function``. Every worker imports them, and a run identifies them by their source.

>>> name_of("textwrap:dedent", "filters")
'textwrap:dedent'
>>> load("textwrap:dedent", "filters")("  a")
'a'
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import BertDataError, ResumeError, UsageError


def name_of(function: str | Callable[..., Any], field: str) -> str:
    """Return the name by which a worker can import a function. `field` is the option for error messages.

    Raise UsageError for a lambda, a nested function, or a function of a script or notebook, because other processes cannot
    import them.
    """
    if isinstance(function, str):
        return function
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    if module in ("", "__main__") or not name.isidentifier():
        raise UsageError(
            f"`{field}` {name or function!r}: workers cannot import it. Move it to the top level of a module",
            field=field,
            value=name or function,
        )
    return f"{module}:{name}"


@cache
def load(name: str, field: str, sha256: str = "") -> Callable[..., Any]:
    """Import a function, also from a module in the current directory.

    Raise UsageError if it cannot be imported, and ResumeError if the digest of its module's source differs from `sha256`.
    """

    def problem(what: str, kind: type[BertDataError] = UsageError) -> BertDataError:
        return kind(f"`{field}` {name}: {what}", field=field, value=name)

    module, _, function = name.partition(":")
    if not (module and function):
        raise problem("write it as module:function")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())
    try:
        loaded = getattr(importlib.import_module(module), function)
    except Exception as error:  # includes errors of the module itself
        raise problem(f"cannot import it ({error}). Install it, or run where it is") from error
    if not callable(loaded):
        raise problem(f"{function} is not a function")
    if sha256 and source_digest(name) != sha256:
        raise problem("its source has changed since this run began: start again with `overwrite`", ResumeError)
    return loaded  # type: ignore[no-any-return]


def source_digest(name: str) -> str:
    """Return the SHA-256 of the source of a function's module, or of an empty string if it has no source."""
    module = sys.modules.get(name.partition(":")[0])
    path = Path(getattr(module, "__file__", None) or os.devnull)
    return hashlib.sha256(path.read_bytes()).hexdigest()
