"""List the engines that docs/how-to/engines.md tells of, by the names of their runners, and what each takes beside Beam."""

from __future__ import annotations

from typing import NamedTuple

from ..extras import EXTRAS, install

__all__ = ["ENGINES", "Engine"]


class Engine(NamedTuple):
    """An engine: its name in words, and the full name of its runner's class where Beam has no short one.

    modules, install: what it imports, and how to install that.  program: what it starts.  jar: with its job server, how the name
    of the file begins.
    """

    title: str = ""
    runner: str = ""
    modules: tuple[str, ...] = ()
    install: str = ""
    program: str = ""
    jar: str = ""


ENGINES = {  # in the order in which `bertdata doctor` shows those that have a title
    "DaskRunner": Engine("Dask", "apache_beam.runners.dask.dask_runner.DaskRunner", EXTRAS["dask"].modules, install("dask")),
    "PySparkRunner": Engine(
        "Spark, PySpark",
        "beam_pyspark_runner.pyspark_runner.PySparkRunner",
        ("pyspark", "beam_pyspark_runner"),
        f"{install('spark')} && pip install --no-deps beam-pyspark-runner==0.0.3",
        "java",
    ),
    "SparkRunner": Engine("Spark, Beam's", program="java", jar="beam-runners-spark-3-job-server"),
    "FlinkRunner": Engine("Flink", program="java", jar="beam-runners-flink-2.2-job-server"),  # its default --flink_version
    "DataflowRunner": Engine("Dataflow", "", EXTRAS["gcp"].modules, install("gcp")),
    "PortableRunner": Engine(),
}
