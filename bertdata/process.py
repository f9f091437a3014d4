"""This process: the cores that it may use, and imports that last as long as it does."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator

__all__ = ["cores", "lasting_imports"]


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def lasting_imports() -> Iterator[None]:
    """Import something large: nothing looks for garbage among its objects, neither meanwhile nor later.

    Of Beam these are a million, and looking through them takes .3 s while it is imported and .5 s when the process ends.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if collecting:
            gc.enable()
