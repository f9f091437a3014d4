"""An engine that is lost is told from a step that failed, by the exceptions that the clients of engines raise."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any

import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from bertdata.pipelines.engines import connection, engine

from bertdata.errors import BertDataError, TransferError

JAVA = """An error occurred while calling o24.collect.
: java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.
\tat org.apache.spark.SparkContext.assertNotStopped(SparkContext.scala:122)
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""
STEP = """An error occurred while calling o24.collect.
: org.apache.spark.SparkException: Job aborted due to stage failure
Traceback (most recent call last):
ValueError: a fault in a step
"""


def raised(module: str, name: str, text: str) -> Exception:
    """Return an exception as a package would raise it."""
    return type(name, (Exception,), {"__module__": module})(text)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (raised("distributed.scheduler", "NoWorkerError", "timed out without any running workers."), "timed out without any"),
        (raised("py4j.protocol", "Py4JJavaError", JAVA), "java.lang.IllegalStateException: Cannot call methods on a stopped"),
        (ConnectionResetError("reset by peer"), "reset by peer"),
        (CancelledError(), "CancelledError()"),
    ],
)
def test_a_lost_engine_is_named_with_its_address_and_the_cause(error: Exception, reason: str) -> None:
    found = engine._original(error, "Engine at host:1")
    assert type(found) is TransferError and found.exit_code == 4
    assert str(found).startswith(f"Engine at host:1 was lost: {reason}") and "\n" not in str(found)


@pytest.mark.parametrize("error", [raised("py4j.protocol", "Py4JJavaError", STEP), ValueError("a fault in a step")])
def test_a_step_that_fails_is_no_lost_engine(error: Exception) -> None:
    found = engine._original(error, "Engine at host:1")
    assert type(found) is BertDataError and "the run failed on Engine at host:1: " in str(found)
    assert "a fault in a step" in str(found)


def named(runner: str, options: list[str]) -> str:
    made: Any = type(runner, (), {})()
    return connection.engine_name(made, PipelineOptions(options))


def test_engines_are_named_by_their_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf a=b --master spark://one:7077,two:7077 pyspark-shell")
    assert named("PySparkRunner", []) == "PySparkRunner at spark://one:7077,two:7077"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.master=spark://one:7077 pyspark-shell")
    assert named("PySparkRunner", []) == "PySparkRunner at spark://one:7077"
    assert named("PortableRunner", ["--job_endpoint=host:8099"]) == "PortableRunner at host:8099"
    assert named("DataflowRunner", ["--region=europe-west4"]) == "DataflowRunner at europe-west4"
    assert named("FnApiRunner", []) == "FnApiRunner"
    pytest.importorskip("distributed", reason="dask is not installed")
    from apache_beam.runners.dask import dask_runner  # noqa: F401 - its options are known once it is imported

    assert named("DaskRunner", ["--dask_client_address=tcp://10.0.0.1:8786"]) == "DaskRunner at tcp://10.0.0.1:8786"
