"""`verify` finds nothing in datasets of every kind, any damage to any file, and each broken rule by its row."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import Build, Run, digests, read_manifest

from bertdata import verify
from bertdata.codec import encode
from bertdata.dataset import manifest
from bertdata.dataset.shards import read_batches, write
from bertdata.errors import NoInputError, StorageError

Row = dict[str, Any]
Change = Callable[[list[Row]], Any]
KINDS: dict[str, list[Any]] = {
    "nsp": ["--provenance", "--validation-fraction", 0.3],
    "sop": ["--objective", "sop", "--pack", "--provenance"],
    "documents": ["--objective", "documents"],
    "packed": ["--objective", "documents", "--pack", "--provenance"],
    "copies": ["--objective", "causal", "--dupe-factor", 2],
    "causal": ["--objective", "causal", "--pack"],
    "static": ["--masking", "static", "--provenance"],
    "words": ["--masking", "static", "--whole-word", "--chinese-words", "jieba", "--pack", "--max-seq-length", 512],
}


@pytest.fixture(scope="module")
def sets(build: Build, text: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Small datasets of every kind."""
    root = tmp_path_factory.mktemp("sets")
    lines = text.read_text(encoding="utf-8").splitlines()[:80]
    (root / "text.jsonl").write_text("\n".join([lines[0][:-2], json.dumps({"text": "12.5 17.25 8 1"}), *lines[1:]]))
    corpus = build("build-corpus", root / "corpus", "--text", root / "text.jsonl", "--language", "en", "--max-rejects", 1)
    vocab = build("train-vocab", root / "vocab", corpus, "--size", 120)
    made = {"corpus": corpus, "vocab": vocab, "export": build("export", root / "export", corpus, "--to", "jsonl")}
    for kind, options in KINDS.items():
        made[kind] = build("make-pairs", root / kind, corpus, "--vocab", vocab, "--shards", 1, *options)
    return made


