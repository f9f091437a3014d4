"""Each law finds its break: datasets whose digests are all right, but whose content breaks one law."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import Build

from bertdata.codec import encode
from bertdata.dataset import manifest
from bertdata.dataset.shards import read_batches, write
from bertdata.errors import NoInputError, UsageError
from bertdata.storage.files import file_entry, json_text
from bertdata.verification import verify

Row = dict[str, Any]


@pytest.fixture(scope="module")
def sets(build: Build, text: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Small datasets of every kind."""
    root = tmp_path_factory.mktemp("laws")
    lines = text.read_text(encoding="utf-8").splitlines()[:80]
    (root / "text.jsonl").write_text("\n".join([lines[0][:-2], lines[2], *lines[1:]]))
    corpus = build("build-corpus", root / "corpus", "--text", root / "text.jsonl", "--language", "en")
    vocab = build("train-vocab", root / "vocab", corpus, "--size", 120)
    pairs = (corpus, "--vocab", vocab, "--shards", 1)
    return {
        "corpus": corpus,
        "vocab": vocab,
        "nsp": build("make-pairs", root / "nsp", *pairs, "--provenance", "--validation-fraction", 0.3),
        "sop": build("make-pairs", root / "sop", *pairs, "--objective", "sop", "--provenance"),
        "documents": build("make-pairs", root / "documents", *pairs, "--objective", "documents"),
        "packed": build("make-pairs", root / "packed", *pairs, "--objective", "documents", "--pack", "--provenance"),
        "packed nsp": build("make-pairs", root / "packed nsp", *pairs, "--pack", "--max-seq-length", 512),
        "packed causal": build("make-pairs", root / "packed causal", *pairs, "--pack", "--objective", "causal"),
        "full": build("make-pairs", root / "full", *pairs, "--objective", "documents"),
        "causal": build("make-pairs", root / "causal", *pairs, "--objective", "causal"),
        "named": build("make-pairs", root / "named", *pairs, "--objective", "causal", "--provenance"),
        "static": build("make-pairs", root / "static", *pairs, "--masking", "static"),
        "words": build("make-pairs", root / "words", *pairs, "--masking", "static", "--whole-word", "--chinese-words", "jieba"),
    }


