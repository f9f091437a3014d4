"""What a Dask cluster tells of its workers while a run is there, how it is left, and which runner or option was meant."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest
from bertdata.pipelines.engines import dask_cluster, engine

from bertdata.errors import TransferError, UsageError


class Client:
    """Dask's client, as far as it is used; `send` plays the scheduler."""

    def __init__(self) -> None:
        self.handlers: dict[str, Callable[[tuple[float, Any]], None]] = {}
        self.left: list[str] = []

    def subscribe_topic(self, topic: str, handler: Callable[[tuple[float, Any]], None]) -> None:
        self.handlers[topic] = handler

    def unsubscribe_topic(self, topic: str) -> None:
        self.left.append(topic)

    def close(self, timeout: float) -> None:
        self.left.append("closed")
        raise TimeoutError

    def send(self, action: str, **more: Any) -> None:
        self.handlers["all"]((0.0, {"action": action, **more}))
        self.handlers["all"]((0.0, "what others have to say"))


def test_each_worker_that_is_lost_is_told() -> None:
    client, told = Client(), list[str]()
    with pytest.raises(ZeroDivisionError), dask_cluster.reporting_losses(client, told.append):
        client.send("add-worker", worker="tcp://127.0.0.1:1")
        client.send("remove-worker", worker="tcp://127.0.0.1:1", expected=False)
        client.send("remove-worker", worker="tcp://127.0.0.1:2", expected=True)
        client.send("remove-worker", worker="tcp://127.0.0.1:3", expected=False)
        raise ZeroDivisionError
    client.send("remove-worker", worker="tcp://127.0.0.1:4", expected=False)
    assert told == [f"worker tcp://127.0.0.1:{number} was lost; its tasks are done again" for number in (1, 3)]
    assert client.left == ["all", "closed"], "a scheduler complains of a client that listens and leaves"


def test_a_refused_port_and_a_host_that_is_none_are_told_at_once() -> None:
    """Dask alone tries for half a minute."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        refused = f"tcp://127.0.0.1:{unused.getsockname()[1]}"  # nobody listens there
        for address, why, *more in (
            (refused, "Connection refused"),
            ("tcp://host.invalid:8786", ""),
            (refused, "Connection refused", "--dask_connection_timeout=1"),  # which is waited for
        ):
            with pytest.raises(TransferError) as told:
                engine.check_reachable(["--runner=DaskRunner", f"--dask_client_address={address}", *more])
            assert f"DaskRunner at {address} cannot be reached: {why}" in str(told.value)
            assert "Start the scheduler, or correct --dask_client_address after --" in str(told.value)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--runner=DaskRuner"], "--runner=DaskRuner is not a runner: did you mean 'DaskRunner'?"),
        (["--runner=sparkruner"], "is not a runner: did you mean 'SparkRunner' or 'PySparkRunner'?"),
        (["--runner=Xyz"], "use one of DaskRunner, DataflowRunner, FlinkRunner, PortableRunner, PySparkRunner, SparkRunner, or"),
        (["--runer=DaskRunner"], "Beam knows no such option: did you mean '--runner'?"),
        (["--runner=InteractiveRunner"], "--runner=InteractiveRunner is not supported: "),
        (["--runner=interactive"], "Omit it, or use --runner=FnApiRunner"),
        (["--runner=FnApiRunner", "--qqqqqq=1"], "--qqqqqq: Beam knows no such option for --runner=FnApiRunner"),
    ],
)
def test_a_runner_or_an_option_that_is_none_is_answered_with_what_was_meant(words: list[str], says: str) -> None:
    with pytest.raises(UsageError) as told:
        engine.check(words, None)
    assert says in str(told.value)


def test_a_runner_that_is_not_installed_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertdata.extras.find_spec", lambda name: None)
    for name in ("DaskRunner", "dask", "apache_beam.runners.dask.dask_runner.DaskRunner"):
        with pytest.raises(UsageError, match=rf"--runner={name} is not installed: pip install 'apache-beam\[dask\]'"):
            engine.check([f"--runner={name}"], None)
    with pytest.raises(UsageError, match=r"did you mean 'DaskRunner'\? It takes: pip install 'apache-beam\[dask\]'"):
        engine.check(["--runner=DaskRuner"], None)


def test_an_option_of_dask_is_suggested() -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    with pytest.raises(UsageError, match="did you mean '--dask_client_address'"):
        engine.check(["--runner=DaskRunner", "--dask_client_adress=tcp://127.0.0.1:1"], None)
