"""Make several requests to a store at a time, because each spends most of its time waiting."""

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
    """Yield each item with the result of `call`, in order. Up to `_IN_FLIGHT` calls run ahead.

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
