"""docs/slurm.sh on two nodes, each a network namespace: a stand-in for srun starts its commands there, as Slurm would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from clusters import MODES, SECONDS, TIED, can_make_hosts, hosts, modes
from conftest import REPOSITORY, Build, digests, is_alive

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'apache-beam[dask]'")
pytestmark = pytest.mark.nightly

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


def run_job(folder: Path, srun: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the script with these commands in place of `srun`, and of a `bertdata` that fails at once."""
    for name, text in {"srun": srun, "bertdata": "#!/bin/sh\nexit 5\n"}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "1", **more}
    script = ["bash", str(REPOSITORY / "docs" / "slurm.sh"), "build-corpus"]
    return subprocess.run(script, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_scheduler_that_fails_ends_the_job(tmp_path: Path) -> None:
    done = run_job(tmp_path, "#!/bin/sh\necho no node >&2\nexit 3\n")
    assert done.returncode == 1 and "no node" in done.stderr
    assert not list(tmp_path.glob("dask-7*"))


@pytest.mark.parametrize(("starts", "code"), [("yes", 5), ("no", 1)])
def test_a_cluster_that_ignores_sigterm_is_killed(tmp_path: Path, starts: str, code: int) -> None:
    """The job ends with the code of the command, or because the scheduler never says its address."""
    srun = """#!/bin/sh
trap '' TERM
echo $$ >>{pids}
for word; do :; done  # the last: exec dask scheduler … --scheduler-file FILE
case $word in
    *"dask scheduler"*) [ {starts} = no ] || echo '{{"address": "tcp://127.0.0.1:1"}}' >"${{word##* }}" ;;
esac
exec sleep 300
"""
    done = run_job(tmp_path, srun.format(pids=tmp_path / "pids", starts=starts), START_TRIES="5")
    assert done.returncode == code, done.stderr
    assert not list(tmp_path.glob("dask-7*"))
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(pids) == (2 if starts == "yes" else 1) and not any(map(is_alive, pids))
