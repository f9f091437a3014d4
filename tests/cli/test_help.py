"""Help fits a screen, leaves nothing out, and names what a misspelt word may mean."""

from __future__ import annotations

import re

import click
import pytest
from calling import call

from bertdata.cli import _COMMANDS, cli

NAMES = [name for name in _COMMANDS if name != "download"]


def options_of(name: str) -> list[click.Option]:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None and command.help
    return [param for param in command.params if isinstance(param, click.Option) and not param.hidden]


@pytest.mark.parametrize("name", NAMES)
def test_help_fits_a_screen_and_help_all_explains_all(name: str) -> None:
    brief = call(name, "--help").out
    assert len(brief.splitlines()) <= 60 and f"Usage: bertdata {name}" in brief
    assert [option.opts for option in options_of(name) if option.opts[0] not in brief] == []
    full = call(name, "--help-all" if "--help-all" in brief else "--help", width=200).out
    for option in options_of(name):
        assert re.search(rf"^  .*{option.opts[-1]}\b.*\s+\S", full, re.M), f"{option.opts} has no help"
        assert re.fullmatch(r".+\.(  \[default: [^]]+\])?", option.help or ""), f"{option.opts}: sentences, and the default"


def test_bounds_and_defaults_are_those_of_the_configuration() -> None:
    full = call("make-pairs", "--help-all", width=300).out
    assert re.search(r"--max-seq-length N .*\[default: 128; 16<=x<=65536\]", full)
    assert re.search(r"--short-seq-prob .*\[default: 0.1 for pairs, 0 for other rows\]", full)
    assert re.search(r"--seed .*\[default: 12345\]", full)


def test_commands_and_exit_codes_are_listed() -> None:
    shown = call("--help").out
    assert all(f"  {name}  " in shown for name in _COMMANDS) and "Exit codes" in shown
    assert re.fullmatch(r"bertdata, version \d+\.\d+\.\d+\n", call("--version").out)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["make_pairs"], "make-pairs"),
        (["vreify"], "verify"),
        (["download", "wikipeda"], "wikipedia"),
        (["build-corpus", "--ouput", "x"], "--output"),
        (["build-corpus", "--varient", "x"], "--variant"),
        (["make-pairs", "x", "--max-seq-len", "9"], "--max-seq-length"),
    ],
)
def test_a_misspelt_word_is_answered_with_the_nearest(words: list[str], meant: str) -> None:
    done = call(*words)
    assert done.code == 2 and re.search(rf"Did you mean.*'?{meant}'?", done.err)
