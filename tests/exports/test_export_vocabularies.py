"""Vocabularies of any kind and size in exports: the one of the rows goes along, and ids above 65,535 are those of the rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Build, digests, read_rows
from test_lddl import read_lddl
from test_mds import read_mds
from test_megatron import read_megatron
from test_tfrecord import read_records
from tokenizers import Tokenizer

import bertdata
from bertdata import Shards

pytestmark = pytest.mark.long

MORE = 65_536  # pieces put in behind the special tokens, which no text has
SPECIAL = 5
KINDS: dict[str, tuple[object, ...]] = {
    "wordpiece": ("--size", 900),
    "bpe": ("--model", "bpe", "--size", 600),
}
TEXT = "A miller measured seven lamps, and nobody forgot the ferry."


@pytest.fixture(scope="module")
def corpus(text: Path, build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some of the documents of `text`."""
    root = tmp_path_factory.mktemp("some")
    lines = text.read_text(encoding="utf-8").splitlines(keepends=True)
    (root / "some.jsonl").write_text("".join(lines[:25]), encoding="utf-8")
    return build("build-corpus", root / "corpus", "--text", root / "some.jsonl")


@pytest.fixture(scope="module")
def small(corpus: Path, build: Build, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("small")
    return {kind: build("train-vocab", root / kind, corpus, *options) for kind, options in KINDS.items()}


@pytest.fixture(scope="module")
def large(small: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same vocabularies with every id but those of special tokens raised by `MORE`."""
    root = tmp_path_factory.mktemp("large")
    return {kind: raised(path, root / kind) for kind, path in small.items()}


def raised(path: Path, target: Path) -> Path:
    form = json.loads((path / "tokenizer.json").read_text(encoding="utf-8"))
    known, more = form["model"]["vocab"], [f"zz{number}" for number in range(MORE)]
    if isinstance(known, list):
        form["model"]["vocab"] = [*known[:SPECIAL], *([piece, -100.0] for piece in more), *known[SPECIAL:]]
    else:
        own = {piece: i if i < SPECIAL else i + MORE for piece, i in known.items()}
        form["model"]["vocab"] = own | {piece: SPECIAL + nth for nth, piece in enumerate(more)}
    assert all(token["id"] < SPECIAL for token in form["added_tokens"])
    target.mkdir()
    (target / "tokenizer.json").write_text(json.dumps(form), encoding="utf-8")
    (target / "tokenizer_config.json").write_bytes((path / "tokenizer_config.json").read_bytes())
    return target


def up(ids: Any) -> list[int]:
    """Raise ids as `raised` does."""
    return [int(i) if i < SPECIAL else int(i) + MORE for i in ids]


def unmasked(row: dict[str, Any]) -> list[int]:
    ids = list(row["input_ids"])
    for place, label in zip(row["masked_lm_positions"], row["masked_lm_labels"], strict=True):
        ids[place] = label
    return ids


@pytest.mark.parametrize("to,kind", [("mds", "bpe"), ("tfrecord", "bpe"), ("megatron", "bpe")])
def test_the_vocabulary_goes_along(
    corpus: Path, build: Build, small: dict[str, Path], tmp_path: Path, to: str, kind: str
) -> None:
    """That of rows byte for byte; `tokenizers` and transformers load it, and give the ids of the one that was trained."""
    transformers, given = pytest.importorskip("transformers"), small[kind]
    if to == "hdf5":
        pytest.importorskip("h5py")
    if to == "megatron":
        source, options = corpus, ["--vocab", given]
    else:
        masks = ["--vocab", given, "--masking", "static", "--shards", 1, "--max-seq-length", 64]
        source, options = build("make-pairs", tmp_path / "rows", corpus, *masks), []
    made = build("export", tmp_path / "out", source, "--to", to, *options)
    names = ["tokenizer.json", "tokenizer_config.json"]
    if to != "megatron":
        assert [(made / name).read_bytes() for name in names] == [(source / name).read_bytes() for name in names]
    library, trained = (Tokenizer.from_file(str(path / "tokenizer.json")) for path in (made, given))
    loaded = transformers.AutoTokenizer.from_pretrained(str(made))
    ids = trained.encode(TEXT).ids
    assert library.encode(TEXT).ids == ids == loaded(TEXT)["input_ids"] and len(set(ids)) > 10
    assert (loaded.cls_token_id, loaded.sep_token_id, loaded.pad_token_id, loaded.mask_token_id) == (2, 3, 0, 4)
    assert library.get_vocab() == trained.get_vocab() and not bertdata.verify(made, workers=1).problems


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_rows_with_many_ids(
    corpus: Path, build: Build, small: dict[str, Path], large: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    """They are those of the small vocabulary, raised, in shards of every format and batches; and of BPE in the exports."""
    options = [corpus, "--objective", "documents", "--pack", "--shards", 2, "--max-seq-length", 256]
    one = Shards(build("make-pairs", tmp_path / "one", *options, "--vocab", small[kind]))
    rows = build("make-pairs", tmp_path / "rows", *options, "--vocab", large[kind])
    two = Shards(rows)
    assert two.vocab_size == one.vocab_size + MORE and not bertdata.verify(rows, workers=1).problems
    assert one[0]["input_ids"].dtype == np.uint16 and two[0]["input_ids"].dtype == np.uint32
    wanted = [up(row["input_ids"]) for row in one]
    assert [row["input_ids"].tolist() for row in two] == wanted and max(map(max, wanted)) > 1 << 16
    if kind == "bpe":
        mds = build("export", tmp_path / "mds", rows, "--to", "mds")
        assert [row["input_ids"] for row in read_mds(mds / "data")] == wanted and not bertdata.verify(mds, workers=1).problems
        index = json.loads((mds / "data" / "index.json").read_text())["shards"][0]
        assert "ndarray:uint32" in index["column_encodings"]
        given = {"small": small[kind], "large": large[kind]}
        made = {name: build("export", tmp_path / name, corpus, "--to", "megatron", "--vocab", given[name]) for name in given}
        documents = {name: read_megatron(path / "data") for name, path in made.items()}
        assert documents["large"] == [[up(sentence) for sentence in document] for document in documents["small"]]
        assert not bertdata.verify(made["large"], workers=1).problems
    pytest.importorskip("torch")
    found = []
    for rows_of in (one, two):
        batch = next(iter(bertdata.batches(rows_of, 8, format=bertdata.BatchFormat(dense_labels=True), for_model="custom")))
        ids, labels = (batch[name].numpy() for name in ("input_ids", "labels"))
        found.append(np.where(labels < 0, ids, labels).tolist())
    assert list(map(up, found[0])) == found[1]


@pytest.mark.slow
def test_masked_pairs_with_many_ids(
    corpus: Path, build: Build, small: dict[str, Path], large: dict[str, Path], tmp_path: Path
) -> None:
    """Static masks, and the formats that hold them: what was masked differs in random pieces only, which may be any."""
    h5py = pytest.importorskip("h5py")
    options = [corpus, "--masking", "static", "--shards", 1, "--max-seq-length", 64]
    one = build("make-pairs", tmp_path / "one", *options, "--vocab", small["wordpiece"])
    rows = build("make-pairs", tmp_path / "rows", *options, "--vocab", large["wordpiece"])
    stored = read_rows(rows)
    assert list(map(unmasked, stored)) == [up(unmasked(row)) for row in read_rows(one)]
    ids, labels = ([row[name] for row in stored] for name in ("input_ids", "masked_lm_labels"))
    assert max(map(max, labels)) > 1 << 16
    out = {to: build("export", tmp_path / to, rows, "--to", to) for to in ("mds", "hdf5", "tfrecord", "lddl")}
    found = list(read_mds(out["mds"] / "data"))
    assert [[row["input_ids"] for row in found], [row["masked_lm_labels"] for row in found]] == [ids, labels]
    with h5py.File(next((out["hdf5"] / "data").glob("*.hdf5"))) as file:
        arrays = [file[name][:] for name in ("input_ids", "masked_lm_ids")]
    records = list(read_records(next((out["tfrecord"] / "data").glob("*.tfrecord")), 2))
    examples = [[row[name] for row in records] for name in ("input_ids", "masked_lm_ids")]
    for columns in (arrays, examples):
        for wanted, values in zip((ids, labels), columns, strict=True):
            assert [list(own[: len(row)]) for row, own in zip(wanted, values, strict=True)] == wanted
    numbers = {piece: i for i, piece in enumerate(Shards(rows).pieces)}
    pairs = read_lddl(out["lddl"] / "data")
    assert [[numbers[piece] for name in "AB" for piece in row[name].split(" ")] for row in pairs] == [
        [i for i in row if i not in (numbers["[CLS]"], numbers["[SEP]"])] for row in ids
    ]
    for path in out.values():
        assert not bertdata.verify(path, workers=1).problems


@pytest.mark.slow
@pytest.mark.parametrize("kind,options", [("bpe", ["--objective", "documents", "--pack"]), ("bpe", ["--provenance"])])
def test_the_same_bytes_by_two_workers(
    parts: Path, build: Build, small: dict[str, Path], tmp_path: Path, kind: str, options: list[object]
) -> None:
    """Rows of documents, and pairs."""
    given = [parts / "build-corpus", "--vocab", small[kind], "--shards", 5, "--max-seq-length", 128, *options]
    one, two = tmp_path / "one", tmp_path / "two"
    build("make-pairs", one, *given)
    build("make-pairs", two, *given, "--workers", 2)
    assert len(list((one / "data").iterdir())) == 5 and digests(one) == digests(two)
