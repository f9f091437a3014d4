"""The limits of a container, by the files of cgroup v1 and v2, and the number of workers that they allow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bertdata.storage import cgroup, process
from bertdata.storage.cgroup import Limits

V1 = "9:name=systemd:/\n4:memory:/pod/app\n1:cpu,cpuacct:/pod/app\n0::/\n"
NO_LIMIT_V1 = f"{(1 << 63) - 4096}\n"


def limits(monkeypatch: pytest.MonkeyPatch, root: Path, groups: str, files: dict[str, str]) -> Limits:
    """Return the limits where /proc/self/cgroup has these lines, and /sys/fs/cgroup these files."""
    (root / "groups").write_text(groups)
    for name, text in files.items():
        path = root / "mount" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(cgroup, "_GROUPS_FILE", root / "groups")
    monkeypatch.setattr(cgroup, "_MOUNT", root / "mount")
    return cgroup.limits()


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "50000 100000\n", "memory.max": "2000000000\n"}, Limits(0.5, 2_000_000_000)),
        ("0::/pod/app\n", {"pod/app/cpu.max": "max 100000\n", "pod/cpu.max": "200000 100000\n"}, Limits(2.0, None)),
        ("0::/pod/app\n", {"pod/app/cpu.max": "150000 100000\n", "pod/cpu.max": "400000 100000\n"}, Limits(1.5, None)),
        ("0::/not/here\n", {"cpu.max": "300000 100000\n"}, Limits(3.0, None)),
        ("0::/\n", {"cpu.max": "max 100000\n", "memory.max": "max\n"}, Limits(None, None)),
        (
            V1,
            {
                "cpu,cpuacct/pod/app/cpu.cfs_quota_us": "-1\n",
                "cpu,cpuacct/pod/app/cpu.cfs_period_us": "100000\n",
                "cpu,cpuacct/pod/cpu.cfs_quota_us": "25000\n",
                "cpu,cpuacct/pod/cpu.cfs_period_us": "50000\n",
                "memory/pod/app/memory.limit_in_bytes": "1000000000\n",
                "memory/memory.limit_in_bytes": NO_LIMIT_V1,
            },
            Limits(0.5, 1_000_000_000),
        ),
        (V1, {"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, Limits(2.0, None)),
        ("0::/pod\n", {"unified/pod/memory.max": "4096\n"}, Limits(None, 4096)),
        ("0::/\n", {"cpu.max": "", "memory.max": "nonsense\n"}, Limits(None, None)),
        ("", {}, Limits(None, None)),
    ],
)
def test_limits_of_cgroup_v1_and_v2(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, groups: str, files: dict[str, str], expected: Limits
) -> None:
    assert limits(monkeypatch, tmp_path, groups, files) == expected


@pytest.mark.parametrize(("quota", "expected"), [("50000", 1), ("100000", 1), ("150000", 2), ("200000", 2), ("9900000", 64)])
def test_the_cpu_quota_decides_the_default_number_of_workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str, expected: int
) -> None:
    """A pod with two CPUs on a node with 64 starts two workers, and half a core starts one."""
    monkeypatch.setattr(os, "process_cpu_count", lambda: 64, raising=False)
    limits(monkeypatch, tmp_path, "0::/\n", {"cpu.max": f"{quota} 100000\n"})
    assert process.worker_count(None, tasks=1000) == expected
    assert process.worker_count(7, tasks=1000) == 7, "a number of workers that the user passes is used as it is"


def test_python_counts_the_usable_cpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Python 3.13 counts them itself, also with PYTHON_CPU_COUNT; before that the CPU affinity counts."""
    limits(monkeypatch, tmp_path, "", {})
    monkeypatch.setattr(os, "process_cpu_count", lambda: 3, raising=False)
    assert process.cores() == 3
    monkeypatch.delattr(os, "process_cpu_count")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 5, 6, 7}, raising=False)
    assert process.cores() == 4


@pytest.mark.slow
def test_a_real_quota_counts() -> None:
    """In a group made here with a quota of half a core; needs root, and a cgroup file system that can be written."""
    v1 = Path("/sys/fs/cgroup/cpu")
    group = (v1 if v1.is_dir() else Path("/sys/fs/cgroup")) / f"bertdata-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        pytest.skip("this system does not let a test make control groups")
    try:
        try:
            (group / ("cpu.cfs_quota_us" if v1.is_dir() else "cpu.max")).write_text("50000")
        except OSError:
            pytest.skip("this system does not let a test set a CPU quota")
        code = (
            f"from pathlib import Path; Path({str(group / 'cgroup.procs')!r}).write_text('0')\n"
            "from bertdata.storage import cgroup, process\nprint(cgroup.limits().cores, process.cores())"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["0.5", "1"]
    finally:
        group.rmdir()
