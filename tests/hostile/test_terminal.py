"""Escape sequences in titles, names, settings and a server's words reach no terminal, by no command."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import sys
from pathlib import Path

import pytest
from conftest import Build, read_rows
from loopback import Answer, serving

from bertdata.cli import main
from bertdata.storage.terminal import guard

# colours, window title, link, clipboard, cursor, C1 forms of them, bidirectional overrides
EVIL = "\x1b[31m\x1b]0;owned\x07\x1b]8;;file:///etc\x1b\\link\x1b]52;c;cm0=\x07\x1b[2J\x9b31m\x9d0;x\x9c\u202e\u2066\r\x08\x7f"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
TEXT = "The ferry crossed the harbour. A miller measured the lamps. Nobody painted the bridge. The tide followed the road."


def shown(*arguments: object, code: int = 0) -> str:
    """Run the command line in this process; return all that it prints."""
    printed, root = io.StringIO(), logging.getLogger()
    old, handlers, level = sys.argv, root.handlers[:], root.level
    try:
        sys.argv = ["bertdata", *map(str, arguments)]
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), pytest.raises(SystemExit) as left:
            main()
    finally:
        sys.argv, root.handlers[:] = old, handlers
        root.setLevel(level)
    assert left.value.code == code, printed.getvalue()
    assert not STEERING.search(printed.getvalue()), arguments
    return printed.getvalue()


@pytest.mark.slow
def test_no_command_prints_what_steers_a_terminal(build: Build, tmp_path: Path) -> None:
    name = EVIL.replace("/", "")
    source = tmp_path / f"a{name}.jsonl"
    rows = [{"title": EVIL, "text": TEXT.replace("A ", f"{n} "), "id": f"{n}{EVIL}", "url": EVIL} for n in range(60)]
    source.write_text("\n".join([*map(json.dumps, rows), '{"text": "\\u001b']) + "\n", encoding="utf-8")
    options = ["--text", source, "--id-column", "id", "--dedup", "none", "--max-rejects", 1]
    corpus = build("build-corpus", tmp_path / "corpus", *options)
    assert "60 documents" in shown("build-corpus", *options, "--workers", 1, "--output", tmp_path / f"o{name}")
    assert "owned" in shown("inspect", corpus, "--n", 2)
    assert EVIL in (id := read_rows(corpus)[7]["id"]) and "row 7" in shown("inspect", corpus, "--explain", id)
    shown("train-vocab", corpus, "--size", 300, "--workers", 1, "--output", tmp_path / "vocab")
    shown("make-pairs", corpus, "--vocab", tmp_path / "vocab", "--provenance", "--workers", 1, "--output", tmp_path / "pairs")
    assert "owned" in shown("inspect", tmp_path / "pairs", "--n", 3)
    shown("verify", corpus)
    for file in ("README.md", "report.html"):
        assert not STEERING.search((corpus / file).read_text(encoding="utf-8"))
    bad = tmp_path / f"{name}.toml"
    bad.write_text(f"[build-corpus]\n{json.dumps(EVIL)} = 1".replace("\\u007f", "\\u0001"), encoding="utf-8", errors="replace")
    output = ["--output", tmp_path / "no"]
    for arguments in (
        ["run", bad],
        ["build-corpus", "--text", tmp_path / f"missing{name}.txt", *output],
        ["build-corpus", "--text", source, "--sentence-splitter", EVIL, *output],
        ["build-corpus", "--text", source, "--language", EVIL, *output],
        [f"no-such-{EVIL}"],
        ["inspect", tmp_path / name],
        ["inspect", corpus, "--explain", EVIL],
        ["make-pairs", corpus, "--vocab", bad, *output],
        ["train", bad],
    ):
        shown(*arguments, code=2)
    with serving() as server:
        server.script["/enwiki/"] = [Answer(403)]
        server.files["/enwiki/20260101/dumpstatus.json"] = json.dumps(
            {"jobs": {EVIL: {}, "articlesdump": {"status": EVIL}}}
        ).encode()
        options = ["download", "wikipedia", "--language", "en", "--base-url", server.url, "--output", tmp_path / "d"]
        shown(*options, code=4)
        shown(*options, "--date", 20260101, code=2)
    assert not (tmp_path / "no").exists() and not (tmp_path / "d").exists()


def test_both_streams_are_guarded(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    guard()
    guard()  # a second one changes nothing
    print(EVIL)
    sys.stderr.writelines([EVIL, "\n"])
    logging.StreamHandler().emit(logging.LogRecord("a", logging.ERROR, "a", 1, EVIL, None, None))
    printed = "".join(capsys.readouterr())
    assert printed.count("owned") == 3 and not STEERING.search(printed)
