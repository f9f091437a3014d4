"""Kill a command before its changes on the disk, one after the other, and finish it with the same command.

    python every_change.py DIRECTORY '{"old": […], "arguments": […], "first": 1, "step": 5, "full": false}'

The command runs in forks of this process, which has loaded the libraries. An audit hook sees every call that makes, opens for
writing, renames or removes something below DIRECTORY. `old` writes the dataset that the command replaces. With `full`, the disk
has no space from that change on: the command must say so, with exit code 4. Prints, as JSON, the number of changes of a whole
run, and what went wrong.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import bertdata.commands.build_corpus
import bertdata.commands.make_pairs
import bertdata.commands.train_vocab  # noqa: F401
from bertdata.cli import main
from bertdata.storage.files import digest

_CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.link", "os.symlink"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def watch(work: str, number: int, count: Path, full: bool) -> None:
    """Count changes below `work` into a file. Die before the one of this number, or let it and all later ones fail."""
    seen, descriptor = 0, os.open(count, os.O_WRONLY | os.O_CREAT)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal seen
        below = bool(args) and (str(args[0]).startswith(work) or (event != "open" and not str(args[0]).startswith("/")))
        if below and (event in _CHANGES or (event == "open" and bool(args[2] & _WRITES))):
            seen += 1
            if seen == number and not full:
                os.kill(os.getpid(), signal.SIGKILL)
            if 0 < number <= seen and event in ("open", "os.mkdir", "os.rename"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(args[0]))
            if not number:
                os.pwrite(descriptor, b"%6d" % seen, 0)

    sys.addaudithook(hook)


def run(work: Path, arguments: list[str], number: int | None = None, full: bool = False) -> int:
    """Run the command in a fork, killed before its change `number`. Return its exit code, which is negative for a signal."""
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    said = os.open(work.with_name("said"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1), os.dup2(said, 2)
    sys.argv = ["bertdata", *arguments]
    if number is not None:
        watch(str(work), number, work.with_name("count"), full)
    try:
        main()
    except SystemExit as leave:
        sys.stdout.flush()
        os._exit(int(leave.code or 0))
    os._exit(99)


def files(work: Path) -> tuple[dict[str, str], list[str]]:
    """Return the digest of every file that a reader sees, and the hidden files that a finished run must not leave."""
    paths = {path.relative_to(work): path for path in sorted(work.rglob("*")) if path.is_file()}
    hidden = [name for name in paths if any(part[0] == "." for part in name.parts)]
    left = [str(name) for name in hidden if name.name not in ("lock", "commit", "run.json")]
    return {name.as_posix(): digest(path) for name, path in paths.items() if name not in hidden}, left


def part(digests: dict[str, str], name: str) -> dict[str, str]:
    """Return the digests of the files of one dataset."""
    return {path: digest for path, digest in digests.items() if path.startswith(name)}


def try_all(directory: Path, old: list[str], arguments: list[str], first: int, step: int, full: bool) -> dict[str, Any]:
    """Kill at each change, run again, and return what was wrong."""
    work, kept, wrong = directory / "work", directory / "kept", []
    work.mkdir(parents=True)
    assert not old or run(work, old) == 0, work.with_name("said").read_text()
    shutil.copytree(work, kept)
    before = files(work)[0]
    assert run(work, arguments, 0) == 0, work.with_name("said").read_text()
    after, changes = files(work)[0], int((directory / "count").read_text())
    for number in range(first, changes + 1, step):
        shutil.rmtree(work)
        shutil.copytree(kept, work)
        codes = [run(work, arguments, number, full)]
        said = work.with_name("said").read_text()
        told = not full or codes[0] == 0 or (codes[0] == 4 and "Free some space" in said and "same command" in said)
        seen = files(work)[0]
        made = [f"{path.parent.name}/" for path in work.glob("[!.]*/manifest.json")]
        whole = all(part(seen, name) in (part(before, name), part(after, name)) for name in made)  # the old or the new dataset
        codes.append(run(work, arguments))
        if not (told and whole and codes[-1] == 0 and files(work) == (after, [])):
            wrong.append({"change": number, "codes": codes, "whole": whole, "said": said + work.with_name("said").read_text()})
    return {"changes": changes, "wrong": wrong}


if __name__ == "__main__":
    print(json.dumps(try_all(Path(sys.argv[1]), **json.loads(sys.argv[2])), indent=1))