@pytest.fixture
def copy(sets: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """Copy a dataset, to break it."""
    return lambda name: Path(shutil.copytree(sets[name], tmp_path / name))


def remade(root: Path, change: Callable[[dict[str, Any]], None] = lambda made: None) -> None:
    """Write a manifest anew, with the right digests of the files that lie there now, and then change it."""
    made = manifest.read_json(root)
    for key in ("shards", "rejects", "drops", "files"):
        made[key] = [{**entry, **file_entry(root, entry["name"])} for entry in made.get(key, [])]
    if "card" in made:
        made["card"] = file_entry(root, made["card"]["name"])
    change(made)
    manifest.store(root, made)


def rewritten(root: Path, change: Callable[[list[Row]], Any], schema: Callable[[pa.Schema], pa.Schema] = lambda s: s) -> Path:
    """Change the rows of the first shard, and write the shard and the manifest anew, so that all digests are right."""
    made = manifest.read_json(root)
    name = made["shards"][0]["name"]
    batches = list(read_batches(root / name))
    rows = [row for batch in batches for row in batch.to_pylist()]
    rows = change(rows) or rows
    new = schema(batches[0].schema)
    entry = encode(write(root, name, new, [pa.RecordBatch.from_pylist(rows, new)]))
    if made["kind"] == "documents":
        entry["text_bytes"] = sum(len((s or "").encode()) for row in rows for s in row["sentences"] or [])
    made["shards"][0] = entry
    made["rows"] = sum(shard["rows"] for shard in made["shards"])
    manifest.store(root, made)
    return root


def told(root: Path) -> str:
    """Return the one problem of a dataset."""
    found = verify(root, workers=1)
    assert len(found.problems) == 1, found.problems
    return f"{found.problems[0].name}: {found.problems[0].what}"


def setting(at: int, **values: Any) -> Callable[[list[Row]], Any]:
    """Give a row other values; a function gets the old one."""

    def change(rows: list[Row]) -> None:
        for name, value in values.items():
            rows[at][name] = value(rows[at][name]) if callable(value) else value

    return change


DOCUMENTS: dict[str, tuple[Callable[[list[Row]], Any], str]] = {
    "no id": (setting(4, id=""), "row 4 has no id"),
    "no source": (setting(4, source=""), "row 4 has no source"),
    "other source": (setting(5, source="web"), "row 5 is of another source"),
    "no language": (setting(6, language=""), "row 6 has no language"),
    "other language": (setting(6, language="de"), "row 6 is in another language"),
    "no sentence": (setting(7, sentences=[], paragraph_starts=[]), "row 7 has no sentence"),
    "empty sentence": (setting(8, sentences=lambda old: [old[0], "", *old[1:]]), "row 8 has an empty sentence"),
    "last sentence empty": (setting(8, sentences=lambda old: [*old, ""]), "row 8 has an empty sentence"),
    "no paragraph": (setting(9, paragraph_starts=[]), "row 9 has no paragraph"),
    "late paragraph": (setting(9, paragraph_starts=[1]), "row 9 has a first paragraph that does not begin"),
    "paragraphs out of order": (setting(10, paragraph_starts=[0, 3, 2]), "row 10 has paragraphs that are not in order"),
    "paragraph twice": (setting(0, paragraph_starts=[0, 0]), "row 0 has paragraphs that are not in order"),
    "paragraph after the end": (setting(11, paragraph_starts=lambda old: [0, 9999]), "row 11 has a paragraph that begins after"),
    "null": (setting(3, title=None), "has a null in column title"),
    "null sentence": (setting(3, sentences=["One.", None]), "has a null in column sentences"),
    "row lost": (lambda rows: rows[:-1], "manifest.json: counts, documents that came out: 79 in the manifest, 78 were found"),
    "text lost": (setting(3, sentences=lambda old: [s[:-1] for s in old]), "manifest.json: sources.text.text_bytes: "),
}


@pytest.mark.parametrize("law", DOCUMENTS)
def test_documents(copy: Callable[[str], Path], law: str) -> None:
    change, what = DOCUMENTS[law]
    assert what in told(rewritten(copy("corpus"), change))


def label_of(rows: list[Row], label: int) -> int:
    return next(number for number, row in enumerate(rows) if row["next_sentence_label"] == label)


def swapped_labels(rows: list[Row]) -> None:
    for row in rows[:8]:
        row["next_sentence_label"] = 1
        row["b_document"] = row["a_document"] + "x"


def one_document(rows: list[Row]) -> None:
    row = rows[label_of(rows, 1)]
    row["b_document"] = row["a_document"]


def two_documents(rows: list[Row]) -> None:
    rows[label_of(rows, 0)]["b_document"] = "other"


def joined(rows: list[Row]) -> Row:
    """Two documents as if they were one."""
    row = {"input_ids": [CLS, WORD, WORD, WORD, SEP, CLS, WORD, SEP], "token_type_ids": [0] * 8, "document_starts": [0]}
    return {**rows[3], **row}


def short_row(rows: list[Row]) -> Row:
    return {**rows[0], "input_ids": [CLS, WORD, SEP], "token_type_ids": [0] * 3, "document_starts": [0]}


def putting(*positions: tuple[int, int], row: int = 3, name: str = "input_ids") -> Callable[[list[Row]], Any]:
    """Put other ids at positions of a row."""

    def change(rows: list[Row]) -> None:
        for position, value in positions:
            rows[row][name][position] = value

    return change


def segments(make: Callable[[int, int], Sequence[int]]) -> Callable[[list[Row]], Any]:
    """Give row 3 other segment ids, made of how many of each it has."""

    def change(rows: list[Row]) -> None:
        old = rows[3]["token_type_ids"]
        rows[3]["token_type_ids"] = list(make(old.count(0), old.count(1)))

    return change


def longer(rows: list[Row]) -> None:
    for row in rows[2:3]:
        row["input_ids"][5:5] = [9] * 128
        row["token_type_ids"][5:5] = [0] * 128


PAD, UNK, CLS, SEP, MASK, WORD, PART = 0, 1, 2, 3, 4, 50, 5
PAIRS: dict[str, tuple[str, Callable[[list[Row]], Any], str]] = {
    "too long": ("nsp", longer, "row 2 has more than 128 tokens"),
    "too short": ("nsp", setting(2, input_ids=[2, 9, 3, 3], token_type_ids=[0, 0, 0, 1]), "row 2 has less than 5 tokens"),
    "first": ("nsp", putting((0, WORD)), "row 3 does not begin with [CLS]"),
    "last": ("nsp", putting((-1, WORD)), "row 3 does not end with [SEP]"),
    "separator gone": (
        "nsp",
        lambda rows: putting((rows[3]["input_ids"].index(SEP), WORD))(rows),
        "row 3 has no [SEP] where A ends",
    ),
    "another separator": ("nsp", putting((1, SEP)), "row 3 has a special token inside its text (token 1)"),
    "padding": ("nsp", putting((2, PAD)), "row 3 has a special token inside its text (token 2)"),
    "mask": ("nsp", putting((2, MASK)), "row 3 has a special token inside its text (token 2)"),
    "no such id": ("nsp", putting((1, 120)), "row 3 has an id outside its vocabulary of 120 (token 1)"),
    "segments and ids": ("nsp", setting(3, token_type_ids=lambda old: old[:-1]), "row 3 has not one segment id for each token"),
    "segment 2": ("nsp", putting((-1, 2), name="token_type_ids"), "row 3 has a segment id other than 0 and 1"),
    "segments turned": ("nsp", segments(lambda a, b: [1] * a + [0] * b), "row 3 has segment ids that are not first 0"),
    "segments fall": ("nsp", segments(lambda a, b: [0, 1, 0] + [0] * (a - 4) + [1] * (b + 1)), "row 3 has segment ids that"),
    "step too late": ("nsp", segments(lambda a, b: [0] * (a + 1) + [1] * (b - 1)), "row 3 has no [SEP] where A ends"),
    "all one segment": ("nsp", segments(lambda a, b: [0] * (a + b)), "row 3 has an empty A or B"),
    "label": ("nsp", setting(3, next_sentence_label=2), "row 3 has a label other than 0 and 1"),
    "labels": ("nsp", swapped_labels, "labels 1 in"),
    "one document": ("nsp", one_document, "has A and B of one document where its label says two"),
    "two documents": ("nsp", two_documents, "has A and B of one document where its label says two, or of two"),
    "no document": ("nsp", setting(3, a_document=""), "row 3 does not say where it came from"),
    "order of two documents": ("sop", setting(3, b_document="other"), "row 3 has A and B of one document where"),
    "row lost": (
        "nsp",
        lambda rows: [r for i, r in enumerate(rows) if i not in (label_of(rows, 0), label_of(rows, 1))],
        "in the manifest",
    ),
    "null label": ("nsp", setting(3, next_sentence_label=None), "has a null in column next_sentence_label"),
    "null row": ("nsp", setting(3, input_ids=None), "has a null in column input_ids"),
    "null id": ("nsp", putting((1, None)), "has a null in column input_ids"),  # type: ignore[arg-type]
    "full, first": ("full", putting((0, SEP)), "row 3 does not begin with [CLS]"),
    "full, last": ("full", putting((-1, WORD)), "row 3 does not end with [SEP]"),
    "full, padding": ("full", putting((4, PAD)), "row 3 has a special token inside its text (token 4)"),
    "full, segment": ("full", putting((4, 1), name="token_type_ids"), "row 3 has a segment id other than 0 (token 4)"),
    "document, first": ("documents", putting((0, SEP)), "row 3 does not begin with [CLS]"),
    "document, two": ("documents", putting((4, SEP)), "row 3 has a special token inside its text (token 4)"),
    "document, segment": ("documents", putting((4, 1), name="token_type_ids"), "row 3 has a segment id other than 0 (token 4)"),
    "document, word": ("documents", putting((1, PART)), "has 1 rows that begin inside a word, but only 0"),
    "packed, no part": ("packed", setting(3, document_starts=[]), "row 3 has no part"),
    "packed, late part": (
        "packed",
        setting(3, document_starts=lambda old: [1, *old[1:]]),
        "row 3 has a first part that does not",
    ),
    "packed, part twice": (
        "packed",
        setting(3, document_starts=lambda old: [*old, old[-1]]),
        "row 3 has parts that are not in order",
    ),
    "packed, part after the end": ("packed", setting(3, document_starts=lambda old: [*old, 127]), "row 3 has "),
    "packed, part elsewhere": (
        "packed",
        setting(3, document_starts=lambda old: [*old, old[-1] + 3]),
        "row 3 does not begin with [CLS]",
    ),
    "packed, two in one": (
        "packed",
        lambda rows: [*rows[:3], joined(rows)],
        "row 3 has a special token inside its text (token 4)",
    ),
    "packed, not well": ("packed", lambda rows: [*rows, short_row(rows), short_row(rows)], "which fit in one"),
    "packed, label": (
        "packed nsp",
        setting(3, next_sentence_label=lambda old: [*old, 0]),
        "row 3 has not one next_sentence_label",
    ),
    "packed, labels": ("packed nsp", lambda rows: setting(0, next_sentence_label=[2] * 3)(rows), "row 0 "),
    "packed causal": ("packed causal", putting((1, SEP)), "row 3 has a special token inside its text (token 1)"),
    "causal, [CLS]": ("causal", putting((0, CLS)), "row 3 has a special token inside its text (token 0)"),
    "causal, short": (
        "causal",
        lambda rows: [{k: v if k == "origin" else v[:9] for k, v in row.items()} for row in rows],
        "rows that are not full",
    ),
    "unknown origin": ("causal", setting(3, origin=99), "row 3 has an origin that is not in the manifest"),
    "mask out of order": (
        "static",
        setting(3, masked_lm_positions=lambda old: [old[1], old[0], *old[2:]]),
        "row 3 has masked positions that are not in order",
    ),
    "mask twice": (
        "static",
        setting(3, masked_lm_positions=lambda old: [old[0], old[0], *old[2:]]),
        "row 3 has masked positions that are not in order",
    ),
    "mask after the end": (
        "static",
        setting(3, masked_lm_positions=lambda old: [*old[:-1], 128]),
        "row 3 has a masked position after its end",
    ),
    "mask on [CLS]": ("static", setting(3, masked_lm_positions=lambda old: [0, *old[1:]]), "row 3 "),
    "label of a special": ("static", putting((0, SEP), name="masked_lm_labels"), "row 3 has a mask on a special token"),
    "label of no id": ("static", putting((0, 120), name="masked_lm_labels"), "row 3 has a label outside its vocabulary"),
    "labels and positions": (
        "static",
        setting(3, masked_lm_labels=lambda old: old[1:]),
        "row 3 has not one label for each masked",
    ),
    "too few masks": (
        "static",
        setting(3, masked_lm_labels=lambda old: old[1:], masked_lm_positions=lambda old: old[1:]),
        "has ",
    ),
    "mask of no position": ("static", lambda rows: putting((unmasked(rows[3]), MASK))(rows), "row 3 has a special token inside"),
    "special as a word": (
        "static",
        lambda rows: putting((rows[3]["masked_lm_positions"][0], PAD))(rows),
        "row 3 has a special token in",
    ),
    "word in part": ("words", lambda rows: in_part(rows), "has a word that is masked in part"),
    "flag on a special": ("words", putting((0, True), name="continues_word"), "row 3 continues a word at a special token"),
    "documents of a row": (
        "named",
        setting(3, documents=lambda old: [*old, old[0]]),
        "row 3 has not one id for each",
    ),
    "document without a name": (
        "named",
        setting(4, documents=lambda old: ["", *old[1:]]),
        "row 4 does not say where",
    ),
    "documents of parts": ("packed", setting(2, documents=lambda old: old[1:]), "row 2 has not one id for each"),
    "flags": ("words", setting(3, continues_word=lambda old: old[1:]), "row 3 has not one continues_word for each token"),
}


def unmasked(row: Row) -> int:
    return next(i for i in range(1, 99) if i not in row["masked_lm_positions"] and row["input_ids"][i] > MASK)


def in_part(rows: list[Row]) -> None:
    """Take the first position of a masked word out of the mask."""
    for row in rows:
        for number, position in enumerate(row["masked_lm_positions"]):
            if row["continues_word"][position]:
                row["input_ids"][position] = row["masked_lm_labels"][number]
                del row["masked_lm_positions"][number], row["masked_lm_labels"][number]
                return
    raise AssertionError("no word of two pieces is masked")


@pytest.mark.parametrize("law", PAIRS)
def test_pairs(copy: Callable[[str], Path], law: str) -> None:
    name, change, what = PAIRS[law]
    assert what in told(rewritten(copy(name), change))


def test_one_label_too_many_of_a_split_of_one_shard(copy: Callable[[str], Path]) -> None:
    """Which rows alone do not tell, that name no document: two documents could make no other number."""
    root = copy("packed nsp")
    made = manifest.read_json(root)["statistics"]
    step = 1 if 2 * made["not_next"] >= made["parts"] else -1
    rewritten(root, partial(one_more, step))

    def counted(made: dict[str, Any]) -> None:
        for of in (made["statistics"], made["splits"]["train"]):
            ones = of["not_next"] + step
            of |= {"not_next": ones, "not_next_share": ones / of["parts"]}

    remade(root, counted)
    assert "which is not half" in told(root)


def one_more(step: int, rows: list[Row]) -> None:
    """Give one label 1 more, or one less, where `step` is -1."""
    row = next(row for row in rows if (step < 0) in map(bool, row["next_sentence_label"]))
    row["next_sentence_label"][row["next_sentence_label"].index(int(step < 0))] = int(step > 0)


def test_too_few_masks_and_more_than_may_be(copy: Callable[[str], Path]) -> None:
    fewer = setting(3, masked_lm_labels=lambda old: old[1:], masked_lm_positions=lambda old: old[1:])

    def restored(rows: list[Row]) -> None:
        row = rows[3]
        row["input_ids"][row["masked_lm_positions"][0]] = row["masked_lm_labels"][0]
        fewer(rows)

    assert "row 3 has not the share of masked positions it is to have (0.15)" in told(rewritten(copy("static"), restored))
    words = rewritten(copy("words"), lambda rows: None)
    remade(words, lambda made: made["config"].update(max_predictions=2))
    assert "has more than 2 masked positions" in told(words)


def test_large_shards_are_read_in_parts(copy: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The row that is named is the row of the shard, however it is cut; and no part hides a break at its edge."""
    from bertdata.verification import pairs

    monkeypatch.setattr(pairs, "_TOKENS_PER_CHECK", 300)
    root = copy("static")
    assert verify(root, workers=1).problems == []
    rows = manifest.read_json(root)["rows"]
    for row in (0, 1, 2, 3, rows - 1):
        broken = rewritten(root, putting((0, WORD), row=row))
        assert f"row {row} does not begin with [CLS]" in told(broken)
        rewritten(root, putting((0, CLS), row=row))


SCHEMAS: dict[str, tuple[str, Callable[[pa.Schema], pa.Schema], str]] = {
    "wide ids": (
        "nsp",
        lambda s: s.set(0, pa.field("input_ids", pa.list_(pa.uint32()))),
        "a column input_ids of list<item: uint32>",
    ),
    "large lists": (
        "nsp",
        lambda s: s.set(0, pa.field("input_ids", pa.large_list(pa.uint16()))),
        "a column input_ids of large_list",
    ),
    "renamed": ("nsp", lambda s: s.set(2, pa.field("labels", pa.int8())), "has the columns input_ids, token_type_ids, labels"),
    "no features": ("nsp", lambda s: s.remove_metadata(), "describes other columns to `datasets`"),
    "other features": ("corpus", lambda s: s.with_metadata({"huggingface": "{}"}), "describes other columns to `datasets`"),
    "one more": ("corpus", lambda s: s.append(pa.field("text", pa.string())), "has the columns id, source"),
}


@pytest.mark.parametrize("law", SCHEMAS)
def test_schemas(copy: Callable[[str], Path], law: str) -> None:
    name, schema, what = SCHEMAS[law]
    assert what in told(rewritten(copy(name), lambda rows: None, schema))


def shard(root: Path) -> Path:
    return root / manifest.read_json(root)["shards"][0]["name"]


def rows_of(root: Path) -> pa.Table:
    return pa.Table.from_batches(list(read_batches(shard(root))))


def test_end_marks_rows_and_batches(copy: Callable[[str], Path]) -> None:
    root = copy("corpus")
    whole, table = shard(root).read_bytes(), rows_of(root)

    def broken(data: bytes, **entry: Any) -> str:
        shard(root).write_bytes(data)

        def change(made: dict[str, Any]) -> None:
            made["shards"][0].update(entry)
            made["rows"] = made["shards"][0]["rows"]

        remade(root, change)
        return told(root)

    assert "cannot be read as an Arrow file" in broken(whole[:-8])
    assert "cannot be read as an Arrow file" in broken(whole + b"\xff\xff\xff\xff\0\0\0\0")
    assert "contains 79 rows, but the manifest lists 78" in broken(whole, rows=78)
    assert "contains 1 record batches, but the manifest lists 2" in broken(whole, rows=79, batches=2)
    assert "bytes of text, but the manifest lists 1" in broken(whole, batches=1, text_bytes=1)
    for short in (b"", b"\xff", whole[:8], whole[-8:]):
        assert "cannot be read as an Arrow file" in broken(short, batches=0)
    sink = pa.BufferOutputStream()
    text = (
        table.column("title").combine_chunks().chunk(0)
        if table.column("title").num_chunks > 1
        else table.column("title").chunk(0)
    )
    data = bytearray(text.buffers()[2].to_pybytes())
    data[0] = 0xFF  # no UTF-8
    bad = pa.StringArray.from_buffers(len(text), text.buffers()[1], pa.py_buffer(bytes(data)))
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_batch(
            pa.RecordBatch.from_arrays(
                [bad if n == "title" else table.column(n).chunk(0) for n in table.column_names], schema=table.schema
            )
        )
    assert "UTF8" in broken(sink.getvalue().to_pybytes(), text_bytes=0)


VOCABULARY: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "special gone": ("vocab.txt", lambda b: b.replace(b"[MASK]\n", b"[MASKED]\n"), "lacks [MASK]"),
    "special moved": (
        "vocab.txt",
        lambda b: b.replace(b"[CLS]\n[SEP]\n", b"[SEP]\n[CLS]\n"),
        "has not [CLS] as piece 2, as the layout",
    ),
    "twice": ("vocab.txt", lambda b: b + b.splitlines(True)[-1], "twice"),
    "one more": ("vocab.txt", lambda b: b + b"zzzz\n", "has 121 pieces, but 120 in the manifest"),
    "one less": ("vocab.txt", lambda b: b"".join(b.splitlines(True)[:-1]), "has 119 pieces, but 120"),
    "blank line": ("vocab.txt", lambda b: b.replace(b"[MASK]\n", b"[MASK]\n\n"), "is not a vocabulary: "),
    "blank end": ("vocab.txt", lambda b: b + b"\n", "is not as it is written"),
    "byte order mark": ("vocab.txt", lambda b: b"\xef\xbb\xbf" + b, "is not as it is written"),
    "CRLF": ("vocab.txt", lambda b: b.replace(b"\n", b"\r\n"), "is not as it is written"),
    "no last line feed": ("vocab.txt", lambda b: b[:-1], "is not as it is written"),
    "no UTF-8": ("vocab.txt", lambda b: b[:-2] + b"\xff\n", "is not a vocabulary"),
    "no JSON": ("tokenizer.json", lambda b: b[:-9], "tokenizer.json: is not valid JSON"),
    "deep JSON": ("tokenizer.json", lambda b: b"[" * 99999, "tokenizer.json: is not valid JSON"),
    "other ids": (
        "tokenizer.json",
        lambda b: b.replace(b'"[CLS]": 2,', b'"[CLS]": 7,', 1),
        "has other pieces or ids than vocab.txt",
    ),
    "upper case": (
        "tokenizer.json",
        lambda b: b.replace(b'"lowercase": true', b'"lowercase": false'),
        "differs from the vocabulary's settings",
    ),
    "other special": (
        "tokenizer.json",
        lambda b: b.replace(b'"content": "[MASK]"', b'"content": "[M]"'),
        "has other pieces or ids than vocab.txt",
    ),
    "other case": (
        "tokenizer_config.json",
        lambda b: b.replace(b'"do_lower_case": true', b'"do_lower_case": false'),
        "do_lower_case False",
    ),
    "other name": ("tokenizer_config.json", lambda b: b.replace(b'"[UNK]"', b'"<unk>"'), "does not name [UNK]"),
    "a list": ("tokenizer_config.json", lambda b: b"[]", "is not a JSON object"),
}


@pytest.mark.parametrize("law", VOCABULARY)
@pytest.mark.parametrize("name", ["vocab", "nsp"])
def test_vocabularies(copy: Callable[[str], Path], law: str, name: str) -> None:
    file, change, what = VOCABULARY[law]
    if name == "nsp" and law in ("special moved", "other case"):
        return  # a vocabulary from elsewhere may have any order, and any case
    root = copy(name)
    whole = (root / file).read_bytes()
    (root / file).write_bytes(change(whole))
    assert (root / file).read_bytes() != whole
    remade(root)
    found = {problem.name: problem.what for problem in verify(root, workers=1).problems}
    assert what in f"{file}: {found[file]}"


LISTS: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "no JSON": ("rejects", lambda b: b.replace(b"{", b"(", 1), "line 1 is not valid JSON"),
    "no object": ("drops", lambda b: b"3\n", "line 1 is not a JSON object"),
    "no reason": ("rejects", lambda b: b.replace(b'"reason"', b'"because"'), "line 1 has no reason"),
    "no position": ("rejects", lambda b: b.replace(b'"where"', b'"there"'), "line 1 has no where"),
    "no id": ("drops", lambda b: b.replace(b'"id"', b'"name"'), "line 1 has no id"),
    "no detail": ("drops", lambda b: b.replace(b'"detail"', b'"figure"'), "line 1 has no detail"),
    "one more": ("drops", lambda b: b + b, "has 2 lines, but 1 in the manifest"),
    "no end": ("drops", lambda b: b[:-1], "line 1 has no end"),
    "other reason": (
        "drops",
        lambda b: b.replace(b'"duplicate"', b'"few letters"'),
        "dropped as few letters: 0 in the manifest, 1 were",
    ),
    "other reject": ("rejects", lambda b: b.replace(b'"reason": "', b'"reason": "x'), "manifest.json: counts, rejected as"),
    "pages": ("rejects", lambda b: b.replace(b"}", b', "pages": 0}'), "line 1 counts 0 pages"),
}


@pytest.mark.parametrize("law", LISTS)
def test_lists(copy: Callable[[str], Path], law: str) -> None:
    key, change, what = LISTS[law]
    root = copy("corpus")
    path = root / manifest.read_json(root)[key][0]["name"]
    whole = path.read_bytes()
    path.write_bytes(change(whole))
    assert path.read_bytes() != whole
    remade(root)
    assert what in told(root)


def changing(*keys: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    """Change one value of a manifest."""

    def change(made: dict[str, Any]) -> None:
        for key in keys[:-1]:
            made = made[key]
        made[keys[-1]] = to(made[keys[-1]]) if callable(to) else to

    return change


def moved(made: dict[str, Any]) -> None:
    """Let a document be dropped for another reason: the sums hold, the lists do not."""
    made["counts"][0]["dropped"]["few letters"] = made["counts"][0]["dropped"].pop("duplicate")


MANIFESTS: dict[str, tuple[str, Callable[[dict[str, Any]], None], str]] = {
    "sums": ("corpus", changing("counts", 0, "in", to=lambda n: n + 1), "do not add up"),
    "reasons": ("corpus", moved, "counts, dropped as duplicate: 0 in the manifest, 1 were found"),
    "rows": ("corpus", changing("rows", to=7), "rows is 7, but its shards have 79"),
    "source": ("corpus", changing("sources", "text", "documents", to=7), "sources.text.documents: 7 in the manifest"),
    "bytes": ("corpus", changing("sources", "text", "text_bytes", to=7), "sources.text.text_bytes: 7 in the manifest"),
    "share": ("corpus", changing("sources", "text", "share", to=0.9), "sources.text.share: 0.9 in the manifest, 1.0 was found"),
    "no sources": ("corpus", lambda made: made.pop("sources"), "missing required field sources"),
    "strange sources": ("corpus", changing("sources", to=[1]), "sources: expected object, got array"),
    "counts of text": (
        "corpus",
        changing("counts", 0, "dropped", to={"duplicate": "1"}),
        "counts[0].dropped[...]: expected int, got str",
    ),
    "a version": ("corpus", changing("versions", "numpy", to=""), "versions has none of numpy"),
    "a kind": ("corpus", changing("kind", to="sentences"), "kind: is not one of documents, vocabulary, pairs"),
    "an option": ("nsp", changing("config", "sharks", to=3), "has an option that this bertdata does not know: config.sharks"),
    "a length": ("nsp", changing("config", "max_seq_length", to=3), "config is invalid: `max_seq_length`"),
    "label share": ("nsp", changing("statistics", "not_next_share", to=0.51), "statistics.not_next_share: 0.51 in the manifest"),
    "labels": ("nsp", changing("splits", "train", "not_next", to=3), "splits.train.not_next: 3 in the manifest"),
    "length": (
        "nsp",
        changing("splits", "validation", "mean_length", to=3.0),
        "splits.validation.mean_length: 3.0 in the manifest",
    ),
    "padding": ("nsp", changing("statistics", "padding_share", to=0.0), "statistics.padding_share: 0.0 in the manifest"),
    "tokens": ("full", changing("statistics", "tokens", to=3), "statistics.tokens: 3 in the manifest"),
    "unknown": ("full", changing("statistics", "unknown_share", to=1.1), "statistics has an impossible unknown_share"),
    "unknown by language": (
        "full",
        changing("unknown_tokens", to={"text": {"en": 9}}),
        "statistics.unknown_share: 0.0 in the manifest",
    ),
    "unknown share": ("full", changing("statistics", "unknown_share", to=0.5), "statistics.unknown_share: 0.5 in the manifest"),
    "documents": ("sop", changing("splits", "train", "documents", to=3), "splits.train.documents: 3 in the manifest"),
    "shards": ("sop", changing("splits", "train", "shards", to=3), "splits have 3 shards, but 1 are listed"),
    "huge shards": ("sop", changing("splits", "train", "shards", to=10**9), "splits have 1,000,000,000 shards, but 1 are"),
    "text": ("causal", changing("counts", 2, "in", to=lambda n: n + 1), "tokens: "),
    "masked": ("static", changing("statistics", "masked", to=3), "statistics.masked: 3 in the manifest"),
    "predictions": ("static", changing("statistics", "max_predictions", to=3), "statistics.max_predictions: 3 in the manifest"),
    "vocabulary": ("vocab", changing("size", to=3), "vocab.txt: has 120 pieces, but 3 in the manifest"),
    "a file": ("vocab", changing("files", to=lambda files: files[:2]), "manifest.json: files does not name vocab.txt"),
}


@pytest.mark.parametrize("law", MANIFESTS)
def test_manifests(copy: Callable[[str], Path], law: str) -> None:
    name, change, what = MANIFESTS[law]
    root = copy(name)
    remade(root, change)
    found = verify(root, workers=1).problems
    assert any(what in f"{problem.name}: {problem.what}" for problem in found), found


def test_a_manifest_written_anew_by_another_program(copy: Callable[[str], Path]) -> None:
    """It says the same, so readers take it; but its bytes are others."""
    root = copy("nsp")
    path = root / manifest.NAME
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2))
    assert manifest.read_json(root)["kind"] == "pairs"
    assert told(root) == "manifest.json: has the original contents, but not the original bytes"


@pytest.mark.parametrize("keys", [("sha256",), ("card",), ("sha256", "card")])
def test_nothing_of_a_manifest_is_optional(copy: Callable[[str], Path], keys: tuple[str, ...]) -> None:
    """Without its digests a manifest would take any other, and any other README.md."""
    root = copy("nsp")
    made = {key: value for key, value in manifest.read_json(root).items() if key not in keys}
    (root / "README.md").write_text("# Other")
    if "sha256" in keys:
        (root / manifest.NAME).write_text(json_text(made))
    else:
        manifest.store(root, made)
    assert ("not as it was written" if "sha256" in keys else "manifest.json: card is missing") in told(root)


def test_what_is_no_data_set(tmp_path: Path, sets: dict[str, Path]) -> None:
    with pytest.raises(NoInputError, match="is not a directory"):
        verify(tmp_path / "nothing")
    with pytest.raises(NoInputError, match="no bertdata dataset"):
        verify(tmp_path)
    root = Path(shutil.copytree(sets["vocab"], tmp_path / "vocab"))
    remade(root, changing("bertdata", to=manifest.FORMAT + 1))
    with pytest.raises(UsageError, match="newer bertdata"):
        verify(root)


def test_numbers_of_rows_are_those_of_numpy(copy: Callable[[str], Path]) -> None:
    """A row that is broken is named by its number in the shard, as datasets and numpy count."""
    root = copy("corpus")
    ids = np.array(rows_of(root).column("id").to_pylist())
    rewritten(root, setting(int(np.argmax(ids == ids[17])), language=""))
    assert "row 17 has no language" in told(root)
