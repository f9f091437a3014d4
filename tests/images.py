"""Dockerfiles: their steps, and their images made without a container engine, in directories that lie over one another.

    debootstrap --variant=minbase --include=ca-certificates,python3-venv,python-is-python3 bookworm base
    python tests/images.py Dockerfile --base python:3.11-slim-bookworm=base --output image -- build-corpus --help

As root, on Linux.  A base is the root of a file system: a directory, or several with ``:`` between them that lie over each other,
the lowest first, such as the layers of another image.  It is not changed.  Each step gets a directory with what it adds: a layer,
the size of which is printed.  The words after ``--`` are run in the image, as `docker run` would.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

# Mounts the layers of $0 on the directory $1, and there what $2 lists as HERE:THERE; goes in as the user $3 and runs the rest.
_ENTER = """
mount -t overlay overlay -o "$0" "$1"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
for pair in $2; do
    here=${pair%:*} there=$1${pair#*:}
    if test -d "$here"; then mkdir -p "$there"; else touch "$there"; fi
    mount --rbind "$here" "$there"
done
root=$1 user=$3
shift 3
exec chroot --userspec="$user" "$root" "$@"
"""
_ALWAYS = ("/etc/resolv.conf:/etc/resolv.conf",)  # as Docker does
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def steps(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile: the name of each, and what stands behind it."""
    joined = re.sub(r"\\\n", " ", "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#")))
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line.strip())]


def is_sent(path: str, patterns: Iterable[str]) -> bool:
    """Tell whether the patterns of a .dockerignore let a path through to the builder: the last that fits it says so."""
    sent = True
    for pattern in patterns:
        parts = {"**/": "(?:.*/)?", "*": "[^/]*"}
        exact = "".join(parts.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*)", pattern.removeprefix("!")))
        if re.fullmatch(f"{exact}(?:/.*)?", path):
            sent = pattern.startswith("!")
    return sent


@dataclass(frozen=True)
class Image:
    """Layers, the lowest first, and what holds for a command that is run in them."""

    layers: tuple[Path, ...]
    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": _PATH})
    directory: str = "/"
    user: str = "0"
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    def account(self, user: str) -> tuple[str, str, str]:
        """Return the number of a user, that of the group, and the home: those of the image's passwd, where it is there."""
        name, _, group = user.partition(":")
        passwd = next(found for layer in reversed(self.layers) if (found := layer / "etc/passwd").exists())
        for known, _, number, own, _, home, _ in (line.split(":") for line in passwd.read_text().splitlines()):
            if name in (known, number):
                return number, group or own, home
        return name, group or "0", "/"

    def words(
        self,
        words: Sequence[str],
        scratch: Path,
        *,
        volumes: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        user: str = "",
    ) -> list[str]:
        """Return the words that run a command here; what it writes goes to `scratch`/upper, and it ends with this process.

        Args:
            words: the command.
            scratch: a directory of its own.
            volumes: HERE:THERE, what of this machine is seen there.
            environment: variables besides those of the image.
            user: another than the image's.
        """
        for name in ("upper", "work", "root"):
            (scratch / name).mkdir(parents=True, exist_ok=True)
        number, group, home = self.account(user or self.user)
        below = ":".join(map(str, reversed(self.layers)))
        overlay = f"lowerdir={below},upperdir={scratch}/upper,workdir={scratch}/work"
        told = {"HOME": home, **self.environment, **(environment or {})}
        alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", _ENTER]
        enter = [*alone, overlay, f"{scratch}/root", " ".join((*_ALWAYS, *volumes)), f"{number}:{group}"]
        return [*enter, "env", "-i", "-C", self.directory, *(f"{key}={value}" for key, value in told.items()), *words]

    def run(self, *words: str, volumes: Sequence[str] = (), environment: Mapping[str, str] | None = None, user: str = "") -> int:
        """Run what `docker run` would, with these words after the image's name; return the exit code."""
        with tempfile.TemporaryDirectory(dir=self.layers[-1].parent) as scratch:
            said = [*self.entrypoint, *(words or self.command)]
            return subprocess.call(self.words(said, Path(scratch), volumes=volumes, environment=environment, user=user))


