"""Plan a command: its outputs, inputs and steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..chains.transforms import Chain
from ..dataset.run import is_done, unfinished
from ..reports.summary import count
from ..storage.storage import storage_errors
from .progress import ProgressStep

if TYPE_CHECKING:
    from .estimate import Estimate, Measured

__all__ = ["Output", "Plan", "RunOptions", "reused_tasks"]


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
    """The work of a command. Each command has its own subclass; a plan whose outputs are complete already needs none.

    Attributes:
        outputs: The datasets to write.
        summary: The plan in one line.
        notes: Further lines to print.
        reads: Paths of the inputs.
        steps: The steps to report.
    """

    outputs: tuple[Output, ...]
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

    def measure(self, root: Path) -> Measured:
        """Run the work on samples of the input, in a temporary directory."""
        raise NotImplementedError

    def estimate(self, workers: int | None) -> Estimate:
        """Estimate the time, memory and disk that the run needs."""
        from .estimate import estimate

        return estimate(self.measure, self.bytes, self.tasks, workers=workers)

    def to_do(self, overwrite: bool) -> list[Path]:
        """Return the directories of outputs to build: those that are not complete, or all with `overwrite`."""
        with storage_errors("cannot read the output"):
            return [each.directory for each in self.outputs if overwrite or not is_done(each.directory, each.identity)]


def reused_tasks(plan: Plan) -> Iterator[str]:
    """Yield a message for each output with finished tasks that this run reuses from an earlier run."""
    for output in plan.outputs:
        done = unfinished(output.directory, output.identity)
        if any(done.values()):
            tasks = ", ".join(f"{count(number, 'task')} of {name}" for name, number in done.items())
            yield f"{output.directory}: an earlier run finished {tasks}, which this run reuses"
