"""Two machines, as two network namespaces of this one: torchrun joins them, and each rank reads its own rows only."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import REPOSITORY
from tiny import write_pairs

from bertdata.dataset.rows import Shards

pytest.importorskip("torch")
from bertdata.training import loader  # noqa: E402

pytestmark = pytest.mark.long
LENGTHS = np.random.default_rng(9).integers(10, 65, (4, 40)).tolist()
NODES = ("bertdata-a", "bertdata-b")
SCRIPT = """
import json, os, sys
import torch.distributed as distributed
import bertdata
distributed.init_process_group("gloo")
rank, size = distributed.get_rank(), distributed.get_world_size()
loader = bertdata.batches(bertdata.Shards(sys.argv[1]), 16, rank=rank, world_size=size, steps=20)
found = [batch["input_ids"].tolist() for batch in loader]
distributed.barrier()
with open(f"{sys.argv[2]}/{rank}.json", "w") as file:
    json.dump([os.environ["GROUP_RANK"], os.listdir("/sys/class/net"), found], file)
distributed.destroy_process_group()
"""


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def nodes() -> Iterator[None]:
    """Two namespaces, 10.213.7.1 and 10.213.7.2, joined by a pair of interfaces."""
    if not shutil.which("ip") or os.geteuid():
        pytest.skip("needs ip and root, to make network namespaces")
    try:
        for node in NODES:
            _ip("netns", "add", node)
        _ip("link", "add", "veth0", "netns", NODES[0], "type", "veth", "peer", "name", "veth0", "netns", NODES[1])
        for number, node in enumerate(NODES, 1):
            _ip("-n", node, "addr", "add", f"10.213.7.{number}/24", "dev", "veth0")
            for interface in ("lo", "veth0"):
                _ip("-n", node, "link", "set", interface, "up")
        yield
    except subprocess.CalledProcessError as error:
        pytest.skip(f"network namespaces are not permitted here: {error.stderr.decode()}")
    finally:
        for node in NODES:
            subprocess.run(["ip", "netns", "del", node], capture_output=True, check=False)


def test_each_rank_of_two_nodes_reads_its_own_rows(nodes: None, tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs", {"train": LENGTHS})
    (script := tmp_path / "ranks.py").write_text(SCRIPT)
    address = ["--master-addr", "10.213.7.1", "--master-port", "29511", "--nnodes", "2", "--nproc-per-node", "1"]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "veth0", "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            ["ip", "netns", "exec", node, sys.executable, "-m", "torch.distributed.run", *address]
            + ["--node-rank", str(number), "--local-addr", f"10.213.7.{number + 1}", str(script), str(pairs), str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        for number, node in enumerate(NODES)
    ]
    try:
        said = [process.communicate(timeout=280)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], said
    told = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    assert [node for node, _, _ in told] == ["0", "1"]
    for step, batch in enumerate(loader.batches(Shards(pairs), 16, steps=20)):
        shares = [found[step] for _, _, found in told]
        assert [len(share) for share in shares] == [8, 8]
        assert shares[0] + shares[1] == batch["input_ids"].tolist()
        assert not set(map(tuple, shares[0])) & set(map(tuple, shares[1]))
