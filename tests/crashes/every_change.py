"""Kill a command before each change that it makes on the disk, one after the other, and finish it with the same command.

    python every_change.py DIRECTORY '{"old": […], "arguments": […], "how": […], "first": 1, "step": 5}'

The command runs in forks of this process, so that it need not load its libraries a hundred times; a hook of Python itself
(`sys.addaudithook`) sees every call that makes, opens for writing, renames or removes something below DIRECTORY, and kills.
Prints, as JSON, how many changes an unbroken run makes and what went wrong.  With `again`, the run that goes on is killed as
well: the first run at its change number `again`, the second one at each.  With `full`, nothing is killed: from that change on
the disk has no space, and the command must say so, with exit code 4.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import bertdata.chains.build_corpus
import bertdata.chains.make_pairs
import bertdata.chains.train_vocab  # noqa: F401
from bertdata.cli import main

_CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.link", "os.symlink"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def watch(work: str, number: int, told: Path, full: bool) -> None:
    """Count changes below `work` into a file; die before the one of this number, or let it and all later ones fail."""
    seen = 0

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal seen
        if event == "open":
            changes = bool(args[2] & _WRITES) and str(args[0]).startswith(work)
        else:
            changes = event in _CHANGES and (not str(args[0]).startswith("/") or str(args[0]).startswith(work))
        if changes:
            seen += 1
            if seen == number and not full:
                os.kill(os.getpid(), signal.SIGKILL)
            if 0 < number <= seen and event in ("open", "os.mkdir", "os.rename"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(args[0]))
            if not number:
                os.pwrite(descriptor, b"%6d" % seen, 0)

    descriptor = os.open(told, os.O_WRONLY | os.O_CREAT)
    sys.addaudithook(hook)


def run(work: Path, arguments: list[str], number: int | None = None, full: bool = False) -> int:
    """Run the command in a fork, killed before its change `number`; return its exit code, that of a signal below zero."""
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


def digests(work: Path) -> dict[str, str]:
    """Hash every file that a reader of `work` sees."""
    files = [path for path in sorted(work.rglob("*")) if path.is_file()]
    seen = [path for path in files if not any(part[0] == "." for part in path.relative_to(work).parts)]
    return {path.relative_to(work).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in seen}


def left(work: Path) -> list[str]:
    """Name what a finished run must not leave."""
    hidden = [path for path in work.rglob("*") if any(part[0] == "." for part in path.relative_to(work).parts)]
    known = {".bertdata", "lock", "commit", "run.json"}
    return [str(path) for path in hidden if path.name not in known]


def whole(work: Path, *known: dict[str, str]) -> bool:
    """Return True if every directory with a manifest is one of the datasets that are known, file by file."""
    found = digests(work)
    for manifest in work.glob("[!.]*/manifest.json"):
        name = manifest.parent.name + "/"
        own, *others = ({k: d for k, d in one.items() if k.startswith(name)} for one in (found, *known))
        if own not in others:
            return False
    return True


def try_all(directory: Path, told: dict[str, Any]) -> dict[str, Any]:
    """Kill at each change, run again, and tell what was wrong."""
    work, kept, wrong = directory / "work", directory / "kept", []
    arguments, how, again, full = told["arguments"], told["how"], told.get("again", 0), told.get("full", False)
    work.mkdir(parents=True)
    if told["old"]:
        assert run(work, told["old"]) == 0, work.with_name("said").read_text()
    shutil.copytree(work, kept)
    old = digests(work)
    assert run(work, [*arguments, *how], 0) == 0, work.with_name("said").read_text()
    new, changes = digests(work), int((directory / "count").read_text())
    for number in range(told["first"], changes + 1, told["step"]):
        shutil.rmtree(work)
        shutil.copytree(kept, work)
        codes = [run(work, [*arguments, *how], again or number, full)]
        refused, done = work.with_name("said").read_text(), codes[0] == 0 and digests(work) == new
        if again:
            codes.append(run(work, [*arguments, *how], number))
        stood = whole(work, old, new)
        codes.append(run(work, [*arguments, *how]))
        same, rest = digests(work) == new, left(work)
        told_so = not full or done or (codes[0] == 4 and "free some space" in refused and "same command" in refused)
        if not (stood and same and told_so and codes[-1] == 0) or rest:
            said = refused + work.with_name("said").read_text()
            wrong.append({"change": number, "codes": codes, "whole": stood, "same": same, "left": rest, "said": said})
    return {"changes": changes, "wrong": wrong}


if __name__ == "__main__":
    print(json.dumps(try_all(Path(sys.argv[1]), json.loads(sys.argv[2])), indent=1))
