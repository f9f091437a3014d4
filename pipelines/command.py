"""Run a pipeline as a module, with its command's options followed, from ``--runner`` on, by Beam options.

python -m bertdata.pipelines.build_corpus --wikipedia dumps --output corpus --runner=FlinkRunner --flink_master=host:8081
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["command_line", "run"]


def run(command: str) -> None:
    """Replace this process with ``bertdata COMMAND`` and the arguments of this process."""
    os.execv(sys.executable, [sys.executable, "-m", "bertdata", *command_line(command, sys.argv[1:])])


def command_line(command: str, arguments: Sequence[str]) -> list[str]:
    """Separate Beam options with ``--``, as bertdata's command line requires.

    >>> command_line("build-corpus", ["--books", "books", "--runner=FnApiRunner", "--direct_num_workers=2"])
    ['build-corpus', '--books', 'books', '--', '--runner=FnApiRunner', '--direct_num_workers=2']
    >>> command_line("build-corpus", ["--books", "books"])
    ['build-corpus', '--books', 'books']
    """
    names = [argument.partition("=")[0] for argument in arguments]
    if "--runner" not in names or "--" in names:
        return [command, *arguments]
    first = names.index("--runner")
    return [command, *arguments[:first], "--", *arguments[first:]]
