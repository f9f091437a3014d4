"""What the Flex Template asks for, made of the command line's options: `python tests/engines/flex_metadata.py` writes it."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import click

from bertdata.config.input_kinds import INPUTS

FOLDER = Path(__file__).resolve().parents[2] / "pipelines" / "dataflow"
COMMANDS = ("build-corpus", "train-vocab", "make-pairs")
LEFT_OUT = {  # of no use to a job that runs elsewhere and is not waited for
    *("dry_run", "no_wait", "workers", "config", "verbose", "beam_args", "help_all"),
    "templates",  # a file of the machine where the command runs
}
_NUMBERS = {"integer": "-?[0-9]+", "integer range": "-?[0-9]+", "float": "[0-9.]+"}
_URL, _FLAG = "[a-z0-9]+://[^;]+", "^(true|false)$"
_PATHS = {*INPUTS, "output", "corpus", "vocab", "exclude", "exclude_ids", "depends_on"}  # which all workers must see


def metadata(name: str) -> dict[str, Any]:
    """Describe a command as a template."""
    command: click.Command = importlib.import_module(f"bertdata.cli.{name.replace('-', '_')}").command
    about = (command.help or "").partition("\b")[0].split("\n\n")[0]
    told = {"name": f"bertdata {name}", "description": " ".join(about.split())}
    first = {"name": "command", "label": "Command", "helpText": f"Write {name}.", "isOptional": False, "regexes": [f"^{name}$"]}
    found = [first]
    for param in command.params:
        if param.name in LEFT_OUT or getattr(param, "hidden", False):
            continue
        spellings = [name for name in (*param.opts, *param.secondary_opts) if len(name.lstrip("-")) > 1]
        found += [_parameter(param, spelling.lstrip("-").replace("-", "_"), command) for spelling in spellings]
    return {**told, "parameters": found}


def _parameter(param: click.Parameter, name: str, command: click.Command) -> dict[str, Any]:
    label = name.replace("_", " ").capitalize()
    text = "What `bertdata build-corpus` has written." if name == "corpus" else getattr(param, "help", "") or ""
    if name in [off.lstrip("-").replace("-", "_") for off in param.secondary_opts]:
        text = f"The opposite of {param.opts[0].lstrip('-').replace('-', '_')}."
    elif (
        not getattr(param, "is_flag", False)
        and param.default not in (None, "", (), param.opts)
        and param.to_info_dict()["default"]
    ):
        given = param.to_info_dict()["default"]
        text += f"  [default: {';'.join(map(str, given)) if isinstance(given, (list, tuple)) else given}]"
    pattern = _pattern(param, name)
    if param.nargs > 1:
        text += f"  Each is {param.metavar}, with a space between."
    if getattr(param, "multiple", False):
        pattern = f"{pattern or '[^;]+'}(;{pattern or '[^;]+'})*"
        text += "  Several with ; between them."
    found = {"name": name, "label": label, "helpText": " ".join(text.split()), "isOptional": not param.required}
    return found | ({"regexes": [f"^{pattern}$"]} if pattern else {})


def _pattern(param: click.Parameter, name: str) -> str:
    if getattr(param, "is_flag", False):
        return _FLAG.strip("^$")
    if param.nargs > 1:
        return f"[^; ]+ {_URL}"
    if isinstance(param.type, click.Choice):
        return f"({'|'.join(param.type.choices)})"
    return _URL if name in _PATHS else _NUMBERS.get(param.type.name, "")


def text(name: str) -> str:
    """Return what the file of a command holds."""
    return json.dumps(metadata(name), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    for each in COMMANDS:
        (FOLDER / f"{each}.json").write_text(text(each), encoding="utf-8")
