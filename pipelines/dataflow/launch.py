"""Start bertdata from a Dataflow Flex Template: convert parameters to a command line, and pass all others to Beam.

    --command=train-vocab --corpus=gs://b/corpus --cased=true --output=gs://b/vocab --runner=DataflowRunner --region=…
    bertdata train-vocab gs://b/corpus --cased --output gs://b/vocab --no-wait -- --runner=DataflowRunner --region=…

The ``*.json`` files in this folder define the parameters of each command. A parameter of ``true`` or ``false`` is a flag, one
whose pattern contains ``;`` may have several values, and one whose pattern contains a space takes a value of two words.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["command_line"]

_FLAG = "^(true|false)$"
_HERE = Path(__file__).resolve().parent


def command_line(arguments: Sequence[str], image: str = "") -> list[str]:
    """Convert the arguments from Dataflow's launcher to a command line. Workers run `image` unless another one is named.

    Raise SystemExit for an unknown command.
    """
    options = dict(
        argument.removeprefix("--").split("=", 1) for argument in arguments if argument.startswith("--") and "=" in argument
    )
    command = options.get("command", "")
    if command not in (path.stem for path in _HERE.glob("*.json")):
        raise SystemExit(f"bertdata: no command {command!r}. Set the parameter command=build-corpus, train-vocab or make-pairs")
    parameters = json.loads((_HERE / f"{command}.json").read_text(encoding="utf-8"))["parameters"]
    patterns = {parameter["name"]: "".join(parameter.get("regexes", ())) for parameter in parameters}
    words: list[str] = [command]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if name not in patterns or name == "command" or not value:
            continue  # a parameter left empty in a form is not set
        if name == "corpus":
            words.append(value)
        elif patterns[name] == _FLAG:
            words += [option] if value == "true" else []
        else:
            for each in value.split(";") if ";" in patterns[name] else [value]:
                words += [option, *(each.split(" ", 1) if " " in patterns[name] else [each])]
    beam = [argument for argument in arguments if argument.removeprefix("--").partition("=")[0] not in patterns]
    if image and "sdk_container_image" not in options:
        beam.append(f"--sdk_container_image={image}")
    return [*words, "--no-wait", "--", *beam]


if __name__ == "__main__":
    os.execv(
        sys.executable, [sys.executable, "-m", "bertdata", *command_line(sys.argv[1:], os.environ.get("BERTDATA_IMAGE", ""))]
    )
