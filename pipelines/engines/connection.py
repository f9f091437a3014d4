"""Name the engine of a run by its address, check that it is reachable, and detect its loss.

An engine is lost when its scheduler, master or job service ends, or its last worker. An error of a step is a BertDataError, or it
has a Python traceback; the caller looks for those first. Any other connection error means that the engine is lost.
"""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

import grpc
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions, PortableOptions

from bertdata.errors import TransferError

__all__ = ["engine_name", "is_loss", "check_spark", "reason", "refusal"]

_CONNECT_TIMEOUT_S = 1.0
_LOST_ERRORS = (ConnectionError, TimeoutError, CancelledError, grpc.RpcError, grpc.FutureTimeoutError)
_CLIENTS = ("distributed", "py4j")  # packages whose exceptions report the engine, not a step


def _address(runner: Any, options: PipelineOptions) -> str:
    """Return the address of an engine, such as ``tcp://10.0.0.1:8786``, or an empty string if the run starts it."""
    finders: dict[str, Callable[[PipelineOptions], str]] = {
        "DaskRunner": _dask_scheduler,
        "PySparkRunner": lambda options: _spark_master(),
        "DataflowRunner": lambda options: options.view_as(GoogleCloudOptions).region or "",
    }
    name = type(runner).__name__
    return finders[name](options) if name in finders else options.view_as(PortableOptions).job_endpoint or ""


def engine_name(runner: Any, options: PipelineOptions) -> str:
    """Return the name of an engine and its address: ``DaskRunner at tcp://10.0.0.1:8786``."""
    where = _address(runner, options)
    return f"{type(runner).__name__} at {where}" if where else type(runner).__name__


def is_loss(error: BaseException) -> bool:
    """Return True for an exception of an engine's client that reports a lost engine or lost workers."""
    if isinstance(error, _LOST_ERRORS):
        return True
    return type(error).__module__.partition(".")[0] in _CLIENTS and "Traceback (most recent call last)" not in str(error)


def reason(error: BaseException) -> str:
    """Return the first line of an exception, without the header that py4j adds to a Java exception."""
    lines = [line.strip().removeprefix(": ") for line in str(error).splitlines() if line.strip()]
    if lines and lines[0].startswith("An error occurred while calling "):  # py4j's
        lines = lines[1:]
    return lines[0].rstrip(".") if lines else repr(error)


def refusal(host: str, port: int) -> str:
    """Return why a connection to a port fails, or an empty string if a server listens there or no answer comes in time."""
    try:
        socket.create_connection((host, port), _CONNECT_TIMEOUT_S).close()
    except TimeoutError:
        return ""
    except OSError as error:
        return str(error.strerror or error)
    return ""


def check_spark(runner: Any, options: PipelineOptions) -> None:
    """Raise TransferError if the master of a standalone Spark does not answer. Spark itself retries for a minute."""
    master = _address(runner, options)
    if type(runner).__name__ != "PySparkRunner" or not master.startswith("spark://"):
        return
    refusals = []
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        refusals.append(refusal(host, int(port)) if port.isdigit() else "")
    if all(refusals):
        raise TransferError(
            f"PySparkRunner at {master} cannot be reached: {refusals[0]}. Start the master, or correct --master in "
            "PYSPARK_SUBMIT_ARGS"
        )


def _dask_scheduler(options: PipelineOptions) -> str:
    options_set = options.get_all_options(drop_default=True)
    return str(options_set.get("address") or options_set.get("scheduler_file") or "")


def _spark_master() -> str:
    """Return the Spark master from PySpark's environment variables."""
    words = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "--master":
            return following
        for start in ("--master=", "spark.master="):
            if word.startswith(start):
                return word.removeprefix(start)
    return ""
