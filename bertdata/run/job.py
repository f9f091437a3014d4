"""Define the work of a command: tasks that any worker may do, in any order and more than once, and a commit.

A job is a small value that is sent to workers. Its methods are called by both descriptions of the run: `Job.stages`, the list of
stages for local workers, and a Beam pipeline in `pipelines/`. A finished task is a record in ``.bertdata/tasks/STAGE/``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..dataset.build import committing, is_complete, is_in_place, put_in_place, token
from ..dataset.tasks import TaskReport, check_begun, perform, stored
from ..dataset.versions import versions
from ..errors import OutputLockedError, StorageError, UsageError
from ..records import Task
from ..storage.files import is_local
from ..storage.problems import storage_errors

R = TypeVar("R", bound=TaskReport)
Method = TypeVar("Method", bound=Callable[..., Any])
installed = cache(versions)  # the versions of packages on this host


class Stage(NamedTuple):
    """Tasks that local workers may do in any order, after all tasks of the stage before. `name` is that of its records."""

    name: str
    work: Callable[[Any], object]
    tasks: Sequence[Any]


def on_worker(method: Method) -> Method:
    """Make a method of a job check its host before it begins."""

    @wraps(method)
    def checked(job: Job, *arguments: Any) -> Any:
        with storage_errors():
            job.check()
            return method(job, *arguments)

    return checked  # type: ignore[return-value]


@dataclass(frozen=True, kw_only=True)
class Job:
    """The work of a command, and what its workers check before they begin."""

    roots: tuple[Path, ...]  # the build directory of each output
    packages: tuple[str, ...] = ()  # their versions affect the bytes of the output
    versions: dict[str, str] = field(init=False)
    tokens: tuple[str, ...] = field(init=False)  # of this command, for outputs in a store

    def __post_init__(self) -> None:
        object.__setattr__(self, "versions", versions(self.packages))
        object.__setattr__(self, "tokens", tuple(map(token, self.roots)))

    def check(self) -> None:
        """Raise an error on a host with other versions, and on one that does not see the build."""
        here = installed(self.packages)
        if other := [f"{name} {here[name]}, not {version}" for name, version in self.versions.items() if here[name] != version]:
            raise UsageError(
                f"a worker on {os.uname().nodename} has {'; '.join(other)} as where this command runs. Install the same versions "
                "on all hosts ('code' is a digest of bertdata's source), then run the same command again"
            )
        for root in self.roots:
            check_begun(root)

    def once(self, stage: str, task: Task, work: Callable[[Task], R], kind: type[R], root: Path | None = None) -> R:
        """Do a task and record its report, of the type `kind`, or return the report of an earlier run."""
        identity = [task.kind, *task.names()]  # without paths, which differ between machines
        return perform(root or self.roots[0], stage, task.number, identity, partial(work, task), kind, task.paths())

    def reports(self, stage: str, count: int, kind: type[R]) -> Iterator[list[R]]:
        """Read the records of a stage in order: of each task, one per root. Raise VerificationError if one is missing."""
        return ([stored(root, stage, number, kind) for root in self.roots] for number in range(count))

    def stages(self, tasks: Sequence[Task]) -> list[Stage]:
        """Return the stages of a run on this machine."""
        raise NotImplementedError

    def finish(self) -> None:
        """Add up the reports, and write each output's manifest last."""
        raise NotImplementedError

    def commit(self, done: object = None) -> None:
        """Finish the outputs and move them into place, unless an earlier call has done so. An engine may call twice."""
        with storage_errors(), contextlib.ExitStack() as stack:
            for root in self.roots:
                stack.enter_context(committing(root))
            left = [root for root in self.roots if not (is_local(root) and is_in_place(root))]
            if not all(map(is_complete, left)):
                if len(left) < len(self.roots):
                    raise StorageError(f"only some outputs are complete, not {left[0].parent.parent}: run the same command again")
                self.check()
                if self.tokens != tuple(map(token, self.roots)):
                    raise OutputLockedError(f"{left[0]}: a newer run replaced this one. Run one command at a time")
                self.finish()
            for root in left:
                put_in_place(root)
