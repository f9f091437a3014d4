"""Kill a process before each change that it makes on the disk while it puts a dataset in place, then run a command again.

    python every_commit.py DIRECTORY true|false          replaces a dataset, or is the first

Prints, as JSON, how many changes a commit makes, and which dataset is in place after each kill: at once, after the same command
is run again, and after a command with other settings. Then the files that are left in the state directory.
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
_OLD, _NEW, _OTHER = ({"command": name} for name in ("old", "new", "other"))
_FILES = {"old": ("README.md", "data/a", "data/b", "dropped/a"), "new": ("README.md", "data/a", "data/b", "data/c", "rejects/a")}


def write(root: Path, which: str) -> None:
    """Write the files of a dataset, each of which holds its name, and its manifest."""
    for name in _FILES[which]:
        write_text(root / name, which)
    write_json(root / "manifest.json", {"data": which})


def seen(directory: Path) -> str:
    """Tell which dataset is in place: ``none`` without a manifest, ``mix`` for one that is not whole."""
    if not (directory / "manifest.json").exists():
        return "none"
    which = json.loads((directory / "manifest.json").read_text())["data"]
    paths = [path for path in directory.rglob("*") if path.is_file() and ".bertdata" not in path.parts]
    found = {path.relative_to(directory).as_posix(): path.read_text() for path in paths if path.name != "manifest.json"}
    return which if found == dict.fromkeys(_FILES[which], which) else "mix"


def forked(work: Callable[[], None], directory: Path, number: int) -> bool:
    """Do some work in a fork, killed before its change `number`; tell whether it was."""
    if pid := os.fork():
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert code in (0, -signal.SIGKILL)
        return code != 0
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


def again(directory: Path, identity: dict[str, Any]) -> None:
    """Give a command again, one that writes the new dataset where it is not whole."""
    with contextlib.suppress(OutputExistsError), building(directory, identity) as root:
        if root is not None:
            write(root, "new")


def try_all(work: Path, replaces: bool) -> dict[str, Any]:
    """Kill the same command at each change of a commit. Return what is seen."""
    kept, directory, after = (work / name for name in ("kept", "corpus", "after"))
    if replaces:
        with building(kept, _OLD) as root:
            write(root, "old")

    def build() -> None:
        with building(kept, _NEW, overwrite=True) as root:
            write(root, "new")
            os.kill(os.getpid(), signal.SIGKILL)  # when it is whole

    assert forked(build, kept, 0)
    states = []
    for number in range(1, 200):
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(kept, directory)
        killed = forked((lambda: again(directory, _NEW)), directory, number)
        state = [seen(directory)]
        for step in (lambda: again(after, _NEW), lambda: again(after, _OTHER)):
            shutil.rmtree(after, ignore_errors=True)
            shutil.copytree(directory, after)
            assert not forked(step, after, 0)
            state.append(seen(after))
        assert not forked(lambda: again(directory, _NEW), directory, 0)
        left = sorted({*os.listdir(directory / ".bertdata")} - {"lock", "commit", "run.json"})
        states.append([*state, *left])
        if not killed:
            break
    shutil.rmtree(work)
    return {"changes": number, "states": states}


if __name__ == "__main__":
    print(json.dumps(try_all(Path(sys.argv[1]), json.loads(sys.argv[2]))))
