"""Escape sequences in titles, names, settings and a server's words reach no terminal, by no command; reports escape markup."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import sys
import xml.dom.minidom
from pathlib import Path

import numpy as np
import pytest
from conftest import Build, Run, read_rows
from loopback import Answer, serving

from bertdata.cli import main
from bertdata.reports.page.charts import curves, flow, histogram
from bertdata.storage.terminal import clean, guard
from bertdata.tally import StageCounts

pytestmark = pytest.mark.long

# colours, window title, link, clipboard, cursor, C1 forms of them, bidirectional overrides, a half of a character
EVIL = "\x1b[31m\x1b]0;owned\x07\x1b]8;;file:///etc\x1b\\link\x1b]52;c;cm0=\x07\x1b[2J\x9b31m\x9d0;x\x9c\u202e\u2066\r\x08\x7f"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
MARKUP = "<script>alert(1)</script>|[red]x[/red]|\n---\nlicense: mit\n---\n# Owned"
TEXT = "The ferry crossed the harbour. A miller measured the lamps. Nobody painted the bridge. The tide followed the road."
DUMP = "<mediawiki xml:lang='{0}'><siteinfo><dbname>{0}</dbname></siteinfo><page><title>{0}</title></page></mediawiki>"


def shown(*arguments: object, code: int = 0) -> str:
    """Run the whole command line, in this process, which is faster; return all that it shows."""
    said, (root, handlers, level) = io.StringIO(), ((log := logging.getLogger()), log.handlers[:], log.level)
    old = sys.argv
    try:
        sys.argv = ["bertdata", *map(str, arguments)]
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.raises(SystemExit) as left:
            main()
    finally:
        sys.argv, root.handlers[:] = old, handlers
        root.setLevel(level)
    told = said.getvalue()
    assert left.value.code == code, told
    assert not (found := STEERING.search(told)), (arguments, told[max(0, found.start() - 40) :][:90])
    return told


@pytest.fixture(scope="module")
def corpus(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents whose titles, ids, languages and addresses are hostile, in a file with a hostile name."""
    root = tmp_path_factory.mktemp("terminal")
    name = f"a{EVIL.replace('/', '')}\n---\nlicense: x | [a](b) <b>.jsonl"
    rows = [
        {"title": EVIL + MARKUP, "text": TEXT.replace("A ", f"{n} "), "id": f"{n}{EVIL}", "language": EVIL} for n in range(60)
    ]
    broken = [
        '{"text": "' + EVIL.encode("ascii", "backslashreplace").decode() + "\ud800".encode("ascii", "backslashreplace").decode()
    ]
    lines = [json.dumps({**row, "url": EVIL}) for row in rows] + broken
    (root / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return build("build-corpus", root / "corpus", "--text", root / name, "--id-column", "id", "--dedup", "none")


def test_building_training_and_looking_at_hostile_documents(corpus: Path, tmp_path: Path) -> None:
    source = next(corpus.parent.glob("*.jsonl"))
    built = shown("build-corpus", "--text", source, "--workers", 1, "--output", tmp_path / f"o{clean(EVIL)}".replace("/", ""))
    assert "60 documents" in built
    assert "1 file" in shown("build-corpus", "--text", source, "--dry-run", "--output", tmp_path / "x")
    assert "owned" in shown("inspect", corpus, "--n", 2)
    id = read_rows(corpus)[7]["id"]
    assert EVIL in id and "row 7" in shown("inspect", corpus, "--explain", id)
    shown("inspect", corpus, "--explain", EVIL, code=2)
    shown("train-vocab", corpus, "--size", 300, "--workers", 1, "--output", tmp_path / "vocab")
    shown("make-pairs", corpus, "--vocab", tmp_path / "vocab", "--provenance", "--workers", 1, "--output", tmp_path / "pairs")
    assert "owned" in shown("inspect", tmp_path / "pairs", "--n", 3)
    shown("verify", corpus)


def test_errors_that_quote_hostile_words(corpus: Path, tmp_path: Path) -> None:
    name = EVIL.replace("/", "")
    odd = tmp_path / f"{name}.xml"
    odd.write_text(DUMP.format(EVIL.replace("\x1b", "").replace("\x07", "")), encoding="utf-8", errors="replace")
    bad = tmp_path / f"{name}.toml"
    settings = {  # what a configuration says, and how the command that reads it ends
        f'["{json.dumps(EVIL)[1:-1]}"]\na = 1': 2,
        f"[build-corpus]\n{json.dumps(EVIL)} = 1": 2,
        f"[build-corpus]\nlanguage = {json.dumps(EVIL)}\nformat = {json.dumps(EVIL)}": 2,
        f"a = {EVIL}": 2,
    }
    source = next(corpus.parent.glob("*.jsonl"))
    for text, code in settings.items():
        bad.write_text(text.replace("\\u007f", "\\u0001"), encoding="utf-8", errors="replace")
        shown("run", bad, code=code)
    bad.write_text(f'[templates]\n{json.dumps(EVIL).replace(chr(127), "")} = "{{{{"', encoding="utf-8")
    shown("build-corpus", "--wikipedia", odd, "--templates", bad, "--output", tmp_path / "no", code=2)
    shown("build-corpus", "--text", tmp_path / f"missing{name}.txt", "--output", tmp_path / "no", code=2)
    shown("build-corpus", "--text", source, "--sentence-splitter", EVIL, "--output", tmp_path / "no", code=2)
    shown(f"no-such-{EVIL}", code=2)
    shown("inspect", tmp_path / name, code=2)
    shown("make-pairs", corpus, "--vocab", bad, "--output", tmp_path / "no", code=2)
    shown("make-pairs", corpus, "--vocab", bad, f"--{EVIL}", "--output", tmp_path / "no", code=2)
    shown("train", bad, code=2)
    shown("demo", "--output", bad / name, code=4)
    assert not (tmp_path / "no").exists()


def test_verbose_tracebacks_and_logs_are_guarded(corpus: Path, run: Run, tmp_path: Path) -> None:
    """In a process of its own: here its traceback is Python's to print."""
    (tmp_path / "evil.py").write_text(f"def split(text, language):\n    raise ValueError({EVIL!r})\n")
    options = ("--text", next(corpus.parent.glob("*.jsonl")), "--sentence-splitter", "evil:split", "--verbose", "--workers", 1)
    done = run("build-corpus", *options, "--output", tmp_path / "no", code=2, PYTHONPATH=str(tmp_path))
    assert "ValueError" in done.stderr and not STEERING.search(done.stdout + done.stderr)


@pytest.mark.slow
def test_a_server_that_sends_escape_sequences(tmp_path: Path) -> None:
    with serving() as server:
        url = server.url
        server.script["/enwiki/"] = [Answer(500, {"X": "y"}), Answer(403)]
        shown("download", "wikipedia", "--language", "en", "--base-url", url, "--output", tmp_path / "d", code=4)
        server.files["/enwiki/20260101/dumpstatus.json"] = json.dumps(
            {"jobs": {EVIL: {}, "articlesdump": {"status": EVIL}}}
        ).encode()
        arguments = (
            "download",
            "wikipedia",
            "--language",
            "en",
            "--date",
            "20260101",
            "--base-url",
            url,
            "--output",
            tmp_path / "d",
        )
        shown(*arguments, code=2)
        files = {f"enwiki-20260101-{EVIL}": {"size": 3, "sha1": "0" * 40}}
        job = {"status": "done", "files": {name.replace("/", ""): entry for name, entry in files.items()}}
        server.files["/enwiki/20260101/dumpstatus.json"] = json.dumps({"jobs": {"articlesdump": job}}).encode()
        assert "not a safe name" in shown(*arguments, code=6)
    assert not (tmp_path / "d").exists()


def test_the_data_card_is_one_table_under_one_front_matter(corpus: Path) -> None:
    card = (corpus / "README.md").read_text(encoding="utf-8")
    assert [number for number, line in enumerate(card.splitlines()) if line == "---"] == [0, 12]
    assert "license: x" in card and len(re.findall("^license", card, re.MULTILINE)) == 1
    assert not STEERING.search(card)
    rows = [line for line in card.splitlines() if "jsonl" in line]
    assert len(rows) == 1 and rows[0].count("|") == 4 and "<b>" not in card and "[a](b)" not in card


def test_a_picture_is_xml_whatever_a_stage_is_called() -> None:
    stage = StageCounts(stage=f"{MARKUP} pages", entered=2, left=1, dropped={EVIL + MARKUP: 1}, rejected={})
    _, histogram_, _ = histogram(EVIL + MARKUP, "<b>", [(MARKUP, np.array([1, 2]))])
    for drawn in (flow([stage]), histogram_, curves([(EVIL + MARKUP, [(0.0, 1.0), (1.0, 2.0)])])):
        assert not STEERING.search(drawn)
        names = {node.tagName for node in xml.dom.minidom.parseString(drawn).getElementsByTagName("*")}
        assert names <= {"svg", "text", "path", "rect", "polyline"}


def test_both_streams_are_guarded_for_whoever_writes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    guard()
    guard()  # a second one changes nothing
    print(EVIL)
    sys.stderr.writelines([EVIL, "\n"])
    logging.StreamHandler().emit(logging.LogRecord("a", logging.ERROR, "a", 1, EVIL, None, None))
    told = "".join(capsys.readouterr())
    assert told.count("owned") == 3 and not STEERING.search(told)
    assert sys.stdout.isatty() is False and sys.stdout.encoding
