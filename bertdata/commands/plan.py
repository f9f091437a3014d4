"""Plan a command: its outputs, inputs and steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..chains.transforms import Chain
from ..config.input_kinds import Paths
from ..dataset.run import is_done, unfinished
from ..errors import BertDataError
from ..reports.summary import count
from ..storage.storage import storage_errors
from .progress import ProgressStep

if TYPE_CHECKING:
    from .estimate import Estimate

__all__ = [
    "Finished",
    "Output",
    "Paths",
    "Plan",
    "RunOptions",
    "complete_already",
    "digest_arguments",
    "reused_tasks",
]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How to run a plan. These options do not affect the output's bytes.

    Attributes:
        workers: Number of local worker processes. None means one per usable CPU, or one for little input.
        overwrite: Replace a finished dataset once the new one is complete.
        wait: If False, submit the job to an engine that runs it in the background, and return.
        beam_args: Options for Beam, such as ``--runner=DataflowRunner``.
        verbose: Show the logs of Beam and the workers.
        check_space: Raise StorageError if the estimated output does not fit on the disk.
    """

    workers: int | None = None
    overwrite: bool = False
    wait: bool = True
    beam_args: tuple[str, ...] = ()
    verbose: bool = False
    check_space: bool = True

    @property
    def on_engine(self) -> bool:
        """Whether Beam runs the plan."""
        return bool(self.beam_args) or not self.wait


@dataclass(frozen=True)
class Output:
    """A dataset that a run writes: its directory, and the settings and inputs that affect its bytes."""

    directory: Path
    identity: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The work of a command. Each command has its own subclass.

    Attributes:
        outputs: The datasets to write.
        arguments_digest: Digest of the command's arguments, which run.json stores as ``given``.
        summary: The plan in one line.
        notes: Further lines to print.
        reads: Paths of the inputs.
        steps: The steps to report.
    """

    outputs: tuple[Output, ...]
    arguments_digest: str
    summary: str
    notes: tuple[str, ...] = ()
    reads: tuple[str | Path, ...] = ()
    steps: tuple[ProgressStep, ...] = ()

    @property
    def directories(self) -> list[Path]:
        """The directories of the outputs."""
        return [output.directory for output in self.outputs]

    @property
    def tasks(self) -> int:
        """The number of tasks of the largest step."""
        return max((step.total for step in self.steps), default=0)

    @property
    def bytes(self) -> int:
        """The bytes of input of the largest step."""
        return max((step.bytes for step in self.steps), default=0)

    def chain(self, roots: Sequence[Path | None]) -> Chain:
        """Return the steps. `roots` are the build directories of the outputs, with None for a complete output."""
        raise NotImplementedError

    def estimate(self, workers: int | None) -> Estimate:
        """Run the work on samples of the input, and estimate the time, memory and disk that the run needs."""
        raise NotImplementedError

    def to_do(self, overwrite: bool, include: Callable[[Path], bool] = lambda _: True) -> list[Path]:
        """Return the directories of outputs to build: those that are not complete, or all with `overwrite`.

        Skip directories for which `include` returns False.
        """
        with storage_errors("cannot read the output"):
            return [
                output.directory
                for output in self.outputs
                if include(output.directory) and (overwrite or not is_done(output.directory, output.identity))
            ]


@dataclass(frozen=True, kw_only=True)
class Finished(Plan):
    """A plan whose outputs are complete: the input is unchanged, or cannot be read.

    Attributes:
        unreached: The error of an input that cannot be read, or None.
    """

    unreached: BertDataError | None = None

    def to_do(self, overwrite: bool, include: Callable[[Path], bool] = lambda _: True) -> list[Path]:
        """Return an empty list."""
        return []


def digest_arguments(command: str, *arguments: Any) -> str:
    """Return a digest of a command's arguments, which identifies a finished dataset if the input cannot be read."""
    return hashlib.sha256(json.dumps([command, *arguments], sort_keys=True, default=str).encode()).hexdigest()


def complete_already(directories: Sequence[Path], arguments_digest: str, error: BertDataError) -> Plan:
    """Return a finished plan if an earlier run with the same arguments has made these datasets. Otherwise raise `error`."""
    if not all(is_done(directory, {"given": arguments_digest}) for directory in directories):
        raise error
    names = ", ".join(map(str, directories))
    return Finished(
        outputs=tuple(Output(directory, {}) for directory in directories),
        summary=f"{names}: already complete (could not check whether the input has changed): {error}",
        arguments_digest=arguments_digest,
        unreached=error,
    )


def reused_tasks(plan: Plan) -> Iterator[str]:
    """Yield a message for each output with finished tasks that this run reuses from an earlier run."""
    for output in plan.outputs:
        done = {} if isinstance(plan, Finished) else unfinished(output.directory, output.identity)
        if any(done.values()):
            tasks = ", ".join(f"{count(number, 'task')} of {name}" for name, number in done.items())
            yield f"{output.directory}: an earlier run finished {tasks}, which this run reuses"
