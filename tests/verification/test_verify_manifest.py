"""A manifest is checked whole: each bit of it counts, and a value of a stranger gives every reader a named error or none."""

from __future__ import annotations

import copy
import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import Build

from bertdata import Shards
from bertdata.cli import cli
from bertdata.dataset import manifest
from bertdata.errors import BertDataError, VerificationError
from bertdata.stages import corpus_reader as corpus
from bertdata.verification import verify

KINDS = ("documents", "vocabulary", "pairs")
Keys = tuple[str | int, ...]
VALUES: list[Any] = [None, "x", "", "\x1b[31m", -1, 0, 10**9, 10**18, 10**30, 0.5, 1e300, float("nan"), True, [], {}, [[]], ["x"]]
GONE = object()


@pytest.fixture(scope="module")
def sets(build: Build, text: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small dataset of each command, with what its manifest may have: rejects, drops, splits, masks."""
    root = tmp_path_factory.mktemp("manifests")
    lines = text.read_text(encoding="utf-8").splitlines()[:40]
    (root / "text.jsonl").write_text("\n".join([lines[0][:-2], lines[2], *lines[1:]]))
    documents = build("build-corpus", root / "documents", "--text", root / "text.jsonl")
    vocabulary = build("train-vocab", root / "vocabulary", documents, "--size", 120)
    options = ["--vocab", vocabulary, "--shards", 1, "--validation-fraction", 0.3, "--masking", "static"]
    return {"documents": documents, "vocabulary": vocabulary, "pairs": build("make-pairs", root / "pairs", documents, *options)}


@pytest.fixture
def root(sets: dict[str, Path], tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return Path(shutil.copytree(sets[request.param], tmp_path / "set"))


def exit_code(directory: Path) -> int:
    """What `bertdata verify` would end with."""
    try:
        return 6 if verify(directory, workers=1).problems else 0
    except BertDataError as error:
        return error.exit_code


def is_refused(directory: Path) -> bool:
    """Return True if all that read a manifest say that it is not as it was written, as `verify` then says too."""
    try:
        manifest.read(directory)
    except VerificationError:
        return True
    return False


@pytest.mark.long
@pytest.mark.parametrize("root", KINDS, indirect=True)
def test_each_bit_counts(root: Path) -> None:
    """`verify` tells of each; it is called for one bit of each byte, and for those that give another text of the same values."""
    path = root / manifest.NAME
    whole, codes = bytearray(path.read_bytes()), []
    assert exit_code(root) == 0
    with path.open("r+b", buffering=0) as file:
        for at, byte in enumerate(whole):
            for bit in range(8):
                file.seek(at)
                file.write(bytes([byte ^ 1 << bit]))
                if (bit == at % 8 or not is_refused(root)) and exit_code(root) != 6:
                    codes.append((at, bit))
            file.seek(at)
            file.write(bytes([byte]))
    assert codes == [] and exit_code(root) == 0


@pytest.mark.parametrize("old", [b'"sha256": "', b'"bertdata": 1', b'"card"', b" "])
def test_the_command_says_so(sets: dict[str, Path], tmp_path: Path, old: bytes) -> None:
    root = Path(shutil.copytree(sets["pairs"], tmp_path / "set"))
    path = root / manifest.NAME
    before, _, after = path.read_bytes().rpartition(old)
    path.write_bytes(before + old[:-1] + bytes([old[-1] ^ 2]) + after)
    done = CliRunner().invoke(cli, ["verify", str(root)], standalone_mode=False)
    assert isinstance(done.exception, VerificationError) and "not as written" in str(done.exception)


def places(value: Any, keys: Keys = ()) -> Iterator[Keys]:
    """Name every value of a manifest; of a list the first and the last."""
    if keys:
        yield keys
    inside = list(value.items() if isinstance(value, dict) else enumerate(value)) if isinstance(value, dict | list) else []
    for key, own in inside if isinstance(value, dict) or len(inside) < 3 else [inside[0], inside[-1]]:
        yield from places(own, (*keys, key))


def changed(made: dict[str, Any], keys: Keys, to: Any) -> dict[str, Any]:
    made = copy.deepcopy(made)
    at: Any = made
    for key in keys[:-1]:
        at = at[key]
    if to is GONE:
        del at[keys[-1]]
    else:
        at[keys[-1]] = to
    return made


def readers(root: Path) -> Iterator[Callable[[], Any]]:
    """All that reads a manifest."""
    yield lambda: verify(root, workers=1)
    yield lambda: CliRunner().invoke(cli, ["inspect", str(root), "--n", "1"], standalone_mode=False, catch_exceptions=False)
    yield lambda: CliRunner().invoke(cli, ["inspect", str(root), "--explain", "x"], standalone_mode=False, catch_exceptions=False)
    yield lambda: Shards(root).gather([0], 128)
    yield lambda: corpus.read(root).reader.inputs()


@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("root", KINDS, indirect=True)
def test_values_of_a_stranger(root: Path, every: int) -> None:
    """The digest is right, as a stranger's would be; the error names the file, and no value is too much for a reader."""
    made, refused, faults = manifest.read_json(root), 0, []
    for keys, value in list(itertools.product(places(made), [GONE, *VALUES]))[::every]:
        manifest.store(root, changed(made, keys, value))
        try:
            manifest.read(root)
        except BertDataError as error:
            refused += 1
            assert str(root / manifest.NAME) in str(error) or keys == ("bertdata",)
            assert "\x1b" not in str(error) and len(str(error)) < 500
            continue
        for read in readers(root):
            try:
                read()
            except BertDataError:
                continue
            except Exception as error:
                faults.append(f"{keys} = {value!r}: {error!r}")
    assert faults == [] and refused > 500 / every


@pytest.mark.parametrize(
    ("kind", "keys", "value", "what"),
    [
        ("pairs", ("splits", "train", "shards"), 10**9, "splits have 1,000,000,001 shards, but 2 are listed"),
        ("pairs", ("config", "max_seq_length"), GONE, "config.max_seq_length is missing"),
        ("pairs", ("config", "max_seq_length"), "128", "config.max_seq_length is not an integer"),
        ("pairs", ("config", "masked_lm_prob"), "much", "config.masked_lm_prob is not a number or null"),
        ("pairs", ("config", "whole_word"), 1, "config.whole_word is not true or false"),
        ("pairs", ("statistics",), GONE, "missing required field statistics"),
        ("pairs", ("statistics", "max_predictions"), 10**9, "statistics.max_predictions is over config.max_seq_length, 128"),
        ("pairs", ("shards", 0, "batches"), 10**9, "shards[0].batches is 1,000,000,000, too many for"),
        ("pairs", ("card", "name"), "../card", "card.name is not README.md"),
        ("documents", ("inputs", 0, "licence"), GONE, "inputs[0]: object missing required field licence"),
        ("documents", ("config", "filters", "min_letters"), [], "config.filters.min_letters is not a number"),
        ("documents", ("config", "filters", "languages"), "en", "config.filters.languages is not a list of text"),
        ("documents", ("config", "exclude"), [3], "config.exclude is not a list of names and digests"),
        ("documents", ("dropped_templates", "most_frequent"), [["x"]], "most_frequent[0]: expected array of length 2, got 1"),
        ("documents", ("sources", "text", "share"), float("inf"), "sources[...].share: expected float <= "),
        ("vocabulary", ("sample", "words"), None, "sample.words: expected int, got null"),
        ("vocabulary", ("coverage", "en"), 3, "coverage[...]: expected object, got int"),
    ],
)
def test_the_field_is_named(sets: dict[str, Path], tmp_path: Path, kind: str, keys: Keys, value: Any, what: str) -> None:
    made = changed(manifest.read_json(sets[kind]), keys, value)
    manifest.store(tmp_path, made)
    with pytest.raises(VerificationError) as caught:
        manifest.read(tmp_path)
    assert f"{tmp_path / manifest.NAME}: " in str(caught.value) and what in str(caught.value)


def test_deep_values_are_no_reason_to_fail(tmp_path: Path) -> None:
    for depth in range(900, 1000, 3):
        (tmp_path / manifest.NAME).write_text(json.dumps({"bertdata": 1})[:-1] + ', "x": ' + "[" * depth + "]" * depth + "}")
        with pytest.raises(VerificationError):
            manifest.read(tmp_path)
