"""Make requests to a store some at a time, as most of the time that each takes is waiting."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

__all__ = ["ahead"]

_IN_FLIGHT = 16
Item = TypeVar("Item")
Result = TypeVar("Result")


def ahead(call: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
    """Yield each item with what `call` returns for it, in order; `_IN_FLIGHT` calls are under way or done at a time.

    >>> list(ahead(abs, [3, -4]))
    [(3, 3), (-4, 4)]
    """
    left = iter(items)
    with ThreadPoolExecutor(_IN_FLIGHT) as pool:
        coming: deque[tuple[Item, Future[Result]]] = deque()
        try:
            while True:
                coming.extend((item, pool.submit(call, item)) for item in islice(left, _IN_FLIGHT - len(coming)))
                if not coming:
                    return
                item, result = coming.popleft()
                yield item, result.result()
        finally:
            pool.shutdown(cancel_futures=True)
