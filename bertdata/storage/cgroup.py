"""Read the CPU and memory limits of this process's control group, as containers, Kubernetes and Slurm set them.

A process in the group ``/pod/app`` is bound by the files of ``/pod/app``, ``/pod`` and ``/``; the lowest limit counts. Inside a
container only the innermost of these directories may exist, mounted as the root.

    version  line of /proc/self/cgroup   CPU quota                                     memory limit
    v2       0::/pod/app                 cpu.max                                       memory.max
    v1       4:cpu,cpuacct:/pod/app      cpu/…/cpu.cfs_quota_us, cpu.cfs_period_us     memory/…/memory.limit_in_bytes
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Limits", "limits"]

_GROUPS_FILE = Path("/proc/self/cgroup")
_MOUNT = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60  # bytes; v1 reports "no limit" as the largest multiple of the page size below 2**63


class Limits(NamedTuple):
    """The limits of a control group. None means no limit."""

    cores: float | None = None
    """CPU time per wall-clock time, such as 0.5 for half a core."""
    memory: int | None = None
    """Bytes."""


def limits() -> Limits:
    """Return the lowest limits of this process's control group and its ancestors."""
    cores = [cores for folder in _folders("cpu") if (cores := _cores(folder)) is not None]
    memory = [size for folder in _folders("memory") if (size := _memory(folder)) is not None]
    return Limits(min(cores, default=None), min(memory, default=None))


def _folders(controller: str) -> Iterator[Path]:
    """Yield the directories of this process's group, and of its ancestors, that hold the files of a controller."""
    try:
        entries = _GROUPS_FILE.read_text().splitlines()
    except OSError:  # not Linux
        return
    for entry in entries:
        number, _, rest = entry.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0":  # v2, which is mounted elsewhere where v1 is in use, too
            mounts = [_MOUNT, _MOUNT / "unified"]
        elif controller in controllers.split(","):
            mounts = [_MOUNT / controllers, _MOUNT / controller]
        else:
            continue
        for mount in mounts:
            folder = mount / path.lstrip("/")
            yield from (each for each in (folder, *folder.parents) if each.is_relative_to(mount))


def _cores(folder: Path) -> float | None:
    if (quota := _read(folder / "cpu.max").split()) and len(quota) == 2:
        return _share(*quota)
    return _share(_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us"))


def _share(quota: str, period: str) -> float | None:
    """Divide microseconds of CPU time by those of the period; None for "max" and -1, which mean no limit."""
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(quota) and int(period) else None


def _memory(folder: Path) -> int | None:
    size = _read(folder / "memory.max") or _read(folder / "memory.limit_in_bytes")
    return int(size) if size.isdigit() and int(size) < _UNLIMITED else None


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, ValueError):
        return ""
