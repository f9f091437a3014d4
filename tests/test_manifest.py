"""Manifests: counts that must add up, and directories that are refused with the reason."""

from __future__ import annotations

import doctest
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata import manifest
from bertdata.errors import NoInputError, UsageError, VerificationError
from bertdata.manifest import Tally

COUNTS = st.dictionaries(st.sampled_from(["redirect", "empty", "broken"]), st.integers(0, 9), max_size=3).map(Counter)


def test_doctests() -> None:
    assert doctest.testmod(manifest).failed == 0


@pytest.mark.parametrize(("entered", "left"), [(4, 1), (2, 1), (3, 2), (0, 0)])
def test_counts_that_do_not_add_up_raise(entered: int, left: int) -> None:
    tally = Tally("pages", entered, left, Counter(redirect=1), Counter(broken=1))
    with pytest.raises(VerificationError, match=f"pages do not add up: {entered} went in, {left} came out, 2 were"):
        tally.check()
    with pytest.raises(VerificationError):
        manifest.make("documents", config={}, inputs=[], shards=[], tallies=[Tally("books"), tally])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 99), COUNTS, COUNTS), max_size=4))
def test_tallies_that_add_up_still_do_when_merged_and_read_back(parts: list[tuple[int, Counter[str], Counter[str]]]) -> None:
    whole = Tally("pages")
    for left, dropped, rejected in parts:
        part = Tally("pages", left + sum(dropped.values()) + sum(rejected.values()), left)
        part.dropped, part.rejected = dropped, rejected
        part.check()
        whole.merge(Tally.from_json(json.loads(json.dumps(part.to_json()))))
    whole.check()
    assert whole.left == sum(left for left, _, _ in parts)
    told = whole.to_json()
    assert list(told["dropped"]) == sorted(told["dropped"]) and 0 not in told["dropped"].values()
    assert Tally.from_json(told).to_json() == told


def _made(**more: Any) -> dict[str, Any]:
    shards = [{"name": "data/a", "rows": 2}, {"name": "data/b", "rows": 3}]
    return manifest.make("documents", config={"seed": 1}, inputs=[], shards=shards, tallies=[Tally("pages", 5, 5)], **more)


def test_make_sums_rows_and_names_versions() -> None:
    made = _made(statistics={"x": 1})
    assert made["bertdata"] == manifest.FORMAT and made["rows"] == 5 and made["statistics"] == {"x": 1}
    assert {"bertdata", "apache-beam", "pyarrow", "tokenizers", "sentencex", "unicode", "python"} <= made["versions"].keys()
    assert json.loads(json.dumps(made)) == made
    assert _made() == _made()
    manifest.check_rows(made, 5)
    with pytest.raises(VerificationError, match="hold 5 rows, but 6 were counted"):
        manifest.check_rows(made, 6)


def _write(directory: Path, value: Any) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / manifest.NAME).write_text(value if isinstance(value, str) else json.dumps(value))
    return directory


def test_read_returns_what_was_written(tmp_path: Path) -> None:
    directory = _write(tmp_path / "corpus", _made())
    assert manifest.read(directory) == _made()
    assert manifest.read(directory, "documents") == _made()


@pytest.mark.parametrize(
    ("content", "error", "reason"),
    [
        (None, NoInputError, "is no directory: give one that bertdata has written"),
        ("", NoInputError, "no data set of bertdata"),
        ('{"bertdata": 1, "ki', NoInputError, "no data set of bertdata"),
        ([1], NoInputError, "no data set of bertdata"),
        ({"name": "another tool's"}, NoInputError, "no data set of bertdata"),
        ({**_made(), "bertdata": manifest.FORMAT + 1}, UsageError, "newer bertdata; upgrade with: pip install"),
        (_made(), UsageError, "holds documents, not pairs"),
    ],
    ids=["missing", "empty", "cut", "list", "foreign", "newer", "kind"],
)
def test_read_refuses_and_says_why(tmp_path: Path, content: Any, error: type[UsageError], reason: str) -> None:
    directory = tmp_path / "corpus"
    if content is not None:
        _write(directory, content)
    with pytest.raises(error, match=reason) as caught:
        manifest.read(directory, "pairs")
    assert str(directory) in str(caught.value) and caught.value.exit_code == 2


def test_an_unfinished_run_is_told_from_no_data_set(tmp_path: Path) -> None:
    (tmp_path / "corpus" / ".bertdata").mkdir(parents=True)
    with pytest.raises(NoInputError, match="unfinished run: finish it with --resume"):
        manifest.read(tmp_path / "corpus")
