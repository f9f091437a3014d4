"""What a Dask cluster tells of its workers while a run is there: each that is lost in a line, and none that was told to leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from bertdata.pipelines.engines import dask_cluster


class Client:
    """Dask's client, as far as it is used; `send` plays the scheduler."""

    def __init__(self) -> None:
        self.handlers: dict[str, Callable[[tuple[float, Any]], None]] = {}

    def subscribe_topic(self, topic: str, handler: Callable[[tuple[float, Any]], None]) -> None:
        self.handlers[topic] = handler

    def send(self, action: str, **more: Any) -> None:
        self.handlers["all"]((0.0, {"action": action, **more}))
        self.handlers["all"]((0.0, "what others have to say"))


def test_each_worker_that_is_lost_is_told() -> None:
    client, told = Client(), list[str]()
    with pytest.raises(ZeroDivisionError), dask_cluster.losses_told(client, told.append):
        client.send("add-worker", worker="tcp://127.0.0.1:1")
        client.send("remove-worker", worker="tcp://127.0.0.1:1", expected=False)
        client.send("remove-worker", worker="tcp://127.0.0.1:2", expected=True)
        client.send("remove-worker", worker="tcp://127.0.0.1:3", expected=False)
        raise ZeroDivisionError
    client.send("remove-worker", worker="tcp://127.0.0.1:4", expected=False)
    assert told == [f"worker tcp://127.0.0.1:{number} was lost; its tasks are done again" for number in (1, 3)]
