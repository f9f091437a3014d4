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
from tiny import corpus_manifest

from bertdata.codec import decode, encode
from bertdata.config import CorpusConfig
from bertdata.dataset import manifest
from bertdata.dataset.manifest_types import CorpusManifest, PairsManifest
from bertdata.errors import NoInputError, UsageError, VerificationError
from bertdata.storage.files import json_text
from bertdata.tally import StageCounts, Tally

COUNTS = st.dictionaries(st.sampled_from(["redirect", "empty", "broken"]), st.integers(0, 9), max_size=3).map(Counter)


def test_doctests() -> None:
    assert doctest.testmod(manifest).failed == 0


@pytest.mark.parametrize(("entered", "left"), [(4, 1), (2, 1), (3, 2), (0, 0)])
def test_counts_that_do_not_add_up_raise(entered: int, left: int) -> None:
    tally = Tally("pages", entered, left, Counter(redirect=1), Counter(broken=1))
    with pytest.raises(VerificationError, match=f"pages do not add up: {entered} went in, {left} came out, 2 were"):
        tally.check()
    with pytest.raises(VerificationError):
        manifest.head("documents", CorpusConfig(), [], [Tally("books"), tally])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 99), COUNTS, COUNTS), max_size=4))
def test_tallies_that_add_up_still_do_when_merged_and_read_back(parts: list[tuple[int, Counter[str], Counter[str]]]) -> None:
    whole = Tally("pages")
    for left, dropped, rejected in parts:
        part = Tally("pages", left + sum(dropped.values()) + sum(rejected.values()), left)
        part.dropped, part.rejected = dropped, rejected
        part.check()
        whole.merge(Tally.of(decode(json.loads(json.dumps(encode(part.counts()))), StageCounts)))
    whole.check()
    assert whole.left == sum(left for left, _, _ in parts)
    counts = whole.counts()
    assert list(counts.dropped) == sorted(counts.dropped) and 0 not in counts.dropped.values()
    assert Tally.of(counts).counts() == counts


def _made(**more: Any) -> dict[str, Any]:
    entry = {"bytes": 900, "sha256": "", "batches": 1, "text_bytes": 7}
    shards = [{"name": f"data/{name}", "rows": rows, **entry} for name, rows in (("a", 2), ("b", 3))]
    return corpus_manifest(shards, tallies=[Tally("pages", 5, 5)]) | more


def test_make_sums_rows_and_names_versions() -> None:
    made = decode(_made(), CorpusManifest)
    assert made.bertdata == manifest.FORMAT and made.rows == 5
    assert made.versions.keys() == {"bertdata", "code", "unicode"}
    assert manifest.to_json(made) == json.loads(json.dumps(_made())) and made == decode(_made(), CorpusManifest)
    manifest.check_rows(made, 5)
    with pytest.raises(VerificationError, match="the shards have 5 rows, but 6 were counted"):
        manifest.check_rows(made, 6)


def _write(directory: Path, value: Any) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    if isinstance(value, dict) and "rows" in value:
        manifest.store(directory, value, "# Tea")
        return directory
    (directory / manifest.NAME).write_text(value if isinstance(value, str) else json.dumps(value))
    return directory


def test_read_returns_what_was_written(tmp_path: Path) -> None:
    directory = _write(tmp_path / "corpus", _made())
    found = manifest.read(directory, CorpusManifest)
    assert manifest.read(directory) == found
    assert {key: value for key, value in manifest.to_json(found).items() if key != "card"} == _made()


@pytest.mark.parametrize(
    ("content", "error", "reason"),
    [
        (None, NoInputError, "is not a directory. Pass a directory that bertdata has written"),
        ([1], NoInputError, "no bertdata dataset"),
        ({"name": "another tool's"}, NoInputError, "no bertdata dataset"),
        (5, NoInputError, "no bertdata dataset"),
        ({**_made(), "bertdata": manifest.FORMAT + 1}, UsageError, "newer bertdata: install that version"),
        (_made(), UsageError, "contains documents, not pairs"),
    ],
    ids=["missing", "list", "foreign", "number", "newer", "kind"],
)
def test_read_refuses_and_says_why(tmp_path: Path, content: Any, error: type[UsageError], reason: str) -> None:
    directory = tmp_path / "corpus"
    if content is not None:
        _write(directory, content)
    with pytest.raises(error, match=reason) as caught:
        manifest.read(directory, PairsManifest)
    assert str(directory) in str(caught.value) and caught.value.exit_code == 2


