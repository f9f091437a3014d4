"""benchmarks/decoding.py: what it draws, damages and calls right, on a book and a few sentences."""

from __future__ import annotations

import doctest
import importlib
import json
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import REPOSITORY

FRENCH = ["Le café était fermé; la fenêtre aussi.", "Où est passé le garçon? Il dort déjà.", "Elle rit à l’œuvre."]
BOOK = "Title: The Kettle\n\nCharacter set encoding: ISO-8859-1\n\nLe café était fermé.\n"


@pytest.fixture
def decoding(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    return importlib.import_module("decoding")


def test_doctests(decoding: ModuleType) -> None:
    assert doctest.testmod(decoding).failed == 0


def test_readers_side_by_side(
    decoding: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader that knows the encoding is always right, one that does not is wrong, one that gives up refuses."""
    (tmp_path / "kettle.txt").write_bytes(BOOK.encode("latin-1"))
    (tmp_path / "silent.txt").write_bytes(b"A book that does not name its encoding is left out.")
    (tmp_path / "texts.jsonl").write_text(json.dumps({"language": "fr", "sentences": FRENCH}) + "\n", encoding="utf-8")
    readers = {
        "bertdata": decoding.ours,
        "charset-normalizer": decoding.normalizer,
        "greek": lambda data: data.decode("cp1253", "replace"),
        "none": lambda data: None,
    }
    monkeypatch.setattr(decoding, "READERS", readers)
    arguments = ["--books", tmp_path, "--texts", tmp_path / "texts.jsonl", "--sizes", 60, "--pieces", 3]
    monkeypatch.setattr(sys, "argv", ["decoding.py", *map(str, arguments)])
    assert decoding.main() == 0
    told = capsys.readouterr().out.splitlines()
    cells = {line[:36].split("  ")[0] + " " + line[28:36].strip(): line[36:].split() for line in told if "/" in line[44:]}
    all_right, all_wrong, nothing = ["100.0", "/", "0.0"], ["0.0", "/", "100.0"], ["0.0", "/", "0.0"]
    assert cells["books as they are whole"] == ["1", *all_right, *all_right, *all_wrong, *nothing]
    for row in ("Western latin-1 whole", "Western cp1252 whole", "UTF-8 utf-8 whole"):
        assert cells[row][:4] == ["3", *all_right] and cells[row][-6:] == [*all_wrong, *nothing]
    assert cells["promised, 60 bytes damaged"][0] == "9"
    speeds = [line for line in told if line.startswith(("books", "60 bytes")) and "/" not in line]
    assert len(speeds) == 2 and all(float(cell) > 0 for line in speeds for cell in line[34:].split())


def test_pieces_fit_and_are_writable(decoding: ModuleType) -> None:
    for size in (5, 60, 200):
        for text, data in decoding._draw(FRENCH, "latin-1", size, 20, random.Random(1)):
            assert data == text.encode("latin-1") and len(data) <= size and not data.isascii()
            assert "œ" not in text, "a sentence that Latin-1 cannot write is left out"


def test_a_damaged_piece_may_differ_where_it_is_damaged_and_nowhere_else(decoding: ModuleType) -> None:
    data = "第一天，他在河边的小屋里等着。".encode("gb18030")
    lost = data[:7] + data[8:]
    want = lost.decode("gb18030", "replace")
    piece = decoding.Piece("Chinese", "gb18030", 200, True, want, lost)
    assert decoding.judge(piece, want) == "right"
    assert decoding.judge(piece, lost.decode("big5", "replace")) == "wrong"
    assert decoding.judge(piece._replace(damaged=False), want[:-1]) == "wrong"
    assert decoding.judge(piece, None) == "refused"


def test_without_books_and_texts_it_says_what_to_give(
    decoding: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["decoding.py", "--books", str(tmp_path), "--texts"])
    with pytest.raises(SystemExit, match="--books and --texts"):
        decoding.main()
