"""`bertdata download` against servers with the layout of the Wikimedia Foundation's and of the Hub, on this machine."""

from __future__ import annotations

import bz2
import hashlib
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SAMPLE, Build, Run, read_rows
from loopback import Answer, Server, serving
from processes import start

from bertdata.errors import NoInputError, TransferError, UsageError, VerificationError
from bertdata.sources import checksums, multistream
from bertdata.sources.download import client as clients
from bertdata.sources.download.client import Client
from bertdata.sources.download.hub import choose, find_data_set
from bertdata.sources.download.wikimedia import find_dump, wiki_name


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def publish(
    server: Server, wiki: str, date: str, dump: bytes, *, job: str = "articlesmultistreamdump", status: str = "done"
) -> None:
    """Put a dump in two parts, their indexes, dumpstatus.json and sha1sums.txt on a server; list its dates."""
    kind = "-multistream" if "multi" in job else ""
    files = {f"{wiki}-{date}-pages-articles{kind}{n}.xml-p{n}p{n + 8}.bz2": dump for n in (1, 2)}
    index = bz2.compress(b"0:1:A page\n")
    files |= {f"{wiki}-{date}-pages-articles{kind}-index{n}.txt-p{n}p{n + 8}.bz2": index for n in (1, 2) if kind}
    entries = {
        name: {"size": len(body), "url": f"/{wiki}/{date}/{name}", "sha1": hashlib.sha1(body).hexdigest()}
        for name, body in files.items()
    }
    folder = f"/{wiki}/{date}"
    server.files |= {f"{folder}/{name}": body for name, body in files.items()}
    jobs = {job: {"status": status, "files": entries if status == "done" else {}}, "metahistory7zdump": {"status": "waiting"}}
    server.files[f"{folder}/dumpstatus.json"] = json.dumps({"version": "0.8", "jobs": jobs}).encode()
    sums = "".join(f"{entry['sha1']}  {name}\n" for name, entry in entries.items())
    server.files[f"{folder}/{wiki}-{date}-sha1sums.txt"] = sums.encode()
    dates = sorted({path.split("/")[2] for path in server.files if path.startswith(f"/{wiki}/2")})
    rows = "".join(f'<a href="{date}/">{date}/</a>  01-Nov-2026 08:00  -\n' for date in dates)
    server.files[f"/{wiki}/"] = f'<pre><a href="../">../</a>\n{rows}<a href="latest/">latest/</a></pre>'.encode()


@pytest.fixture(scope="session")
def dump() -> bytes:
    return next(SAMPLE.glob("*.bz2")).read_bytes()


def test_wikis_have_their_own_names() -> None:
    names = {"en": "enwiki", "zh-yue": "zh_yuewiki", "yue": "zh_yuewiki", "be-tarask": "be_x_oldwiki", "simple": "simplewiki"}
    names |= {"be-x-old": "be_x_oldwiki", "nds-nl": "nds_nlwiki", "zh_classical": "zh_classicalwiki", "nb": "nowiki"}
    assert {code: wiki_name(code) for code in names} == names
    for code in ("", "e", "../en", "en/", "zh wiki", "en?"):
        with pytest.raises(UsageError, match="`language`"):
            wiki_name(code)


def test_the_latest_finished_dump_is_found(server: Server) -> None:
    publish(server, "zhwiki", "20261020", b"old")
    publish(server, "zhwiki", "20261101", b"new")
    publish(server, "zhwiki", "20261120", b"", status="in-progress")
    found = find_dump(Client({}), "zh", base_url=server.url + "/")
    assert (found.wiki, found.date, len(found.files)) == ("zhwiki", "20261101", 4)
    assert find_dump(Client({}), "zh", "20261020", server.url).date == "20261020"
    with pytest.raises(NoInputError, match="20261120: in-progress"):
        find_dump(Client({}), "zh", "20261120", server.url)
    with pytest.raises(NoInputError, match="no status"):
        find_dump(Client({}), "zh", "20200101", server.url)
    with pytest.raises(NoInputError, match="has no dewiki"):
        find_dump(Client({}), "de", base_url=server.url)
    with pytest.raises(UsageError, match="`date`"):
        find_dump(Client({}), "zh", "2026-11-01", server.url)