def build(
    dockerfile: Path,
    context: Path,
    bases: Mapping[str, Sequence[Path]],
    output: Path,
    *,
    arguments: Mapping[str, str] | None = None,
    volumes: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Image:
    """Carry out the steps of a Dockerfile, and print the size of each layer.

    Args:
        dockerfile: the file.
        context: the directory that is sent to the builder, less what its .dockerignore holds back.
        bases: name in FROM -> layers, the lowest first.
        output: where the layers are made: a new directory.
        arguments: values of ARG.
        volumes: as in `Image.words`, for RUN.
        environment: variables for RUN alone.
    """
    stages: dict[str, Image] = {}
    image, given, stage = Image(()), dict(arguments or {}), ""
    known: dict[str, str] = {}
    for number, (name, text) in enumerate(steps(dockerfile.read_text(encoding="utf-8"))):
        began, layer = time.monotonic(), output / f"{number:02d}"
        rest = text if name == "RUN" else string.Template(text).safe_substitute({**known, **image.environment})
        if name == "FROM":
            base, _, stage = rest.partition(" AS ")
            image, known = Image(tuple(each.resolve() for each in bases[base])), {}
        elif name == "ARG":
            known |= {key: given.get(key, default) for key, _, default in [rest.partition("=")]}
        elif name == "ENV":
            added = dict(word.split("=", 1) for word in shlex.split(rest))
            image = replace(image, environment={**image.environment, **added})
        elif name in ("ENTRYPOINT", "CMD"):
            image = replace(image, **{"entrypoint" if name == "ENTRYPOINT" else "command": tuple(json.loads(rest))})
        elif name == "USER":
            image = replace(image, user=rest)
        elif name == "WORKDIR":
            image = replace(image, directory=os.path.join(image.directory, rest))
            (layer / "upper" / image.directory[1:]).mkdir(parents=True)
        elif name == "COPY":
            _copy(shlex.split(rest), image, stages, context, (layer / "upper").resolve())
        elif name == "RUN":
            told = {**known, **(environment or {})}
            words = image.words(["/bin/sh", "-c", rest], layer.resolve(), volumes=volumes, environment=told)
            subprocess.run(words, check=True)
            shutil.rmtree(layer / "work")
        else:
            raise ValueError(f"{name}: not a step that is known here")
        if (layer / "upper").exists():
            image = replace(image, layers=(*image.layers, (layer / "upper").resolve()))
        stages[stage] = image
        print(f"{size(layer / 'upper') / 1e6:8.1f} MB {time.monotonic() - began:6.1f} s  {name} {rest[:90]}", flush=True)
    return image


def _copy(words: list[str], image: Image, stages: Mapping[str, Image], context: Path, layer: Path) -> None:
    """Copy files from the context, or from another stage, into a layer."""
    start, *sources, target = words if words[0].startswith("--from=") else ["", *words]
    to = layer / os.path.join(image.directory, target)[1:]
    if start:
        (source,) = sources
        to.parent.mkdir(parents=True)
        there = f"/layer/{to.relative_to(layer)}"
        stage = stages[start.partition("=")[2]]
        with tempfile.TemporaryDirectory(dir=layer.parent) as scratch:
            copied = stage.words(["cp", "-aT", source, there], Path(scratch), volumes=[f"{layer}:/layer"], user="0")
            subprocess.run(copied, check=True)
        return
    patterns = [line for line in (context / ".dockerignore").read_text(encoding="utf-8").split() if line]
    into = len(sources) > 1 or target.endswith("/") or "*" in sources[0]
    for found in [each for source in sources for each in sorted(context.glob(source))]:
        for path in sorted(found.rglob("*")) if found.is_dir() else [found]:
            if path.is_file() and is_sent(str(path.relative_to(context)), patterns):
                inside = path.relative_to(found) if found.is_dir() else Path(found.name if into else "")
                (to / inside).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to / inside)


def size(layer: Path) -> int:
    """Return how many bytes the files of a layer have."""
    found = (path.lstat() for path in layer.rglob("*") if path.is_file() and not path.is_symlink())
    return sum({each.st_ino: each.st_size for each in found}.values())


def _pairs(words: Sequence[str]) -> dict[str, str]:
    return dict(word.rsplit("=", 1) for word in words)


def main(words: list[str]) -> int:
    """Build an image and run a command there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dockerfile", type=Path)
    parser.add_argument("--base", action="append", required=True, metavar="NAME=DIRECTORY", help="what a FROM names")
    parser.add_argument("--output", type=Path, required=True, metavar="DIRECTORY", help="where layers are made")
    parser.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE", help="an ARG")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable for RUN and the command")
    parser.add_argument("--volume", action="append", default=[], metavar="HERE:THERE", help="what RUN and the command see there")
    parser.add_argument("--user", default="", help="run the command as another user than the image's")
    at = words.index("--") if "--" in words else len(words)
    given = parser.parse_args(words[:at])
    bases = {name: [Path(each) for each in root.split(":")] for name, root in _pairs(given.base).items()}
    here = {"volumes": given.volume, "environment": _pairs(given.env)}
    image = build(given.dockerfile, Path.cwd(), bases, given.output, arguments=_pairs(given.build_arg), **here)
    return image.run(*words[at + 1 :], user=given.user, **here)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
