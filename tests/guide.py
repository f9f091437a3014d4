"""The reader, the filter and the script of docs/how-to/extending.md, written into a directory as a user would."""

from __future__ import annotations

import gzip
import re
import shlex
from pathlib import Path

from conftest import REPOSITORY

__all__ = ["code", "write_guide"]

GUIDE = (REPOSITORY / "docs" / "how-to" / "extending.md").read_text(encoding="utf-8")
PAGES = ["The kettle sings. See http://x.y or it boils.\nTwo cups stand by.", "Take one tablespoon of tea. Stir it well."]


def code() -> list[str]:
    """Return the Python blocks of the guide; the last is a script."""
    return re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


def write_guide(directory: Path) -> list[str]:
    """Write mine.py, script.py, which writes to `again`, and a WET file of two pages; return the arguments of the command."""
    *own, script = code()
    (directory / "mine.py").write_text("\n\n".join(own))
    (directory / "script.py").write_text(script.replace('output="corpus"', 'output="again"'))
    records = ["WARC/1.0\r\nWARC-Type: warcinfo\r\n\r\nabout\r\n\r\n"]
    for number, text in enumerate(PAGES):
        head = f"WARC-Type: conversion\r\nWARC-Target-URI: http://example.org/{number}"
        records.append(f"WARC/1.0\r\n{head}\r\n\r\n{text}\r\n\r\n")
    (directory / "crawl").mkdir()
    (directory / "crawl" / "a.warc.wet.gz").write_bytes(gzip.compress("".join(records).encode()))
    command = re.search(r"^bertdata (build-corpus --read.*\\\n.*)$", GUIDE, re.MULTILINE)
    assert command
    return [*shlex.split(command[1].replace("\\\n", "")), "--min-letters", "0"]
