"""docs/slurm.sh on two nodes, each a network namespace: a stand-in for srun starts its commands there, as Slurm would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from clusters import MODES, SECONDS, TIED, can_make_hosts, hosts, modes
from conftest import REPOSITORY, Build, digests

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'apache-beam[dask]'")
pytestmark = pytest.mark.long

# Takes the options of the script alone: one node with --nodes=1, or all.  Each node has a umask of its own: it tells who wrote.
SRUN = """#!/bin/sh
nodes="{first} {second}"
while :; do
    case $1 in
        --nodes=1) nodes="{first}" ;;
        --overlap | --ntasks=1 | --ntasks-per-node=1) ;;
        *) break ;;
    esac
    shift
done
trap 'kill $started; wait; exit 143' TERM
for node in $nodes; do
    [ $node = {first} ] && umask 022 || umask 026
    {before} --target $node --net --uts {tied} "$@" &
    started="$started $!"
done
wait
"""


def test_a_job_of_two_nodes_makes_the_same_bytes(build: Build, text: Path, tmp_path: Path) -> None:
    if not can_make_hosts():
        pytest.skip("needs root, to make network namespaces")
    words = ("--text", text, "--task-bytes", 1 << 16)
    here = build("build-corpus", tmp_path / "here", *words)
    with hosts(2) as (first, second):
        pids = [host.before[2] for host in (first, second)]
        (tmp_path / "bin").mkdir()
        srun = tmp_path / "bin" / "srun"
        srun.write_text(SRUN.format(first=pids[0], second=pids[1], before="nsenter", tied=" ".join(TIED)))
        srun.chmod(0o755)
        path = os.pathsep.join([str(srun.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
        job = {"SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "1", "SLURM_SUBMIT_DIR": str(tmp_path), "TMPDIR": str(tmp_path)}
        done = subprocess.run(
            [*first.before, "bash", REPOSITORY / "docs" / "slurm.sh", "build-corpus", *map(str, words), "--output", "there"],
            cwd=tmp_path,
            env={**os.environ, **job, "PATH": path},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert digests(tmp_path / "there") == digests(here)
    assert modes((tmp_path / "there" / "data").iterdir()) == MODES, "one node did it all"
    assert not list(tmp_path.glob("dask-7*")), "nothing of the pool is left"


def test_a_scheduler_that_does_not_start_ends_the_job(tmp_path: Path) -> None:
    srun = tmp_path / "srun"
    srun.write_text("#!/bin/sh\necho no node >&2\nexit 3\n")
    srun.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "SLURM_JOB_ID": "7",
        "SLURM_CPUS_PER_TASK": "1",
    }
    script = ["bash", str(REPOSITORY / "docs" / "slurm.sh"), "build-corpus"]
    done = subprocess.run(script, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "no node" in done.stderr
    assert not list(tmp_path.glob("dask-7*"))
