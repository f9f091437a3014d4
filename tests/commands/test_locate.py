"""Find a document in a corpus and in what was made from it, before and after it is taken down."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build, read_rows

from bertdata.cli import cli
from bertdata.commands.locate import locate
from bertdata.errors import UsageError
from bertdata.sample import sample

ID = "sampleenwiki:107"


def _found(directories: list[Path], id: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in locate(directories, id) if not line.startswith("  "))


def test_datasets_that_contain_a_document(build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "takedown.txt").write_text(f"{ID}\n")

    def make(*options: str) -> None:
        build("build-corpus", Path("corpus"), "--wikipedia", sample(), *options)
        build("train-vocab", Path("vocab"), "corpus", "--size", 2000, *options[2:])
        build("make-pairs", Path("rows"), "corpus", "--vocab", "vocab", "--provenance", *options[2:])
        build("export", Path("jsonl"), "corpus", "--to", "jsonl", *options[2:])
        build("export", Path("mds"), "rows", "--to", "mds", *options[2:])

    make()
    build("make-pairs", Path("plain"), "corpus", "--vocab", "vocab", "--objective", "documents")
    names = [Path(name) for name in ("mds", "jsonl", "plain", "rows", "vocab", "corpus")]
    found = _found(names, ID)
    numbers = [str(n) for n, row in enumerate(read_rows(Path("rows"))) if ID in (row["a_document"], row["b_document"])]
    assert found["corpus"] == "1 document with this id: 0"
    assert found["rows"].startswith(f"{len(numbers)} rows with this id: {', '.join(numbers[:5])}")
    assert found["jsonl"] == "may contain it, in data/train-00000-of-00002.jsonl"
    assert found["mds"].startswith("may contain it, in data/train-00000-of-")
    assert found["vocab"].startswith("made from data/train-00000-of-00002.arrow") and "trace CORPUS" in found["plain"]
    assert _found(names, "sampleenwiki:0")["jsonl"] == "does not contain it"

    make("--exclude-ids", "takedown.txt", "--overwrite")
    assert _found(names, ID) == {
        "corpus": "no document with this id",
        "rows": "no row with this id",
        **dict.fromkeys(("vocab", "jsonl", "mds"), "does not contain it"),
        "plain": "made from another dataset, or from an older version. List that dataset too, or build this one again",
    }
    with pytest.raises(UsageError, match="several directories need --id"):
        cli.main(["inspect", "rows", "corpus", "--random"], standalone_mode=False)