def test_an_unfinished_run_is_told_from_no_data_set(tmp_path: Path) -> None:
    (tmp_path / "corpus" / ".bertdata").mkdir(parents=True)
    with pytest.raises(NoInputError, match="did not finish. It kept nothing"):
        manifest.read(tmp_path / "corpus")
    (tmp_path / "corpus" / ".bertdata" / "build-1").mkdir()
    with pytest.raises(NoInputError, match="did not finish. It keeps its finished tasks"):
        manifest.read(tmp_path / "corpus")


def test_write_adds_the_digests_of_the_card_and_of_itself(tmp_path: Path) -> None:
    manifest.store(tmp_path, _made(), "# Tee für alle\n")
    found = manifest.read_json(tmp_path)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "# Tee für alle\n" and list(found)[-2:] == ["card", "sha256"]
    assert {key: found[key] for key in _made()} == _made()
    assert (tmp_path / manifest.NAME).read_text(encoding="utf-8") == json_text(found)
    manifest.store(tmp_path, found, "# Tee für alle\n")
    assert manifest.read_json(tmp_path) == found, "written again it is the same"


@pytest.mark.parametrize("key", ["rows", "config", "card", "sha256", "new"])
def test_a_manifest_that_was_edited_is_refused(tmp_path: Path, key: str) -> None:
    manifest.store(tmp_path, _made(), "# Tea")
    made = json.loads((tmp_path / manifest.NAME).read_text())
    (tmp_path / manifest.NAME).write_text(json.dumps(dict(reversed(made.items()))))
    assert manifest.read_json(tmp_path) == made, "another order says the same"
    (tmp_path / manifest.NAME).write_text(json.dumps({**made, key: 7}))
    with pytest.raises(VerificationError, match=r"manifest.json is not as it was written: restore it from a copy, or build"):
        manifest.read(tmp_path)


@pytest.mark.parametrize("content", [b"", b'{"bertdata": 1, "ki', b"[" * 99999, b"\xff{}", b"1" * 5000], ids=range(5))
def test_a_damaged_manifest_is_told_from_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / manifest.NAME).write_bytes(content)
    with pytest.raises(VerificationError, match="manifest.json is damaged"):
        manifest.read(tmp_path)


@pytest.mark.parametrize("content", [{"shards": []}, {**_made(), "bertdata": 0}], ids=["no number", "number 0"])
def test_a_manifest_whose_first_key_is_damaged(tmp_path: Path, content: dict[str, Any]) -> None:
    content = dict(content)
    if content.get("bertdata") == 0:
        content["certdata"] = content.pop("bertdata")
    with pytest.raises(VerificationError, match="is not a valid bertdata manifest any more"):
        manifest.read(_write(tmp_path, content))


def _with(key: str, **values: Any) -> dict[str, Any]:
    made = _made()
    made[key] = [{**made[key][0], **values}, *made[key][1:]]
    return made


@pytest.mark.parametrize(
    "name",
    [
        *("/etc/passwd", "../secret", "data/../../secret", "data//a", "a/b/c", "", ".", "..", "data/", ".bertdata/run.json"),
        *(
            "data/.a",
            "data\\a",
            "C:a",
            "s3://bucket/a",
            "a\nb",
            "a\x00b",
            "a b",
            "\x1b[31m",
            "a" * 300,
            "data/a?",
            "~/a",
            "dáta/a",
        ),
    ],
)
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    manifest.store(tmp_path, _with("shards", name=name), "# Tea")
    with pytest.raises(VerificationError, match=r"it names '.*', which is not a dataset file") as caught:
        manifest.read(tmp_path)
    assert "\x1b" not in str(caught.value) and len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("made", "what"),
    [
        ({**_made(), "shards": {}}, "shards: expected array, got object"),
        ({**_made(), "counts": [3]}, r"counts\[0\]: expected object, got int"),
        ({**_made(), "rows": "5"}, "rows: expected int, got str"),
        ({**_made(), "rows": True}, "rows: expected int, got bool"),
        ({**_made(), "versions": []}, "versions: expected object, got array"),
        ({**_made(), "bertdata": "1"}, "bertdata: is not 1"),
        (
            {key: value for key, value in _made().items() if key != "kind"},
            "kind: is not one of documents, ",
        ),
        ({key: value for key, value in _made().items() if key != "inputs"}, "missing required field inputs"),
        (_with("shards", bytes=-1), r"shards\[0\].bytes: expected int >= 0"),
        (_with("shards", name=None), r"shards\[0\].name: expected str, got null"),
        (_with("shards", name="data/b"), "it names a file twice"),
        ({**_made(), "files": [{"name": "data/a", "bytes": 1, "sha256": ""}]}, "it names a file twice"),
    ],
)
def test_values_that_no_manifest_has_are_refused(tmp_path: Path, made: dict[str, Any], what: str) -> None:
    manifest.store(tmp_path, made, "# Tea")
    with pytest.raises(VerificationError, match=what):
        manifest.read(tmp_path)
