"""How long a call takes, as the machine's own work allows it to be measured."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

__all__ = ["cpu_seconds"]


def cpu_seconds(call: Callable[[], object], enough: float = 0.0, tries: int = 3) -> float:
    """Return the least CPU seconds of some calls, no more of them once one takes less than `enough`.

    On a busy machine any single call may take long: caches and cores are shared.  Objects that other tests have left
    are not looked through meanwhile.
    """
    least = float("inf")
    for _ in range(tries):
        gc.disable()
        try:
            start = time.process_time()
            call()
            least = min(least, time.process_time() - start)
        finally:
            gc.enable()
        if least < enough:
            break
    return least
