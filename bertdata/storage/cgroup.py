"""Read the CPU and memory limits of this process's control group (cgroup v2), as containers, Kubernetes and Slurm set them."""

from __future__ import annotations

from pathlib import Path

_GROUPS_FILE = Path("/proc/self/cgroup")
_MOUNT = Path("/sys/fs/cgroup")


def limits() -> tuple[float | None, int | None]:
    """Return the cores and bytes of memory to which this process's control group and its ancestors limit it, or None.

    A process in the group ``/pod/app`` is bound by the files of ``/pod/app``, ``/pod`` and ``/``. Inside a container, only the
    innermost of them may exist, mounted as the root.
    """
    path = next((line[len("0::") :] for line in _read(_GROUPS_FILE).splitlines() if line.startswith("0::")), "/")
    folder = _MOUNT / path.lstrip("/")
    groups = [group for group in (folder, *folder.parents) if group.is_relative_to(_MOUNT)]
    quotas = [_read(group / "cpu.max").split() for group in groups]  # microseconds of CPU time, or "max", and of the period
    cores = [int(quota[0]) / int(quota[1]) for quota in quotas if len(quota) == 2 and quota[0].isdigit()]
    memory = [int(size) for group in groups if (size := _read(group / "memory.max").strip()).isdigit()]
    return min(cores, default=None), min(memory, default=None)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
