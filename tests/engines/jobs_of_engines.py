"""The commands that every engine runs: all inputs and outputs by relative names."""

from __future__ import annotations

import bz2
import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from clusters import MODES, SECONDS, TIED, Cluster, end, wait_until, written_by
from conftest import COMMAND, SAMPLE, Build, digests, leftovers, read_manifest, records

DUMP = "sampleenwiki-20261101-pages-articles-multistream.xml.bz2"
_BUILD = ("build-corpus", "--wikipedia", "dumps", "--books", "dumps", "--task-bytes", "65536")
_CHOICE = ("--dedup", "near", "--dedup-paragraphs", "--sample-documents", "40")
_PAIRS = ("make-pairs", "one/corpus", "--vocab", "one/vocab", "--shards", "6", "--validation-fraction", "0.1")
COMMANDS = {
    "corpus": (*_BUILD, "--text", "text.jsonl"),
    "chosen": (*_BUILD, *_CHOICE, "--exclude", "exam.txt"),
    "vocab": ("train-vocab", "one/corpus", "--size", "900"),
    "pairs": (*_PAIRS, "--max-seq-length", "64", "--provenance"),
}
STEPS = {"corpus": "extract", "chosen": "extract", "vocab": "count", "pairs": "pairs"}


class Job(NamedTuple):
    """Where the commands run, and the digests of what each makes in one process."""

    root: Path
    expected: dict[str, dict[str, str]]

    def words(self, name: str, output: str, cluster: Cluster, *more: str) -> list[str]:
        """Return the words of a command on a cluster."""
        return [*cluster.driver.before, *COMMAND, *COMMANDS[name], "--output", output, *more, "--", *cluster.options]

    def run(self, name: str, output: str, cluster: Cluster, *more: str, code: int = 0) -> str:
        """Run a command on a cluster; return what it said on its standard error."""
        words = self.words(name, output, cluster, *more)
        done = subprocess.run(words, cwd=self.root, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr or "--verbose" in more
        return done.stderr

    @contextlib.contextmanager
    def start(self, name: str, output: str, cluster: Cluster, *more: str) -> Iterator[subprocess.Popen[str]]:
        """Start a command on a cluster; kill it at the end, unless it has ended by itself."""
        words = [*TIED, *self.words(name, output, cluster, *more)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        with subprocess.Popen(words, cwd=self.root, text=True, start_new_session=True, **quiet) as process:
            try:
                yield process
            finally:
                end(process)

    def run_by_both(self, name: str, output: str, cluster: Cluster) -> None:
        """Run a command on a cluster, and see both workers finish tasks: which one gets the last few is up to the engine."""
        with self.start(name, output, cluster) as driver:
            seen: set[int] = set()

            def both() -> bool:
                seen.update(written_by(records(self.root / output, "*")))
                return seen == MODES

            wait_until(both, driver)
            _, said = driver.communicate(timeout=SECONDS)
        assert driver.returncode == 0 and "Traceback" not in said, said
        self.same(name, output)

    def refuses_damage(self, cluster: Cluster) -> None:
        """Check that a dump of which more is broken than allowed ends a run with what to do."""
        data = bytearray(bz2.compress(bz2.decompress((SAMPLE / DUMP).read_bytes()), compresslevel=1))
        data[3 * len(data) // 4] ^= 0x40
        (self.root / "damaged.xml.bz2").write_bytes(data)
        said = self.run("corpus", "refused", cluster, "--wikipedia", "damaged.xml.bz2", "--max-rejects", "0.01", code=3)
        assert "damaged-stream 1" in said and "--max-rejects" in said

    def same(self, name: str, output: str) -> None:
        """Check that all files are those of one process, and that nothing else is left."""
        assert digests(self.root / output) == self.expected[name]
        assert leftovers(self.root / output) == []


def prepare(root: Path, build: Build, text: Path) -> Job:
    """Lay out the inputs, and make with one process what the engines are to make."""
    (root / "dumps").mkdir()
    for path in (*SAMPLE.glob("*.bz2"), *(SAMPLE / "books").glob("*.txt")):  # the dumps, their indexes, and books
        (root / "dumps" / path.name).write_bytes(path.read_bytes())
    (root / "text.jsonl").write_bytes(text.read_bytes())
    book = sorted((root / "dumps").glob("*.txt"))[0].read_text(encoding="utf-8").split()
    (root / "exam.txt").write_text(" ".join(book[len(book) // 2 :][:60]) + "\n", encoding="utf-8")
    before = os.getcwd()
    os.chdir(root)
    try:
        for name, (command, *options) in COMMANDS.items():
            build(command, Path("one", name), *options)
    finally:
        os.chdir(before)
    dropped = [stage["dropped"] for stage in read_manifest(root / "one" / "chosen")["counts"]]
    assert sum(reasons.get("evaluation overlap", 0) for reasons in dropped) == 1
    return Job(root, {name: digests(root / "one" / name) for name in COMMANDS})
