"""Accidents that a user's inputs and directories have: each ends in a clear error or a counted reject, none in silence."""

from __future__ import annotations

import bz2
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import COMMAND, SAMPLE, Run, build_of, digests, leftovers, read_manifest
from test_resume import kill_in_mid_run

DUMP = SAMPLE / "sampleenwiki-20261101-pages-articles-multistream.xml.bz2"


def test_a_damaged_single_stream_is_not_called_done(run: Run, tmp_path: Path) -> None:
    """One reject may stand for most of the dump: what is lost is weighed in bytes as well."""
    data = bytearray(bz2.compress(bz2.decompress(DUMP.read_bytes()), compresslevel=1))  # two blocks; the first has the header
    data[3 * len(data) // 4] ^= 0x40
    (tmp_path / "dump.xml.bz2").write_bytes(data)
    arguments = ["build-corpus", "--wikipedia", tmp_path / "dump.xml.bz2", "--output", tmp_path / "out", "--workers", 1]
    done = run(*arguments, code=3)
    assert "damaged-stream" in done.stderr
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_dump_without_a_header_for_damage_is_named(run: Run, tmp_path: Path) -> None:
    data = bytearray(DUMP.read_bytes())
    data[100] ^= 0x40
    (tmp_path / "dump.xml.bz2").write_bytes(data)
    done = run("build-corpus", "--wikipedia", tmp_path / "dump.xml.bz2", "--output", tmp_path / "out", code=2)
    assert "damaged at its beginning" in done.stderr


def test_a_damaged_stream_among_many_costs_its_pages(run: Run, tmp_path: Path) -> None:
    data = bytearray(DUMP.read_bytes())
    starts = [i for i in range(len(data)) if data[i : i + 10].startswith(b"BZh91AY&SY")]
    data[(starts[2] + starts[3]) // 2] ^= 0x40
    (tmp_path / "dump.xml.bz2").write_bytes(data)
    options = ("--max-rejects", 0.5, "--workers", 1)
    run("build-corpus", "--wikipedia", tmp_path / "dump.xml.bz2", "--output", tmp_path / "out", *options)
    (stage,) = read_manifest(tmp_path / "out")["counts"]  # type: ignore[misc]
    assert stage["rejected"] == {"damaged-stream": 1}
    assert stage["in"] == 56 - 10 + 1, "the ten pages of one stream, and the reject in their place"
    reject = json.loads(next((tmp_path / "out" / "rejects").iterdir()).read_text())
    assert f"bytes {starts[2]}-{starts[3]}" in reject["where"]


def test_an_output_inside_the_input_is_not_read(run: Run, text: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copy(text, docs / "text.jsonl")
    (docs / "bad.jsonl").write_text('{"text": \n')
    arguments = ["build-corpus", "--text", docs, "--output", docs / "out", "--workers", 1]
    run(*arguments)
    before = digests(docs / "out")
    run(*arguments, "--overwrite")
    assert digests(docs / "out") == before


def test_a_pipe_is_refused_rather_than_waited_for(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "dump.xml")
    done = run("build-corpus", "--wikipedia", tmp_path / "dump.xml", "--output", tmp_path / "out", code=2)
    assert "regular file" in done.stderr


def test_resume_and_inspect_do_not_vouch_for_broken_data(
    run: Run, sample_corpus: Path, sample_vocab: Path, sample_pairs: Path, tmp_path: Path
) -> None:
    pairs = shutil.copytree(sample_pairs, tmp_path / "pairs")
    (pairs / "data" / "train-00000-of-00001.arrow").unlink()
    run("inspect", pairs, code=6)
    made = ["make-pairs", sample_corpus, "--vocab", sample_vocab, "--output", pairs, "--provenance", "--workers", 1]
    assert "missing or cut" in run(*made, code=6).stderr


@pytest.mark.parametrize("command", ["train-vocab", "make-pairs"])
def test_a_corpus_with_a_changed_byte_is_refused(
    run: Run, sample_corpus: Path, sample_vocab: Path, tmp_path: Path, command: str
) -> None:
    corpus = shutil.copytree(sample_corpus, tmp_path / "corpus")
    shard = sorted((corpus / "data").iterdir())[0]
    data = shard.read_bytes()
    assert b" the " in data
    shard.write_bytes(data.replace(b" the ", b" teh ", 1))
    more = ["--vocab", sample_vocab] if command == "make-pairs" else ["--size", 900]
    done = run(command, corpus, *more, "--output", tmp_path / "out", "--workers", 1, code=6)
    assert shard.name in done.stderr


def test_a_dump_twice_is_told_and_gives_no_twin_rows(run: Run, sample_vocab: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(DUMP, tmp_path / name / DUMP.name)
    inputs = ("--wikipedia", tmp_path / "a", "--wikipedia", tmp_path / "b")
    shown = run("build-corpus", *inputs, "--output", tmp_path / "corpus", "--workers", 1).stdout
    assert "47 documents in 2 shards" in shown and "repeated id 47" in shown
    (stage,) = read_manifest(tmp_path / "corpus")["counts"]  # type: ignore[misc]
    assert stage["in"] == stage["out"] + sum(stage["dropped"].values()) == 112
    run("build-corpus", "--wikipedia", DUMP, "--output", tmp_path / "once", "--workers", 1)
    once, twice = (sorted((tmp_path / name / "data").iterdir())[0].read_bytes() for name in ("once", "corpus"))
    assert once == twice
    arguments = ["make-pairs", tmp_path / "corpus", "--vocab", sample_vocab, "--output", tmp_path / "pairs", "--provenance"]
    assert "documents share their id with another one" not in run(*arguments, "--workers", 1).stdout


def test_rows_of_one_id_are_told_and_exchange_no_text(run: Run, sample_vocab: Path, tmp_path: Path) -> None:
    """Ids of other text are the user's own: they are kept, told, and no row of an id is the B of another."""
    rows = []
    for number in range(40):
        text = " ".join(f"Sentence {place} of the story with number {number} is not long." for place in range(30))
        rows += [json.dumps({"id": number, "text": text})] * 2
    (tmp_path / "twice.jsonl").write_text("\n".join(rows))
    given = ("--text", tmp_path / "twice.jsonl", "--id-column", "id", "--dedup", "none")
    run("build-corpus", *given, "--output", tmp_path / "corpus", "--workers", 1)
    arguments = ["make-pairs", tmp_path / "corpus", "--vocab", sample_vocab, "--output", tmp_path / "pairs", "--provenance"]
    assert "40 documents share their id with another one" in run(*arguments, "--workers", 1).stdout
    import pyarrow as pa

    with pa.memory_map(str(next((tmp_path / "pairs" / "data").iterdir()))) as source:
        pairs = pa.ipc.open_file(source).read_all().to_pylist()
    assert all((row["a_document"] == row["b_document"]) == (row["next_sentence_label"] == 0) for row in pairs)


PEAK = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_a_bomb_of_two_hundred_bytes_takes_no_memory(run: Run, tmp_path: Path) -> None:
    """256 MB in 208 bytes of bzip2, in a dump and as one: the whole command stays under 300 MB."""
    packer = bz2.BZ2Compressor()
    bomb = b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(256)), packer.flush()])
    assert len(bomb) < 210
    data = DUMP.read_bytes()
    starts = [at for at in range(len(data)) if data.startswith(b"BZh91AY&SY", at)]
    (tmp_path / "in.xml.bz2").write_bytes(data[: starts[2]] + bomb + data[starts[2] :])
    (tmp_path / "as.xml.bz2").write_bytes(bomb)
    for name, code in (("in", 0), ("as", 2)):
        output = tmp_path / name
        command = [*COMMAND, "build-corpus", "--wikipedia", f"{output}.xml.bz2", "--output", str(output), "--workers", "1"]
        # A process begins with the peak of the one that made it: so a small one of its own makes it and tells.
        asked = subprocess.run([sys.executable, "-c", PEAK, *command], capture_output=True, text=True, check=True)
        returned, kilobytes = map(int, asked.stdout.split())
        assert returned == code
        assert kilobytes < 300 << 10, f"{kilobytes >> 10} MB"
    (stage,) = read_manifest(tmp_path / "in")["counts"]  # type: ignore[misc]
    assert (stage["in"], stage["rejected"]) == (56, {})


def test_documents_as_large_as_a_shard_make_fewer_shards(run: Run, sample_vocab: Path, tmp_path: Path) -> None:
    sentences = " ".join(f"The keeper lit lamp {n} and wrote the hour into his book." for n in range(70_000))
    with (tmp_path / "long.jsonl").open("w") as file:
        for number in range(5):
            file.write(json.dumps({"text": f"Story {number}. {sentences}"}) + "\n")
    run("build-corpus", "--text", tmp_path / "long.jsonl", "--output", tmp_path / "corpus")
    run("make-pairs", tmp_path / "corpus", "--vocab", sample_vocab, "--max-seq-length", 512, "--output", tmp_path / "pairs")
    statistics = read_manifest(tmp_path / "pairs")["statistics"]
    assert abs(statistics["not_next_share"] - 0.5) < 0.001  # type: ignore[index]


def test_an_unfinished_run_is_resumed_after_its_input_moved(run: Run, text: Path, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    shutil.copy(text, tmp_path / "here" / "text.jsonl")
    arguments = ["--task-bytes", 1 << 16, "--output", tmp_path / "out", "--workers", 1]
    kill_in_mid_run(tmp_path / "out", "extract", 2, "build-corpus", "--text", tmp_path / "here", *arguments)
    (tmp_path / "here").rename(tmp_path / "there")
    run("build-corpus", "--text", tmp_path / "there", *arguments)


def test_an_interrupted_replacement_is_named(run: Run, text: Path, tmp_path: Path) -> None:
    arguments = ["build-corpus", "--text", text, "--task-bytes", 1 << 16, "--output", tmp_path / "out", "--workers", 1]
    run(*arguments)
    kill_in_mid_run(tmp_path / "out", "extract", 2, *arguments, "--overwrite")
    named = re.escape(str(build_of(tmp_path / "out")))
    assert re.search(rf"{named} \([0-9.]+ kB\) is left over from a run that was not finished", run(*arguments).stdout)
    run(*arguments, "--overwrite")
    assert leftovers(tmp_path / "out") == []
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("[buildcorpus]\nseed = 1\n", "'buildcorpus' is not a command"),
        ("build-corpus = 3\n", "build-corpus is 3: write [build-corpus]"),
    ],
)
def test_a_configuration_with_a_misspelt_table_is_refused(run: Run, text: Path, tmp_path: Path, toml: str, says: str) -> None:
    (tmp_path / "run.toml").write_text(toml)
    done = run("build-corpus", "--text", text, "--output", tmp_path / "out", "--config", tmp_path / "run.toml", code=2)
    assert says in done.stderr


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--direct_num_workers=2", "use --workers"),
        ("--direct_num_wrkers=2", "no such option"),
        ("--runner=DataflowRunner", "--temp_location=gs://" if importlib.util.find_spec("apitools") else "apache-beam[gcp]"),
    ],
)
def test_options_for_beam_that_would_do_nothing_are_refused(run: Run, text: Path, tmp_path: Path, option: str, says: str) -> None:
    done = run("build-corpus", "--text", text, "--output", tmp_path / "out", "--", option, code=2)
    assert says in done.stderr


@pytest.mark.long
def test_closed_standard_streams(text: Path, tmp_path: Path) -> None:
    command = " ".join([*COMMAND, "build-corpus", "--text", str(text), "--output", str(tmp_path / "out"), "--workers", "1"])
    assert subprocess.run(["bash", "-c", f"{command} >&- 2>&-"], check=False).returncode == 0
    assert (tmp_path / "out" / "manifest.json").exists()


def test_an_interrupt_that_is_lost_still_stops_the_command() -> None:
    """One that arrives in a finalizer, or in what a library calls back, is printed or swallowed by Python."""
    code = (
        "import os, signal\n"
        "from bertdata.storage.signals import signals\n"
        "try:\n"
        "    with signals():\n"
        "        try:\n"
        "            os.kill(os.getpid(), signal.SIGTERM)\n"
        "        except KeyboardInterrupt:\n"
        "            print('lost')\n"
        "except KeyboardInterrupt as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["lost", "143"] and "same command" in done.stderr
