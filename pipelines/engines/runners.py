"""Find the runner and options named after ``--``. Suggest the nearest name for an unknown one."""

from __future__ import annotations

from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners import create_runner

from bertdata.config.engines import ENGINES
from bertdata.errors import UsageError, did_you_mean
from bertdata.extras import missing

__all__ = ["make", "meant"]


def make(name: str) -> Any:
    """Create a runner by name, in any case and with or without "Runner", or by a class's full name.

    Raise UsageError with the package to install, or with the nearest name.
    """
    spellings = {form: each for each in ENGINES for form in (ENGINES[each].runner, each.lower(), each.lower()[: -len("Runner")])}
    known = spellings.get(name) or spellings.get(name.lower(), "")
    if name.rpartition(".")[2].lower() in ("interactiverunner", "interactive"):
        raise UsageError(
            f"--runner={name} is not supported: it shows the steps of a notebook's own pipeline. Omit it, or use "
            "--runner=FnApiRunner"
        )
    if lacks := _lacks(known):
        raise UsageError(f"--runner={name} is not installed: {lacks}")
    try:
        return create_runner(ENGINES[known].runner or known if known else name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"--runner={name}: {str(error).splitlines()[0]}") from error
    except ValueError as error:  # Beam's list of runners, which is incomplete
        names = sorted(ENGINES)
        near = did_you_mean(name, names)
        needs = [f" It takes: {_lacks(each)}" for each in names if repr(each) in near and _lacks(each)]
        all_of_them = f": use one of {', '.join(names)}, or the full name of a class"
        raise UsageError(f"--runner={name} is not a runner{near or all_of_them}{''.join(needs)}") from error


def meant(option: str, options: PipelineOptions) -> str:
    """Return the end of an error about an unknown option: similar options of Beam or the runner, or an empty string."""
    known: list[str] = []
    options.get_all_options(add_extra_args_fn=lambda parser: known.extend(parser._option_string_actions))
    return did_you_mean(option, known)


def _lacks(name: str) -> str:
    """Return how to install a missing runner, or an empty string if it is available or unknown."""
    return ENGINES[name].install if name in ENGINES and missing(ENGINES[name].modules) else ""
