"""Files that no source reads: counted by suffix in the plan and the manifest, with a way to convert them."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build, Run, read_manifest

from bertdata.errors import NoInputError
from bertdata.sources import SUFFIXES
from bertdata.sources.ignored import by_suffix, conversions
from bertdata.sources.inputs import find

TEXT = "The ferry crossed the harbour in the morning. A miller measured all of his lamps.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.txt", "sub/b.pdf", "sub/c.PDF", "d.docx", "e.html", "old.txt.gz", "LICENSE", ".hidden.pdf", "book.epub"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXT)
    return tmp_path / "in"


COUNTS = {".pdf": 2, ".docx": 1, ".epub": 1, ".html": 1, ".txt.gz": 1, "no suffix": 1}


def test_the_plan_and_the_manifest_count_ignored_files(folder: Path, tmp_path: Path, run: Run, build: Build) -> None:
    plan = run("build-corpus", "--text", folder, "--output", tmp_path / "out", "--dry-run").stdout
    assert "7 files ignored" in plan
    lines = [
        "text: 2 .pdf, 1 .docx, 1 .epub, 1 .html, 1 .txt.gz, 1 with no suffix",
        ".pdf: pdftotext FILE.pdf FILE.txt",
        ".docx: pandoc --to plain --wrap none --output FILE.txt FILE.docx",
        ".epub: use --books",
        ".txt.gz: gunzip FILE.txt.gz",
    ]
    assert [line for line in lines if line not in plan] == []
    manifest = read_manifest(build("build-corpus", tmp_path / "out", "--text", folder))
    assert manifest["ignored_files"] == {"text": COUNTS}


def test_a_file_that_another_option_reads_is_not_ignored(folder: Path, tmp_path: Path, build: Build) -> None:
    options = ("--text", folder, "--books", folder / "*.epub", "--max-rejects", "1")
    manifest = read_manifest(build("build-corpus", tmp_path / "out", *options))
    assert ".epub" not in manifest["ignored_files"]["text"] and "books" not in manifest["ignored_files"]


def test_a_corpus_of_all_files_has_no_such_key(folder: Path, tmp_path: Path, build: Build) -> None:
    assert "ignored_files" not in read_manifest(build("build-corpus", tmp_path / "out", "--text", folder / "a.txt"))


def test_a_directory_without_a_readable_file_names_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "a.docx").touch()
    with pytest.raises(NoInputError, match=r"it matches 1 \.docx: .*or convert the files \(\.docx: pandoc .* FILE\.docx\)"):
        find([str(tmp_path)], SUFFIXES["text"], "--text")


def test_the_files_beside_a_dump_are_used() -> None:
    names = ["x/enwiki-1-md5sums.txt", "enwiki-1-multistream-index.txt.bz2", "enwiki-1-multistream-index3.txt-p1p2.bz2"]
    assert by_suffix(names) == {}


def test_suffixes_are_plain() -> None:
    assert by_suffix(["a.\x1b[31m", "v1.2", "b.tar.gz", "b.7z", ".x", "c.", "read.py"]) == {".tar.gz": 1, "no suffix": 5}
    assert conversions([".exe", "no suffix"], "text") == []
