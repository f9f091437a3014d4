"""Run a command of bertdata as a scale model: what it reads and writes at a time is so many times smaller.

In a model of 1:32 a task of 512 kB makes as many requests as one of 16 MB does.  The command runs in one process, tells the store
which phase it is in, and says what processor time each took: what the driver does alone, and what workers would share.

    python benchmarks/scale_model.py        reads a line of JSON for each command, and answers each with one

Python and bertdata are imported once: each command runs in a fork, so that its processor time is that of its own work.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
import traceback
import urllib.request
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["RANGE", "main"]

RANGE = 2 << 20  # bytes of a request: as they are at 1:1
_SCALED = {  # numbers that are bytes, or rows, at a time
    "bertdata.io.files": ("_RANGE", "_BLOCK"),
    "bertdata.dataset.shards.write": ("_RANGE", "_AHEAD"),
    "bertdata.dataset.shards.schema": ("BATCH_BYTES",),
    "bertdata.dataset.shards": ("BATCH_BYTES",),
    "bertdata.build.documents": ("_SLICE_BYTES",),
    "bertdata.build.selection.facts": ("ROWS",),
}
_LATER: tuple[str, ...] = (
    "aiobotocore.session",
    "tokenizers",
    "bertdata.pipelines.make_pairs",
    "bertdata.pipelines.export",
    "rensa",
)
_LATER += ("bertdata.pipelines.train_vocab", "bertdata.pipelines.build_corpus")
_phases: list[tuple[str, float]] = []


def _begin(phase: str) -> None:
    """Note that a phase begins, and tell the store."""
    _phases.append((phase, time.process_time()))
    urllib.request.urlopen(urllib.request.Request(os.environ["AWS_ENDPOINT_URL"], b"", {"x-phase": phase}, method="PUT")).close()


def _work(*given: Any, **more: Any) -> None:
    """Run a pipeline, with what is done before its last step as work."""
    local: Any = importlib.import_module("bertdata.pipelines.engines.local")
    _begin("work")
    local._run_before(*given, **more)
    _begin("driver")


def _commit(*given: Any) -> None:
    """Do the last step, which is one worker's alone."""
    transforms = importlib.import_module("bertdata.pipelines.transforms")
    _begin("driver")
    transforms._commit_before(*given)


def _patch(scale: int, buckets: int) -> None:
    """Make what is read and written at a time smaller, and choose the buckets of rounds."""
    for name, constants in _SCALED.items():
        module: Any = importlib.import_module(name)
        for constant in constants:
            setattr(module, constant, max(1, getattr(module, constant) // scale))
    files: Any = importlib.import_module("bertdata.io.files")
    files.open_file.__defaults__ = (files._RANGE,)
    lock: Any = importlib.import_module("bertdata.io.lock")
    lock._RENEWED = 1 << 20  # seconds: what a slow machine asks for more often is no work
    corpus: Any = importlib.import_module("bertdata.pipelines.build_corpus")
    corpus.bucket_count = lambda rule, _: buckets if rule.per_document else 1
    local: Any = importlib.import_module("bertdata.pipelines.engines.local")
    transforms: Any = importlib.import_module("bertdata.pipelines.transforms")
    local._run_before, local.run = local.run, _work
    transforms._commit_before, transforms.CommitOnce.__call__ = transforms.CommitOnce.__call__, _commit


def _run(asked: dict[str, Any], told: Path) -> None:
    """Run a command to its end, and write what its phases took."""
    os.environ.update(asked["environment"])
    _begin("driver")
    _patch(asked["scale"], asked["buckets"])
    sys.argv[1:] = [*asked["words"], "--workers", "1", "--quiet"]
    try:
        importlib.import_module("bertdata.__main__").main()
    finally:
        _phases.append(("", time.process_time()))
        took = {"driver": 0.0, "work": 0.0}
        for (phase, cpu), (_, after) in pairwise(_phases):
            took[phase] += after - cpu
        told.write_text(json.dumps(took))


def _end(work: Callable[[], None], said: Path) -> NoReturn:
    """Do work and end this process at once, without what its parent would do at its own end; what it says goes to a file."""
    code = 0
    with open(said, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        work()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    """Run the commands that are asked for, one after the other, each in a fork."""
    for name in ("s3fs", "upath", "bertdata.__main__", "bertdata.cli", "bertdata.pipelines.engines.local", *_LATER, *_SCALED):
        importlib.import_module(name)
    for line in sys.stdin:
        with tempfile.TemporaryDirectory(prefix="bertdata-") as directory:
            told, said = Path(directory, "told"), Path(directory, "said")
            if not (child := os.fork()):
                _end(partial(_run, json.loads(line), told), said)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            took = json.loads(told.read_text()) if told.exists() else {}
            print(json.dumps({"code": code, "said": said.read_text(), "took": took}), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    importlib.import_module("scale_model").main()  # by its name, so that Beam finds the functions of this file
