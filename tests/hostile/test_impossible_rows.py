"""Shards of a stranger with valid digests, columns of the right types and impossible values: readers refuse them by name."""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import Build, read_rows
from test_damaged_shards import REFUSED, RIGHT, outcomes

from bertdata import report, trace, verify
from bertdata.cli.inspect import show
from bertdata.dataset import manifest
from bertdata.errors import BertDataError, VerificationError
from bertdata.storage.files import file_entry

pytestmark = pytest.mark.long

Values = list[Any]
NUMBERS = (0, 1, 2, 3, 5, 100, 127, 255, 4095, 65_535)


def fitting(value: Any, kind: pa.DataType, chance: random.Random) -> Any:
    """Return another value of a type: of lists one that is empty, long, cut, or has another value in it."""
    if pa.types.is_list(kind):
        value = value or []
        inner = kind.value_type
        at = chance.randrange(len(value)) if value else 0
        changed = [*value[:at], fitting(value[at], inner, chance), *value[at + 1 :]] if value else [fitting(None, inner, chance)]
        others = [[], value[:at], value * 2, value[::-1], None, [*value[:at], None, *value[at + 1 :]]]
        return chance.choice([changed, changed, *others])
    if pa.types.is_boolean(kind):
        return not value
    if pa.types.is_integer(kind):
        most = 2 ** (kind.bit_width - (not str(kind).startswith("u"))) - 1
        return min(most, chance.choice([*NUMBERS, most, value or 0]))
    return chance.choice(["", "\x00", "x" * 5_000, "\u202e</script>", None])


def forge(directory: Path, chance: random.Random) -> None:
    """Change a column of the first record batch, in one row or several."""

    def change(columns: dict[str, Values], schema: pa.Schema) -> None:
        name = chance.choice(schema.names)
        for row in {chance.randrange(len(columns[name])) for _ in range(chance.choice([1, 1, 5, 10_000]))}:
            columns[name][row] = fitting(columns[name][row], schema.field(name).type, chance)

    rewrite(directory, change)


def rewrite(directory: Path, change: Callable[[dict[str, Values], pa.Schema], None]) -> None:
    """Change the values of the first record batch of the largest shard, and write digests that fit."""
    contents = json.loads((directory / "manifest.json").read_text("utf-8"))
    entry = max(contents["shards"], key=lambda shard: shard["rows"])
    path = directory / entry["name"]
    with pa.ipc.open_file(path.read_bytes()) as reader:
        schema, batches = reader.schema, list(reader)
    columns = batches[0].to_pydict()
    change(columns, schema)
    batches[0] = pa.RecordBatch.from_pydict(columns, schema=schema)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    entry |= file_entry(directory, entry["name"])
    del contents["sha256"]
    (directory / "report.html").unlink(missing_ok=True)
    manifest.store(directory, contents)


def attempts(source: Path, work: Path, count: int, read: Callable[[Path], object]) -> Iterator[Callable[[], None]]:
    """Yield what reads each of so many forged copies of a dataset; what it raises is written beside them."""
    for seed in range(count):
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(source, work)
        forge(work, random.Random(seed))

        def attempt(seed: int = seed) -> None:
            try:
                read(work)
            except BertDataError:
                raise
            except Exception as error:
                (work.parent / f"{seed}.txt").write_text(f"{type(error).__name__}: {error}", "utf-8")
                raise

        yield attempt


def check(directory: Path) -> None:
    """Verify a dataset, and raise where something is wrong with it."""
    if found := verify(directory, workers=1).problems:
        raise VerificationError(found[0].what)


def show_some(directory: Path) -> None:
    """Print some rows, as `bertdata inspect` does."""
    with contextlib.redirect_stdout(io.StringIO()):
        show(directory, count=20)


READERS: dict[str, Callable[[Path], object]] = {"report": report, "verify": check, "inspect": show_some}
MADE: dict[str, tuple[object, ...]] = {
    "nsp": ("--provenance",),
    "packed": ("--pack",),
    "static": ("--masking", "static"),
    "documents": ("--objective", "documents", "--pack"),
    "causal": ("--objective", "causal"),
}


@pytest.mark.slow
@pytest.mark.parametrize("count", [15, pytest.param(400, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", [*MADE, "corpus"])
def test_impossible_values_are_refused(
    kind: str, count: int, build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path: Path
) -> None:
    """No reader fails in another way than by name, and none takes rows that the others refuse."""
    source = sample_corpus
    if kind in MADE:
        source = build(
            "make-pairs", tmp_path / "made", sample_corpus, "--vocab", sample_vocab, "--max-seq-length", 64, *MADE[kind]
        )
    for name, read in READERS.items():
        ends = outcomes(attempts(source, tmp_path / "copy", count, read))
        raised = Counter(path.read_text("utf-8") for path in tmp_path.glob("*.txt"))
        assert set(ends) <= {RIGHT, REFUSED}, (name, ends, raised)
        assert ends.total() == count
        assert ends[REFUSED] >= count // 3 or name == "inspect", (name, ends)


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("input_ids", [65_535] * 9, "has an id outside its vocabulary"),
        ("input_ids", [], "has less than 5 tokens"),
        ("input_ids", None, "a null in column input_ids"),
        ("token_type_ids", [0], "has not one segment id for each token"),
        ("token_type_ids", [7] * 9, "has a segment id other than 0 and 1"),
        ("next_sentence_label", 5, "has a label other than 0 and 1"),
    ],
)
def test_report_and_trace_name_the_row(
    column: str, value: Any, problem: str, sample_corpus: Path, sample_pairs: Path, tmp_path: Path
) -> None:
    shutil.copytree(sample_pairs, tmp_path / "pairs")

    def change(columns: dict[str, Values], schema: pa.Schema) -> None:
        columns["input_ids"][5], columns["token_type_ids"][5] = [2, 9, 9, 9, 3, 9, 9, 9, 3], [0] * 5 + [1] * 4
        columns[column][5] = value
        if value == []:
            columns["token_type_ids"][5] = []

    rewrite(tmp_path / "pairs", change)
    with pytest.raises(VerificationError, match=problem) as caught:
        report(tmp_path / "pairs")
    assert str(tmp_path / "pairs") in str(caught.value)
    assert re.search(r"row [\d,]+ ", str(caught.value)) or "null" in problem
    assert verify(tmp_path / "pairs", workers=1).problems
    with pytest.raises(VerificationError, match=problem):
        for row in read_rows(sample_corpus):
            trace(sample_corpus, row["id"], pairs=tmp_path / "pairs")
