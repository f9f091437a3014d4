"""Find the runner and the options that words after ``--`` name; for one that there is not, say which was meant."""

from __future__ import annotations

import importlib.util
from typing import Any, NamedTuple

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners import create_runner

from bertdata.errors import UsageError, did_you_mean

__all__ = ["make", "meant"]


class _Runner(NamedTuple):
    """What Beam takes for a name, and the module that its package brings."""

    path: str
    module: str = "apache_beam"
    install: str = ""


_RUNNERS = {  # that docs/how-to/engines.md tells of
    "DaskRunner": _Runner("apache_beam.runners.dask.dask_runner.DaskRunner", "distributed", "pip install 'bertdata[dask]'"),
    "DataflowRunner": _Runner("DataflowRunner", "apitools", "pip install 'bertdata[gcp]'"),
    "FlinkRunner": _Runner("FlinkRunner"),
    "PortableRunner": _Runner("PortableRunner"),
    "PySparkRunner": _Runner(
        "beam_pyspark_runner.pyspark_runner.PySparkRunner",
        "beam_pyspark_runner",
        "pip install 'bertdata[spark]' && pip install --no-deps beam-pyspark-runner==0.0.3",
    ),
    "SparkRunner": _Runner("SparkRunner"),
}


def make(name: str) -> Any:
    """Make the runner of a name, in whatever case and with or without "Runner", or of a class's full name.

    Raise UsageError with what to install, or with the name that was meant.
    """
    known = next((each for each in _RUNNERS if name.lower() in (each.lower(), each.lower().removesuffix("runner"))), "")
    lacks = _lacks(known) or next((_lacks(each) for each, runner in _RUNNERS.items() if runner.path == name), "")
    if lacks:
        raise UsageError(f"--runner={name} is not installed: {lacks}")
    try:
        return create_runner(_RUNNERS[known].path if known else name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"--runner={name}: {str(error).splitlines()[0]}") from error
    except ValueError as error:  # Beam's list of runners, which lacks some
        all_of_them = f": use one of {', '.join(_RUNNERS)}, or the full name of a class"
        near = did_you_mean(name, _RUNNERS)
        needs = [f" It takes: {_lacks(each)}" for each in _RUNNERS if repr(each) in near and _lacks(each)]
        raise UsageError(f"--runner={name} is no runner{near or all_of_them}{''.join(needs)}") from error


def meant(option: str, options: PipelineOptions) -> str:
    """Return the end of an error that refuses an option: with those of Beam or the runner that are like it, or with nothing."""
    known: list[str] = []
    options.get_all_options(add_extra_args_fn=lambda parser: known.extend(parser._option_string_actions))
    return did_you_mean(option, known)


def _lacks(name: str) -> str:
    """Return how to install what a runner lacks; nothing where it is here."""
    runner = _RUNNERS.get(name)
    return runner.install if runner and not importlib.util.find_spec(runner.module) else ""
