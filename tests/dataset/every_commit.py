"""Kill a process before each change that it makes on the disk while it puts a dataset in place, then run a command again.

    python every_commit.py DIRECTORY true|false          replaces a dataset, or is the first

Prints, as JSON, for each kill: which dataset is in place at once, after the same command, and after one with other settings.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bertdata.dataset.build import building
from bertdata.errors import OutputExistsError
from bertdata.storage.files import write_json, write_text

_CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.link", "os.symlink"}
_FILES = {"old": ("README.md", "data/a", "data/b", "dropped/a"), "new": ("README.md", "data/a", "data/b", "data/c", "rejects/a")}


def command(directory: Path, name: str, which: str, *, dies: bool = False, overwrite: bool = False) -> None:
    """Write a dataset, each of whose files has its name, unless it is complete; die when it is whole, before it is moved."""
    with contextlib.suppress(OutputExistsError), building(directory, {"command": name}, overwrite=overwrite) as root:
        if root is not None:
            for file in _FILES[which]:
                write_text(root / file, which)
            write_json(root / "manifest.json", {"data": which})
            if dies:
                os.kill(os.getpid(), signal.SIGKILL)


def seen(directory: Path) -> str:
    """Tell which dataset is in place: ``none`` without a manifest, ``mix`` for one that is not whole."""
    if not (directory / "manifest.json").exists():
        return "none"
    which = json.loads((directory / "manifest.json").read_text())["data"]
    paths = [path for path in directory.rglob("*") if path.is_file() and ".bertdata" not in path.parts]
    contents = {path.relative_to(directory).as_posix(): path.read_text() for path in paths if path.name != "manifest.json"}
    return which if contents == dict.fromkeys(_FILES[which], which) else "mix"


def killed(work: Callable[[], None], directory: Path, number: int) -> bool:
    """Do some work in a fork, killed before its change `number`; return whether it was."""
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0
    count = 0

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal count
        opens = event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and str(args[0]).startswith(str(directory))
        if opens or event in _CHANGES:
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    work()
    os._exit(0)


def main(work: Path, replaces: bool) -> None:
    """Print the states after a kill at each change of a commit; the last one is without a kill."""
    kept, directory, after = (work / name for name in ("kept", "corpus", "after"))
    if replaces:
        command(kept, "old", "old")
    assert killed(lambda: command(kept, "new", "new", dies=True, overwrite=True), kept, 0)
    states, number, again = [], 0, True
    while again:
        number += 1
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(kept, directory)
        again = killed(lambda: command(directory, "new", "new"), directory, number)
        states.append([seen(directory)])
        for name in ("new", "other"):
            shutil.rmtree(after, ignore_errors=True)
            shutil.copytree(directory, after)
            command(after, name, "new")
            states[-1].append(seen(after))
        left = {*os.listdir(after / ".bertdata")} - {"lock", "commit", "run.json"}
        assert not left, left
    print(json.dumps(states))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
