"""A run that is refused for its rejects, and a corpus whose text was not divided into sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import read_manifest, read_rows
from mixed_inputs import build

from bertdata.errors import TooManyRejectsError


@pytest.mark.parametrize("repair", ["removed", "replaced", "tolerated"])
def test_a_refused_run_is_repeated_after_its_bad_files_are_gone(tmp_path: Path, repair: str) -> None:
    (folder := tmp_path / "in").mkdir()
    for name in "abc":
        (folder / f"{name}.txt").write_text(f"The kettle of {name} sings. The tea is ready.\n")
    (bad := folder / "bad.epub").write_bytes(b"PK not a zip archive")
    files, output = {"books": [folder]}, tmp_path / "out"
    for _ in range(2):
        with pytest.raises(TooManyRejectsError, match="1 of 4 records"):
            build(output, files)
    if repair == "removed":
        bad.unlink()
    if repair == "replaced":
        bad.unlink()
        (folder / "bad.txt").write_text("The kettle of d sings. The tea is green.\n")
    build(output, files, max_rejects=1.0 if repair == "tolerated" else 0.1)
    assert len(read_rows(output)) == 4 if repair == "replaced" else 3


def test_documents_of_one_long_sentence_are_warned_of(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for n in range(4):
        (tmp_path / "in" / f"{n}.txt").write_text(f"number {n} " + "word " * 300 * (n == 0) + "ends here")
    with pytest.warns(UserWarning, match="1 of 4 documents of text are one sentence of more than 1,000 characters"):
        corpus = build(tmp_path / "out", {"text": [tmp_path / "in"]}, language="en")
    assert read_manifest(corpus)["sources"]["text"]["unsplit_documents"] == 1
