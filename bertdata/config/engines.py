"""List the engines of docs/how-to/engines.md by runner name, with the packages that each needs in addition to Beam."""

from __future__ import annotations

from typing import NamedTuple

from ..extras import EXTRAS, install

__all__ = ["ENGINES", "Engine"]


class Engine(NamedTuple):
    """An engine that runs Beam pipelines.

    Attributes:
        runner: Full name of the runner's class, if Beam has no short name for it.
        modules: Modules that the runner imports.
        install: Command that installs them.
    """

    runner: str = ""
    modules: tuple[str, ...] = ()
    install: str = ""


_PYSPARK = f"{install('spark')} && pip install --no-deps beam-pyspark-runner==0.0.3"
ENGINES = {
    "DaskRunner": Engine("apache_beam.runners.dask.dask_runner.DaskRunner", EXTRAS["dask"].modules, install("dask")),
    "PySparkRunner": Engine("beam_pyspark_runner.pyspark_runner.PySparkRunner", ("pyspark", "beam_pyspark_runner"), _PYSPARK),
    "SparkRunner": Engine(),
    "FlinkRunner": Engine(),
    "DataflowRunner": Engine("", EXTRAS["gcp"].modules, install("gcp")),
    "PortableRunner": Engine(),
}
