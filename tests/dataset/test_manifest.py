"""Manifests: counts that must add up, and directories that are refused with the reason."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import read_manifest
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


@pytest.mark.parametrize(("entered", "left"), [(4, 1), (2, 1), (3, 2), (0, 0)])
def test_counts_that_do_not_add_up_raise(entered: int, left: int) -> None:
    tally = Tally("pages", entered, left, Counter(redirect=1), Counter(broken=1))
    with pytest.raises(VerificationError, match=f"pages do not add up: {entered} went in, {left} came out, 2 were"):
        manifest.head("documents", CorpusConfig(), [], [Tally("books"), tally])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 99), COUNTS, COUNTS), max_size=4))
def test_tallies_that_add_up_still_do_when_merged_and_read_back(parts: list[tuple[int, Counter[str], Counter[str]]]) -> None:
    total = Tally("pages")
    for left, dropped, rejected in parts:
        part = Tally("pages", left + sum(dropped.values()) + sum(rejected.values()), left, dropped, rejected)
        part.check()
        total.merge(Tally.of(decode(json.loads(json.dumps(encode(part.counts()))), StageCounts)))
    total.check()
    assert total.left == sum(left for left, _, _ in parts)
    counts = total.counts()
    assert list(counts.dropped) == sorted(counts.dropped) and 0 not in counts.dropped.values()


def made(**more: Any) -> dict[str, Any]:
    entry = {"bytes": 900, "sha256": "", "batches": 1, "text_bytes": 7}
    shards = [{"name": f"data/{name}", "rows": rows, **entry} for name, rows in (("a", 2), ("b", 3))]
    return corpus_manifest(shards, tallies=[Tally("pages", 5, 5)]) | more


def test_a_manifest_is_read_as_it_was_written_with_the_digests_of_its_card_and_itself(tmp_path: Path) -> None:
    manifest.store(tmp_path, made(), "# Tee für alle\n")
    fields = read_manifest(tmp_path)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "# Tee für alle\n" and list(fields)[-2:] == ["card", "sha256"]
    assert {key: fields[key] for key in made()} == made() and fields["rows"] == 5
    assert (tmp_path / manifest.NAME).read_text(encoding="utf-8") == json_text(fields)
    contents = manifest.read(tmp_path, CorpusManifest)
    assert manifest.read(tmp_path) == contents and {**encode(contents), "sha256": fields["sha256"]} == fields
    manifest.check_rows(contents, 5)
    with pytest.raises(VerificationError, match="the shards have 5 rows, but 6 were counted"):
        manifest.check_rows(contents, 6)


@pytest.mark.parametrize("key", ["rows", "config", "card", "sha256", "new"])
def test_a_manifest_that_was_edited_is_refused(tmp_path: Path, key: str) -> None:
    manifest.store(tmp_path, made(), "# Tea")
    fields = read_manifest(tmp_path)
    (tmp_path / manifest.NAME).write_text(json.dumps(dict(reversed(fields.items()))))
    manifest.read(tmp_path)  # another order says the same
    (tmp_path / manifest.NAME).write_text(json.dumps({**fields, key: 7}))
    with pytest.raises(VerificationError, match=r"manifest.json is not as it was written: restore it from a copy, or build"):
        manifest.read(tmp_path)


@pytest.mark.parametrize("content", [b"", b'{"bertdata": 1, "ki', b"[" * 99999, b"\xff{}", b"[1]", b'{"name": "another"}', b"5"])
def test_a_damaged_manifest_is_not_a_missing_one(tmp_path: Path, content: bytes) -> None:
    (tmp_path / manifest.NAME).write_bytes(content)
    with pytest.raises(VerificationError, match="manifest.json is (damaged|not a bertdata manifest)"):
        manifest.read(tmp_path)


def test_a_directory_without_a_readable_dataset_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(NoInputError, match="is not a directory. Pass a directory that bertdata has written"):
        manifest.read(tmp_path / "nothing")
    with pytest.raises(NoInputError, match="no bertdata dataset"):
        manifest.read(tmp_path)
    manifest.store(tmp_path, made(), "# Tea")
    with pytest.raises(UsageError, match="contains a corpus, not rows of make-pairs") as caught:
        manifest.read(tmp_path, PairsManifest)
    assert str(tmp_path) in str(caught.value) and caught.value.exit_code == 2
    for number, advice in ((manifest.FORMAT + 1, "install that version"), (0, "restore"), ("1", "restore"), (True, "restore")):
        manifest.store(tmp_path, made(bertdata=number), "# Tea")
        with pytest.raises(UsageError, match=f"has format .*{advice}"):
            manifest.read(tmp_path)
    (tmp_path / "corpus" / ".bertdata" / "build-1").mkdir(parents=True)
    with pytest.raises(NoInputError, match="did not finish. Run the same command again"):
        manifest.read(tmp_path / "corpus")


def with_shard(**values: Any) -> dict[str, Any]:
    fields = made()
    return fields | {"shards": [{**fields["shards"][0], **values}, *fields["shards"][1:]]}


NAMES = ["/etc/passwd", "../secret", "data/../../secret", "data//a", "a/b/c", "", "..", "data/", ".bertdata/run.json", "data/.a"]
NAMES += ["data\\a", "s3://bucket/a", "a\nb", "a\x00b", "a b", "\x1b[31m", "a" * 300, "~/a", "dáta/a"]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    manifest.store(tmp_path, with_shard(name=name), "# Tea")
    with pytest.raises(VerificationError, match=r"it names '.*', which is not a dataset file") as caught:
        manifest.read(tmp_path)
    assert "\x1b" not in str(caught.value) and len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (made(shards={}), "shards: expected array, got object"),
        (made(counts=[3]), r"counts\[0\]: expected object, got int"),
        (made(rows="5"), "rows: expected int, got str"),
        (made(rows=6), "rows is 6, but its shards have 5"),
        (made(kind="tea"), "kind: is not one of documents, "),
        (made(config={"seed": "x", "language": 7}), "config is invalid"),
        ({key: value for key, value in made().items() if key != "inputs"}, "missing required field inputs"),
        (with_shard(bytes=-1), r"shards\[0\].bytes: expected int >= 0"),
        (with_shard(batches=1 << 60), r"shards\[0\].batches is .*, too many for 900 bytes"),
        (with_shard(name="data/b"), "it names a file twice"),
    ],
)
def test_impossible_values_are_refused(tmp_path: Path, fields: dict[str, Any], problem: str) -> None:
    manifest.store(tmp_path, fields, "# Tea")
    with pytest.raises(VerificationError, match=problem):
        manifest.read(tmp_path)
