"""The Beam pipelines and the stages of a local run make the same bytes."""

import hashlib
from pathlib import Path

import pytest

from bertdata import build_corpus, export, make_pairs, train_vocab
from bertdata.sample import sample

HOW = {
    "one process": {"workers": 1},
    "two workers": {"workers": 2},
    "FnApiRunner": {"beam_args": ("--runner=FnApiRunner",)},
    "Dask": {"beam_args": ("--runner=DaskRunner",)},
}


def digests(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file() and ".bertdata" not in path.parts)
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("how", [name for name in HOW if name != "one process"])
def test_same_bytes(how: str, tmp_path: Path) -> None:
    books = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path in books:  # the second is a duplicate of the first
        path.write_text("The kettle sings on the hearth. Tea is ready for all of them now.\n\n" * 9)
    made = {}
    for name in ("one process", how):
        root = tmp_path / name.replace(" ", "-")
        options, corpus, vocab = HOW[name], root / "corpus", root / "vocab"
        build_corpus(wikipedia=sample(), books=[sample() / "books", *books], output=corpus, dedup="near", **options)
        train_vocab(corpus, output=vocab, size=2000, **options)
        make_pairs(corpus, vocab=vocab, output=root / "{length}", max_seq_length=(64, 128), shards=3, **options)
        export(corpus, to="jsonl", output=root / "text", **options)
        made[name] = digests(root)
    assert made["one process"] == made[how]
    assert sum(name.endswith(".arrow") for name in made[how]) > 6