def test_a_wiki_without_multistream_gives_its_one_stream(server: Server) -> None:
    publish(server, "zhwiki", "20261101", b"new", job="articlesdump")
    assert [file.name[-29:] for file in find_dump(Client({}), "zh", base_url=server.url).files][0].endswith("1.xml-p1p9.bz2")


BAD_TABLES = {  # what dumpstatus.json holds -> the error
    "no JSON": (b"<html>", TransferError),
    "a list": (b"[]", TransferError),
    "jobs that are none": (b'{"jobs": [1]}', TransferError),
    "deep": (b"[" * 100_000, TransferError),
    "no files": (b'{"jobs": {"articlesdump": {"status": "done"}}}', NoInputError),
    "no size": (
        b'{"jobs": {"articlesdump": {"status": "done", "files": {"zhwiki-20261101-a.xml.bz2": {"sha1": "0"}}}}}',
        TransferError,
    ),
    "no sum": (
        b'{"jobs": {"articlesdump": {"status": "done", "files": {"zhwiki-20261101-a.xml.bz2": {"size": 1}}}}}',
        TransferError,
    ),
    "a path": (
        b'{"jobs": {"articlesdump": {"status": "done", "files": {"zhwiki-20261101-/../a": {"size": 1, "sha1": "00"}}}}}',
        TransferError,
    ),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_bad_table_is_named(server: Server, case: str) -> None:
    publish(server, "zhwiki", "20261101", b"new")
    body, error = BAD_TABLES[case]
    server.files["/zhwiki/20261101/dumpstatus.json"] = body
    with pytest.raises(error, match="dumpstatus.json"):
        find_dump(Client({}), "zh", base_url=server.url)


def test_sums_that_contradict_the_table_are_an_error(server: Server) -> None:
    publish(server, "zhwiki", "20261101", b"new")
    name = "/zhwiki/20261101/zhwiki-20261101-sha1sums.txt"
    server.files[name] = server.files[name].replace(hashlib.sha1(b"new").hexdigest().encode(), b"0" * 40, 1)
    with pytest.raises(VerificationError, match="different checksums"):
        find_dump(Client({}), "zh", base_url=server.url)
    del server.files[name]
    assert find_dump(Client({}), "zh", base_url=server.url).files


def test_a_dump_is_fetched_and_read(server: Server, run: Run, build: Build, tmp_path: Path, dump: bytes) -> None:
    publish(server, "simplewiki", "20261101", dump)
    part = "/simplewiki/20261101/simplewiki-20261101-pages-articles-multistream2.xml-p2p10.bz2"
    server.script[part] = [Answer(cut=len(dump) // 2), Answer(body=dump[:-1] + b"?")]
    options = ["download", "wikipedia", "--language", "simple", "--base-url", server.url, "--output", tmp_path / "dumps"]
    listed = run(*options, "--dry-run")
    assert "4 files" in listed.stdout
    assert "multistream1.xml-p1p9.bz2" in listed.stdout
    assert not (tmp_path / "dumps").exists()
    done = run(*options, "--contact", "ada@example.org")
    assert all("ada@example.org" in headers["user-agent"] for _, headers in server.asked[-4:])
    names = sorted(path.name for path in (tmp_path / "dumps").iterdir())
    assert len(names) == 5
    for name in names[:-1]:
        assert checksums.published(str(tmp_path / "dumps" / name)).startswith("sha1:")
    assert multistream.find_index(str(tmp_path / "dumps" / part.rpartition("/")[2]))
    server.asked.clear()
    again = run(*options)
    assert not [path for path, _ in server.asked if path.endswith(".bz2")]
    assert "all of it there" in again.stderr and "nothing to do" in again.stdout
    command = next(line for line in done.stdout.splitlines() if line.startswith("Go on with:"))
    glob = command.split("'")[1]
    for index in (tmp_path / "dumps").glob("*index*"):
        index.unlink()  # ours names a page that the sample does not have
    corpus = build("build-corpus", tmp_path / "corpus", "--wikipedia", glob)
    assert read_rows(corpus)


def test_errors_have_their_codes(server: Server, run: Run, tmp_path: Path) -> None:
    publish(server, "zhwiki", "20261101", b"new")
    options = ["download", "wikipedia", "--base-url", server.url, "--output", tmp_path / "dumps", "--language"]
    assert "has no dewiki" in run(*options, "de", code=2).stderr
    assert "--language" in run(*options, "/", code=2).stderr
    assert "no connection" not in run(*options, "zh", "--connections", 9, code=2).stderr
    server.script["/zhwiki/20261101/zhwiki-20261101-pages-articles-multistream1.xml-p1p9.bz2"] = [Answer(body=b"bad")] * 9
    assert "does not match its checksum" in run(*options, "zh", code=6).stderr
    server.script["/zhwiki/"] = [Answer(403)]
    assert "403" in run(*options, "zh", code=4).stderr
    assert "on this machine" in run(*options[:-2], "s3://bucket/dumps", "--language", "zh", code=2).stderr


def test_a_signal_leaves_parts_that_the_next_run_goes_on_with(server: Server, run: Run, tmp_path: Path) -> None:
    body = os.urandom(400_000)
    publish(server, "zhwiki", "20261101", body)
    path = "/zhwiki/20261101/zhwiki-20261101-pages-articles-multistream1.xml-p1p9.bz2"
    server.script[path] = [Answer(slow=0.3)]
    options = ["download", "wikipedia", "--base-url", server.url, "--output", str(tmp_path), "--language", "zh"]
    process = start(*options)
    part = tmp_path / ".download" / (path.rpartition("/")[2] + ".part")
    deadline = time.monotonic() + 30
    while not (part.is_file() and part.stat().st_size > 50_000) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"same command" in said
    assert 50_000 < part.stat().st_size < len(body)
    server.asked.clear()
    run(*options)
    assert server.ranges(path)[0].startswith("bytes=")
    assert (tmp_path / path.rpartition("/")[2]).read_bytes() == body


# The Hub

COMMIT = "5" * 40
CARD = {
    "configs": [
        {"config_name": "en", "data_files": [{"split": "train", "path": "en/train-*"}, {"split": "test", "path": "en/t?st-*"}]},
        {"config_name": "fr", "data_files": "fr/**/*.parquet", "default": True},
    ]
}
NAMES = ["en/train-0.parquet", "en/train-1.parquet", "en/test-0.parquet", "fr/a/train.parquet", "fr/test.parquet"]
CHOICES = [  # the card, configuration and split -> files
    (CARD, "en", "train", NAMES[:2]),
    (CARD, "en", "", NAMES[:3]),
    (CARD, "", "", NAMES[3:]),
    (CARD, "fr", "test", NAMES[4:]),
    ({}, "", "", NAMES),
    ({}, "fr", "", NAMES[3:]),
    ({}, "", "train", [NAMES[0], NAMES[1], NAMES[3]]),
    ({"configs": [{"config_name": "all", "data_dir": "en"}]}, "", "test", NAMES[2:3]),
    ({"configs": [{"config_name": "all"}]}, "", "test", [NAMES[2], NAMES[4]]),
]


@pytest.mark.parametrize(("card", "config", "split", "expected"), CHOICES)
def test_a_configuration_and_a_split_have_their_files(
    card: dict[str, object], config: str, split: str, expected: list[str]
) -> None:
    assert choose(NAMES, card, config=config, split=split) == expected


@pytest.mark.parametrize(
    ("card", "config", "split", "said"),
    [
        (CARD, "de", "", "has en, fr"),
        (CARD, "en", "dev", "has train, test"),
        ({"configs": CARD["configs"][:1] + [{"config_name": "x", "data_files": "x/*"}]}, "", "", "choose one with `config`"),
        ({}, "", "dev", "no file is of"),
        ({}, "de", "", "no file is of"),
    ],
)
def test_a_choice_that_fits_nothing_names_what_there_is(card: dict[str, object], config: str, split: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        choose(NAMES, card, config=config, split=split)


def share(server: Server, name: str, files: dict[str, bytes], card: dict[str, object], revision: str = "") -> None:
    """Put a dataset on a server that answers as the Hub does: the files' list, and the files; large ones have a SHA-256."""
    siblings = []
    for path, body in files.items():
        blob = hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()
        entry: dict[str, object] = {"rfilename": path, "size": len(body), "blobId": blob}
        if path.endswith(".parquet"):
            entry["lfs"] = {"sha256": hashlib.sha256(body).hexdigest(), "size": len(body), "pointerSize": 130}
        siblings.append(entry)
        server.files[f"/datasets/{name}/resolve/{COMMIT}/{path}"] = body
    info = {"id": name, "sha": COMMIT, "siblings": siblings, "cardData": card, "private": False, "tags": [], "downloads": 0}
    server.files[f"/api/datasets/{name}" + (f"/revision/{revision}" if revision else "")] = json.dumps(info).encode()


def table(tmp_path: Path, texts: list[str]) -> bytes:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"title": [f"Book {n}" for n in range(len(texts))], "text": texts}), path)
    return path.read_bytes()


def test_a_data_set_of_the_hub_is_fetched_and_read(server: Server, run: Run, build: Build, tmp_path: Path) -> None:
    body = table(tmp_path, ["The tea is ready. Ames sat down.", "It rained all day. Nobody came."])
    files = {"data/train-00000-of-00001.parquet": body, "data/test.jsonl": b'{"text": "A test."}\n', "README.md": b"# Books"}
    share(server, "ada/books", files, {})
    server.script[f"/datasets/ada/books/resolve/{COMMIT}/data/train-00000-of-00001.parquet"] = [
        Answer(302, {"Location": "/store"}),
        Answer(302, {"Location": "/store"}),
    ]
    server.files["/store"] = body
    server.script["/store"] = [Answer(body=body[:-1] + b"?")]
    environment = {"HF_ENDPOINT": server.url, "HF_TOKEN": "hf_secret", "HF_HOME": str(tmp_path / "home")}
    options = ["download", "hub", "ada/books", "--output", tmp_path / "books"]
    assert "2 files" in run(*options, "--dry-run", **environment).stdout
    done = run(*options, **environment)
    assert (tmp_path / "books" / "data" / "test.jsonl").read_bytes() == files["data/test.jsonl"]
    assert (tmp_path / "books" / "data" / "train-00000-of-00001.parquet").read_bytes() == body
    assert not (tmp_path / "books" / "README.md").exists()
    assert f"--text '{tmp_path / 'books'}'" in done.stdout
    assert {headers.get("authorization") for path, headers in server.asked if "resolve" in path} == {"Bearer hf_secret"}
    server.asked.clear()
    run(*options, "--split", "train", **environment)
    assert [path for path, _ in server.asked if "resolve" in path] == []
    corpus = build("build-corpus", tmp_path / "corpus", "--text", tmp_path / "books" / "data" / "train-00000-of-00001.parquet")
    assert [row["sentences"] for row in read_rows(corpus)][0] == ["The tea is ready.", "Ames sat down."]


def test_a_data_set_that_is_a_script_is_taken_from_its_converted_branch(server: Server) -> None:
    share(server, "ada/script", {"script.py": b"pass", "README.md": b""}, {})
    share(
        server, "ada/script", {"plain/train/0000.parquet": b"P", "plain/test/0000.parquet": b"T"}, {}, "refs%2Fconvert%2Fparquet"
    )
    found = find_data_set("ada/script", config="plain", split="train", endpoint=server.url)
    assert [file.name for file in found.files] == ["plain/train/0000.parquet"]
    share(server, "ada/empty", {"README.md": b""}, {})
    with pytest.raises(NoInputError, match="no dataset ada/empty at refs/convert/parquet|has no file"):
        find_data_set("ada/empty", endpoint=server.url)


def test_errors_of_the_hub_are_ours(server: Server, tmp_path: Path) -> None:
    with pytest.raises(NoInputError, match="no dataset ada/nothing"):
        find_data_set("ada/nothing", endpoint=server.url)
    with pytest.raises(UsageError, match="OWNER/NAME"):
        find_data_set("ada//no/thing", endpoint=server.url)
    server.script["/api/datasets/ada/gated"] = [Answer(403, {"X-Error-Code": "GatedRepo"})]
    with pytest.raises(TransferError, match="terms"):
        find_data_set("ada/gated", endpoint=server.url)
    server.script["/api/datasets/ada/broken"] = [Answer(418)]
    with pytest.raises(TransferError, match="418"):
        find_data_set("ada/broken", endpoint=server.url)
    server.files["/api/datasets/ada/page"] = b"<html>"
    with pytest.raises(TransferError):
        find_data_set("ada/page", endpoint=server.url)
    with pytest.raises(TransferError, match="http://127.0.0.1:9 cannot be reached"):
        find_data_set("ada/books", endpoint="http://127.0.0.1:9")