@pytest.fixture
def copy(sets: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """Copy a dataset, to break it."""
    return lambda name: Path(shutil.copytree(sets[name], tmp_path / name))


def problems(root: Path, **options: Any) -> dict[str, str]:
    return {problem.name: problem.what for problem in verify(root, workers=1, **options).problems}


@pytest.mark.parametrize("kind", ["corpus", "vocab", "export", *KINDS])
def test_nothing_is_wrong_with_what_was_written(sets: dict[str, Path], kind: str) -> None:
    result, fields = verify(sets[kind], workers=1), read_manifest(sets[kind])
    assert (result.kind, result.rows, result.problems, result.notes) == (fields["kind"], fields["rows"], [], [])
    names = [file["name"] for key in ("shards", "rejects", "drops", "files") for file in fields.get(key, ())]
    assert result.files == 1 + len(names) + ("card" in fields)
    assert kind != "corpus" or (fields["rejects"] and fields["drops"])


@pytest.mark.parametrize("kind", ["corpus", "vocab", "export", "nsp"])
def test_damage_to_each_file_is_found(copy: Callable[[str], Path], kind: str) -> None:
    """A flipped bit, a cut, a lost, a foreign, an exchanged file and a folder in its place, each named."""
    root = copy(kind)
    names = [name for name in digests(root) if name not in ("manifest.json", "report.html")]
    for name in names:
        contents = (root / name).read_bytes()
        flipped = bytearray(contents)
        flipped[len(flipped) // 2] ^= 1
        (root / name).write_bytes(flipped)
        assert problems(root) == {name: "has changed since it was written (its SHA-256 differs)"}
        (root / name).write_bytes(contents[:-1])
        assert "bytes, but" in problems(root)[name]
        (root / name).unlink()
        assert problems(root) == {name: "is missing"}
        (root / name).mkdir()
        assert problems(root) == {name: "is missing"}
        (root / name).rmdir()
        (root / name).write_bytes(contents)
    (root / "data" / "more").parent.mkdir(exist_ok=True)
    (root / "data" / "more").write_text("?")
    (root / ".bertdata" / "tasks" / "extract").mkdir(parents=True)
    (root / ".bertdata" / "tasks" / "extract" / "0").touch()
    assert problems(root) == {"data/more": "does not belong to this dataset"} and len(verify(root).notes) == 1
    (root / "manifest.json").write_bytes((root / "manifest.json").read_bytes()[:-20])
    assert problems(root)["manifest.json"].startswith("is damaged")


@pytest.mark.slow
def test_a_flipped_bit_is_found_and_the_repeated_run_gives_the_same_digests(
    build: Build, sets: dict[str, Path], tmp_path: Path
) -> None:
    arguments = [sets["corpus"], "--vocab", sets["vocab"], "--shards", 1, *KINDS["nsp"]]
    root = build("make-pairs", tmp_path / "pairs", *arguments)
    before, path = digests(root), root / "data" / "train-00000-of-00001.arrow"
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 3] ^= 8
    path.write_bytes(contents)
    assert problems(root) == {"data/train-00000-of-00001.arrow": "has changed since it was written (its SHA-256 differs)"}
    assert digests(build("make-pairs", root, *arguments, "--overwrite")) == before


# --- impossible values with valid digests ---


def rewritten(root: Path, change: Change) -> Path:
    """Change the rows of the first shard, and write the shard and the manifest again, so that all digests are right."""
    fields = read_manifest(root)
    name = fields["shards"][0]["name"]
    batches = list(read_batches(root / name))
    rows = [row for batch in batches for row in batch.to_pylist()]
    rows = change(rows) or rows
    entry = encode(write(root, name, batches[0].schema, [pa.RecordBatch.from_pylist(rows, batches[0].schema)]))
    if fields["kind"] == "documents":
        entry["text_bytes"] = sum(len((s or "").encode()) for row in rows for s in row["sentences"] or [])
    fields["shards"][0] = entry
    fields["rows"] = sum(shard["rows"] for shard in fields["shards"])
    manifest.store(root, fields)
    return root


def setting(at: int, **values: Any) -> Change:
    """Give a row other values; a function gets the old one."""

    def change(rows: list[Row]) -> None:
        for name, value in values.items():
            rows[at][name] = value(rows[at][name]) if callable(value) else value

    return change


def put(*positions: tuple[int, int], row: int = 3, name: str = "input_ids") -> Change:
    """Put other values at positions of a list."""

    def change(rows: list[Row]) -> None:
        for position, value in positions:
            rows[row][name][position] = value

    return change


def label(value: int, **values: Any) -> Change:
    """Change the first pair with a label."""
    return lambda rows: setting(next(n for n, row in enumerate(rows) if row["next_sentence_label"] == value), **values)(rows)


PAD, UNK, CLS, SEP, MASK, WORD = 0, 1, 2, 3, 4, 50
BROKEN: list[tuple[str, Change, str]] = [
    ("corpus", setting(4, id=""), "row 4 has no id"),
    ("corpus", setting(6, language="e?"), "row 6 has a language that is not a code"),
    ("corpus", setting(6, language="de"), "row 6 is in another language"),
    ("corpus", setting(7, sentences=[], paragraph_starts=[]), "row 7 has no sentence or no paragraph"),
    ("corpus", setting(8, sentences=lambda old: [*old, ""]), "row 8 has an empty sentence"),
    ("corpus", setting(9, paragraph_starts=[1]), "row 9 has paragraphs that are not in order"),
    ("corpus", setting(10, paragraph_starts=[0, 3, 2]), "row 10 has paragraphs that are not in order"),
    ("corpus", setting(11, paragraph_starts=[0, 9999]), "row 11 has paragraphs that are not in order"),
    ("corpus", setting(3, title=None), "has a null in column title"),
    ("corpus", setting(3, sentences=["One.", None]), "has a null in column sentences"),
    ("corpus", lambda rows: rows[:-1], "counts, documents that came out: 79 in the manifest, 78 were found"),
    ("corpus", setting(3, sentences=lambda old: [s[:-1] for s in old]), "sources.text.text_bytes: "),
    ("corpus", setting(3, source="web"), "sources: "),
    ("nsp", setting(2, input_ids=[CLS] + [WORD] * 128, token_type_ids=[0] * 129), "row 2 has more than 128 tokens"),
    ("nsp", setting(2, input_ids=[CLS, WORD, SEP, SEP], token_type_ids=[0, 0, 0, 1]), "row 2 has less than 5 tokens"),
    ("nsp", setting(2, input_ids=[], token_type_ids=[]), "row 2 has less than 5 tokens"),
    ("nsp", setting(2, token_type_ids=[0]), "row 2 does not have one token_type_ids for each token"),
    ("nsp", put((0, WORD)), "row 3 does not begin with [CLS]"),
    ("nsp", put((-1, WORD)), "row 3 does not end with [SEP]"),
    ("nsp", lambda rows: put((rows[3]["input_ids"].index(SEP), WORD))(rows), "row 3 has no [SEP] where A ends"),
    ("nsp", put((1, SEP)), "row 3 has a special token inside its text"),
    ("nsp", put((2, PAD)), "row 3 has a special token inside its text"),
    ("nsp", put((1, 65_535)), "row 3 has an id outside its vocabulary of 120"),
    ("nsp", put((1, 1), name="token_type_ids"), "row 3 has segment ids that are not first 0 and then 1"),
    ("nsp", put((1, 7), name="token_type_ids"), "row 3 has "),
    ("nsp", setting(3, token_type_ids=lambda old: [0] * len(old)), "row 3 has an empty A or B by its segment ids"),
    ("nsp", setting(3, token_type_ids=lambda old: [1] * len(old)), "row 3 has an empty A or B by its segment ids"),
    ("nsp", setting(5, next_sentence_label=5), "row 5 has a label other than 0 and 1"),
    ("nsp", label(1, next_sentence_label=0, b_document=lambda old: old), "has A and B of one document where"),
    ("nsp", label(0, b_document="other"), "has A and B of one document where"),
    ("nsp", setting(5, origin=9), "row 5 has an origin that is not in the manifest"),
    ("static", label(1, next_sentence_label=0, b_document="x", a_document="x"), "labels 1 in "),
    ("sop", put((0, 1), name="document_starts"), "row 3 has segments that are not in order"),
    ("sop", setting(3, document_starts=[]), "row 3 has no segment"),
    ("sop", setting(3, next_sentence_label=[0, 1] * 9), "row 3 does not have one next_sentence_label for each segment"),
    ("packed", put((0, 9), name="document_starts"), "row 3 has segments that are not in order"),
    ("packed", setting(3, document_starts=[0, 65_535]), "row 3 has segments that are not in order, or begin after its end"),
    ("packed", put((2, 1), name="token_type_ids"), "row 3 has a segment id other than 0"),
    ("documents", put((1, CLS)), "row 3 has a special token inside its text"),
    ("copies", put((1, MASK)), "row 3 has a special token inside its text"),
    ("causal", put((1, SEP)), "row 3 has a special token inside its text"),
    ("words", setting(0, continues_word=[True]), "row 0 does not have one continues_word for each token"),
    ("static", setting(3, masked_lm_labels=[]), "row 3 has not one label for each masked position"),
    ("static", setting(3, masked_lm_positions=[*range(1, 60)], masked_lm_labels=[WORD] * 59), "row 3 has more than "),
    ("static", put((0, 200), name="masked_lm_positions"), "row 3 has masked positions that are not in order or not in it"),
    ("static", put((0, 65_535), name="masked_lm_labels"), "row 3 has masked positions that are not in order or not in it"),
    ("static", put((0, SEP), name="masked_lm_labels"), "row 3 has a mask on or of a special token"),
    ("static", setting(3, masked_lm_positions=[], masked_lm_labels=[]), "row 3 does not have 0.15 of its tokens masked"),
]


@pytest.mark.parametrize(("kind", "change", "problem"), BROKEN)
def test_an_impossible_row_is_named(copy: Callable[[str], Path], kind: str, change: Change, problem: str) -> None:
    (found,) = problems(rewritten(copy(kind), change)).values()
    assert problem in found


def at(*keys: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    """Change a value of a manifest."""

    def change(fields: dict[str, Any]) -> None:
        for key in keys[:-1]:
            fields = fields[key]
        fields[keys[-1]] = to(fields[keys[-1]]) if callable(to) else to

    return change


def more(value: Any) -> Any:
    return value + 1


WRONG: list[tuple[str, Callable[[dict[str, Any]], None], str]] = [
    ("corpus", at("counts", 0, "out", to=more), "do not add up"),
    ("corpus", at("counts", 0, "rejected", to=lambda old: {reason: count + 1 for reason, count in old.items()}), "do not add up"),
    ("corpus", at("sources", "text", "words", to=more), "sources.text.words: "),
    ("corpus", at("sources", "text", "share", to=0.5), "sources.text.share: 0.5 in the manifest, 1.0 was found"),
    ("corpus", at("sources", "text", "languages", "en", "documents", to=more), "sources.text.languages, documents: "),
    ("corpus", at("drops", to=[]), "dropped/00000-of-00001.jsonl: does not belong"),
    ("corpus", at("formulas", "found", to={"math": 3}), "formulas.found.math: 3 in the manifest, 0 were found"),
    ("export", at("counts", 0, "in", to=more), "do not add up"),
    ("nsp", at("splits", "train", "tokens", to=more), "splits.train.tokens: "),
    ("nsp", at("splits", "train", "shards", to=7), "shards of train are not data/train-00000-of-00007"),
    ("nsp", at("splits", "train", "not_next", to=None), "splits.train.not_next: None in the manifest"),
    ("nsp", at("splits", "train", "mean_length", to=7.5), "splits.train.mean_length: 7.5 in the manifest"),
    ("nsp", at("statistics", "unknown_share", to=2), "statistics has an impossible unknown_share"),
    ("nsp", at("statistics", "repeated_ids", to=9999), "statistics has an impossible unknown_share or repeated_ids"),
    ("nsp", at("pairings", "language", "en", "not_next", to=more), "pairings.language, not_next: "),
    (
        "nsp",
        at("pairings", "script", to=lambda old: {"Latn": old["Latn"] | {"pairs": 2}, "Cyrl": old["Latn"]}),
        "pairings.script, ",
    ),
    ("nsp", at("tokens", "text", "en", to=more), "tokens, of all sources, in all copies: "),
    ("nsp", at("vocab_size", to=7), "tokenizer.json: is not a tokenizer: "),
    ("nsp", at("config", "max_seq_length", to=16), "has more than 16 tokens"),
    ("static", at("statistics", "masked_share", to=0.5), "statistics.masked_share: 0.5 in the manifest"),
    ("static", at("statistics", "masked_share", to=math.nan), "statistics.masked_share: expected "),
    ("static", at("config", "masked_lm_prob", to=math.nan), "config is invalid"),
    ("static", at("config", "masked_lm_prob", to=0.5), "does not have 0.5 of its tokens masked"),
]


@pytest.mark.parametrize(("kind", "change", "problem"), WRONG)
def test_a_wrong_value_of_a_manifest_is_named(
    copy: Callable[[str], Path], kind: str, change: Callable[[dict[str, Any]], None], problem: str
) -> None:
    root = copy(kind)
    fields = read_manifest(root)
    change(fields)
    manifest.store(root, json.loads(json.dumps(fields)))
    assert any(problem in f"{name}: {what}" for name, what in problems(root).items()), problems(root)


def test_a_damaged_vocabulary_and_list_are_named(copy: Callable[[str], Path]) -> None:
    for contents in (b"{}", b"[" * 9999, b'{"model": {"vocab": {"a": -1}}}', b"\xff"):
        root = copy("nsp")
        (root / "tokenizer.json").write_bytes(contents)
        fields = read_manifest(root)
        fields["files"] = [encode(manifest.entry(root, file["name"])) for file in fields["files"]]
        manifest.store(root, fields)
        assert problems(root)["tokenizer.json"].startswith("is not a tokenizer: ")
        shutil.rmtree(root)
    for line, problem in ((b"{", "is not valid JSON"), (b"[]", "has no id"), (b'{"id": "a", "reason": "b"}', "has no where")):
        root = copy("corpus")
        fields = read_manifest(root)
        path = root / fields["rejects"][0]["name"]
        path.write_bytes(line + b"\n")
        fields["rejects"][0] |= encode(manifest.entry(root, fields["rejects"][0]["name"]))
        manifest.store(root, fields)
        assert problem in problems(root)[fields["rejects"][0]["name"]]
        shutil.rmtree(root)


# --- the command ---


def test_links_that_lead_outside_are_not_followed(copy: Callable[[str], Path], tmp_path: Path) -> None:
    root = copy("nsp")
    (name,) = (shard["name"] for shard in read_manifest(root)["shards"] if "train" in shard["name"])
    shutil.move(root / name, outside := tmp_path / "outside")
    (root / name).symlink_to(outside)
    assert problems(root) == {name: "is a link that leads out of the dataset"}
    os.replace(outside, root / "data" / "kept")
    (root / name).unlink()
    (root / name).symlink_to("kept")
    assert problems(root) == {"data/kept": "does not belong to this dataset"}


def test_a_failing_disk_is_no_damage(sets: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, *_: Any) -> str:
        raise StorageError(f"cannot read {path}: Input/output error")

    monkeypatch.setattr("bertdata.verification.files.digest", fail)
    with pytest.raises(StorageError, match="cannot read .*Input/output error"):
        verify(sets["nsp"], workers=1)
    with pytest.raises(NoInputError):
        verify(sets["nsp"] / "data")


@pytest.mark.slow
def test_processes_find_what_one_does(build: Build, text: Path, tmp_path: Path) -> None:
    corpus = build("build-corpus", tmp_path / "corpus", "--text", text, "--task-bytes", 65536)
    seen: list[tuple[int, int]] = []
    assert verify(corpus, workers=2, progress=lambda done, total: seen.append((done, total))) == verify(corpus, workers=1)
    total = sum(path.stat().st_size for path in (corpus / "data").iterdir())
    assert len(seen) > 2 and seen[-1] == (total, total) and sorted(seen) == seen


@pytest.mark.slow
def test_the_command_names_damaged_files_and_exits_with_6(run: Run, sets: dict[str, Path], copy: Callable[[str], Path]) -> None:
    lines = run("verify", sets["corpus"], sets["vocab"], sets["nsp"]).stdout.splitlines()
    assert len(lines) == 3 and all("all as written" in line for line in lines)
    root = copy("nsp")
    (root / "README.md").unlink()
    done = run("verify", root, sets["corpus"], code=6)
    assert done.stdout.startswith(f"{sets['corpus']}: all as written (79 documents, 5 files, ")
    first, last = done.stderr.splitlines()
    assert first == f"{root}/README.md: is missing" and last.startswith(f"bertdata: error: not as written: {root} (1 file). ")
    assert "is not a directory" in run("verify", sets["corpus"], root / "nothing", code=2).stderr
