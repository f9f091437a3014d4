"""Input directories, archives, settings and vocabularies that are not as they should be: read rightly, or refused clearly."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import tarfile
import threading
import zipfile
from pathlib import Path
from typing import Any

import click
import pytest
from conftest import SAMPLE, Build, digests, read_manifest, read_rows

from bertdata.cli import cli
from bertdata.config import CorpusConfig, parse_toml, read_small
from bertdata.errors import BertDataError, NoInputError, OutputExistsError, StorageError, UsageError
from bertdata.sources.inputs import find

pytestmark = pytest.mark.long

TEXT = "The ferry crossed the harbour in the morning. A miller measured all of his lamps by hand."
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [*SPECIAL, "the", "ferry", "harbour", "##s", "a", "."]


@pytest.fixture
def books(tmp_path: Path) -> Path:
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "good.txt").write_text(TEXT)
    return tmp_path / "books"


def names(pattern: object) -> list[str]:
    return [name for name, _ in find([str(pattern)], (".txt",), "--text")]


def test_links_are_followed_to_files_and_not_into_directories(books: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.txt").write_text(TEXT)
    (tmp_path / "outside" / "secret.key").write_text(TEXT)
    (books / "link.txt").symlink_to(tmp_path / "outside" / "b.txt")
    (books / "key.txt.gpg").symlink_to(tmp_path / "outside" / "secret.key")
    (books / "hard.txt").hardlink_to(books / "good.txt")
    (books / "elsewhere").symlink_to(tmp_path / "outside")
    (books / "nowhere.txt").symlink_to(books / "missing")
    (books / "self.txt").symlink_to(books / "self.txt")
    (books / "folder.txt").mkdir()
    os.mkfifo(books / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(books / "socket.txt"))
        for pattern in (books, books / "*.txt", books / "**/*.txt"):
            assert names(pattern) == ["good.txt", "hard.txt", "link.txt"]


def test_a_maze_of_links_has_an_end(books: Path) -> None:
    """Two links to the parent are 2 ** 40 paths to who follows them."""
    for name in ("a", "b", "c"):
        (books / name).symlink_to(books)
    for pattern in (books, books / "**", books / "**/*.txt", f"{books}/**/**/*.txt", f"{books}/*/*/good.txt"):
        assert len(names(pattern)) == 1


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "/dev/stdin", "pipe.txt", "socket.txt"])
def test_what_is_no_file_is_refused_for_every_option(name: str, books: Path, build: Build, sample_corpus: Path) -> None:
    path = books / name  # an absolute name stands for itself
    if name == "pipe.txt":
        os.mkfifo(path)
    if name == "socket.txt":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    out = books.parent / "out"
    good = ("--text", books / "good.txt")
    for arguments in (("--text", path), (*good, "--templates", path)):
        with pytest.raises((UsageError, StorageError, NoInputError)):
            build("build-corpus", out, *arguments)
    with pytest.raises((UsageError, StorageError)):
        build("make-pairs", out, sample_corpus, "--vocab", path)
    assert not out.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_directory_is_an_error(books: Path) -> None:
    (books / "closed").mkdir(mode=0)
    with pytest.raises(StorageError, match="closed.*permissions"):
        names(books)


def test_a_directory_that_can_not_be_listed_is_an_error(books: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (books / "closed").mkdir()
    listed = os.scandir

    def scandir(path: Any = ".") -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(StorageError, match="closed.*permissions"):
        names(books)


@pytest.mark.parametrize("change", ["vanish", "shrink", "grow", "replace"])
def test_a_file_that_changes_after_the_plan(change: str, tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is made, then the file is another: no crash, nothing that the counts do not tell of."""
    from bertdata.stages.corpus import extract

    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": f"{n} {TEXT}"}) + "\n" for n in range(2000)))
    old = extract.Extract._read
    once = threading.Lock()

    def late(self: Any, *arguments: Any) -> Any:
        if once.acquire(blocking=False):
            data = path.read_bytes()
            path.unlink()
            new = {"shrink": data[: len(data) // 2], "grow": data + data, "replace": os.urandom(len(data))}
            if change != "vanish":
                path.write_bytes(new[change])
        return old(self, *arguments)

    monkeypatch.setattr(extract.Extract, "_read", late)
    arguments = ("--text", path, "--max-rejects", 1, "--dedup", "none", "--task-bytes", 1 << 16)
    if change in ("vanish", "replace"):
        with pytest.raises(BertDataError) as caught:
            build("build-corpus", tmp_path / "corpus", *arguments)
        assert caught.value.exit_code in (3, 4)
        assert not (tmp_path / "corpus" / "manifest.json").exists()
        return
    made = read_manifest(build("build-corpus", tmp_path / "corpus", *arguments))
    rejected = made["counts"][0]["rejected"]
    assert made["rows"] == 2000 if change == "grow" else 1000 <= made["rows"] < 1010
    assert ("truncated" in rejected) == (change == "shrink")


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, len(TEXT) if kind == tarfile.REGTYPE else 0
    return info


def test_members_of_archives_stay_in_their_archive(tmp_path: Path, build: Build) -> None:
    plain = ["../up.txt", "/tmp/absolute.txt", "a/../../b.txt", "C:\\win.txt", "..\\up.txt", "good.txt", "good.txt", "a\nb.txt"]
    plain += ["esc\x1b[31m.txt", "a/./b.txt", "\u202egnp.txt", "x" * 300 + ".txt", "con.txt", ".hidden.txt", " .txt"]
    kinds = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name in plain:
            archive.addfile(member(name), io.BytesIO(TEXT.encode()))
        for kind in kinds:
            archive.addfile(member(f"{kind.decode()}.txt", kind, "/etc/passwd"))
    page = f"<html><body><p>{TEXT}</p></body></html>"
    with zipfile.ZipFile(tmp_path / "b.epub", "w") as book:
        book.writestr("META-INF/container.xml", '<container><rootfiles><rootfile full-path="c.opf"/></rootfiles></container>')
        items = [f'<item id="{n}" href="{h}" media-type="text/html"/>' for n, h in enumerate(["a.html", "%2e%2e/passwd"])]
        refs = "".join(f'<itemref idref="{n}"/>' for n in range(2))
        book.writestr("c.opf", f"<package><manifest>{''.join(items)}</manifest><spine>{refs}</spine></package>")
        book.writestr("a.html", page)
        book.writestr("../../evil.html", page)
    before = digests(tmp_path)
    options = ("--max-rejects", 1, "--dedup", "none", "--books", tmp_path / "a.tar", "--books", tmp_path / "b.epub")
    corpus = build("build-corpus", tmp_path / "corpus", *options)
    lines = [json.loads(line) for path in (corpus / "rejects").iterdir() for line in path.read_text("utf-8").splitlines()]
    reasons = sorted(line["reason"] for line in lines)
    assert reasons == sorted(["unsafe-name"] * 5 + ["link"] * 2 + ["device"] * 3 + ["damaged"])
    rows = read_rows(corpus)
    assert len(rows) == len(plain) - 5 - 1 and [row["id"] for row in rows].count("books:a.tar/good") == 2
    assert not any("root:" in sentence for row in rows for sentence in row["sentences"])
    shutil_left = {name: digest for name, digest in digests(tmp_path).items() if not name.startswith("corpus/")}
    assert shutil_left == before and not list(tmp_path.parent.glob("up.txt")) and not Path("/tmp/absolute.txt").exists()


VOCABULARIES: dict[str, tuple[bytes, str]] = {  # what a vocab.txt holds, and what is said of it; "" where it is read
    "plain": ("\n".join(WORDS).encode(), ""),
    "mark": (b"\xef\xbb\xbf" + "\n".join(WORDS).encode(), ""),
    "crlf": ("\r\n".join([*WORDS, ""]).encode(), ""),
    "trailing spaces": (" \t\n".join(WORDS).encode(), ""),
    "blank lines at the end": ("\n".join([*WORDS, "", " ", "\r", ""]).encode(), ""),
    "2 ** 17 pieces": ("\n".join([*WORDS, *(f"w{n}" for n in range(1 << 17))]).encode(), ""),
    "duplicate": ("\n".join([*WORDS, "the"]).encode(), "contains 'the' twice, in lines 6 and 12.*remove"),
    "duplicate with a space": ("\n".join([*WORDS, "the "]).encode(), "contains 'the' twice"),
    "duplicate at the end of many": (
        "\n".join([*WORDS, *(f"w{n}" for n in range(1 << 17)), "the"]).encode(),
        "contains 'the' twice, in lines 6 and 131084",
    ),
    "blank line": ("\n".join([*SPECIAL, "", "the"]).encode(), "line 6 is blank"),
    "no specials": ("\n".join(WORDS[5:]).encode(), r"lacks \[PAD\], \[UNK\]"),
    "no mask": ("\n".join(word for word in WORDS if word != "[MASK]").encode(), r"lacks \[MASK\]"),
    "huge line": ("\n".join([*WORDS, "x" * 100_000]).encode(), "line 12 is not a token"),
    "carriage returns": ("\n".join([*WORDS, "a\rb"]).encode(), "line 12 is not a token"),
    "old Macintosh": ("\r".join(WORDS).encode(), "lacks"),
    "nul": ("\n".join([*WORDS, "a\0"]).encode(), "line 12 is not a token"),
    "latin-1": ("\n".join([*WORDS, "café"]).encode("latin-1"), "cannot read the vocabulary"),
    "utf-16": ("\n".join(WORDS).encode("utf-16"), "cannot read the vocabulary"),
    "empty": (b"", r"lacks \[PAD\]"),
    "blank": (b"\n\n\n", r"lacks \[PAD\]"),
    "json": (json.dumps({"model": {"vocab": dict.fromkeys(WORDS, 0)}}, indent=1).encode(), "lacks"),
}


@pytest.mark.parametrize("name", VOCABULARIES)
def test_vocabularies(name: str, sample_corpus: Path, build: Build, tmp_path: Path) -> None:
    data, said = VOCABULARIES[name]
    (tmp_path / "vocab.txt").write_bytes(data)
    given = ("--vocab", tmp_path / "vocab.txt", "--objective", "documents", "--dry-run")
    if said:
        with pytest.raises(UsageError, match=said):
            build("make-pairs", tmp_path / "pairs", sample_corpus, *given)
    else:
        build("make-pairs", tmp_path / "pairs", sample_corpus, *given)
        from bertdata.tokens.read import read_any

        assert read_any(tmp_path).pieces[:11] == WORDS
    assert not (tmp_path / "pairs").exists()


@pytest.mark.parametrize("settings", ["{", "[" * 100_000, '"\xff"', "[]", '{"do_lower_case": 7}'])
def test_settings_beside_a_vocabulary(settings: str, sample_corpus: Path, build: Build, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    (tmp_path / "tokenizer_config.json").write_text(settings, encoding="latin-1")
    (tmp_path / "tokenizer.json").write_text("[" * 9999)  # is made anew, and not read
    arguments = (sample_corpus, "--vocab", tmp_path, "--dry-run")
    if settings == "[]":
        build("make-pairs", tmp_path / "pairs", *arguments)
        return
    with pytest.raises(UsageError, match="tokenizer_config.json"):
        build("make-pairs", tmp_path / "pairs", *arguments)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "a = " + "{a=" * 50_000,
        "[" + "a." * 20_000 + "a]",
        "a = " + "9" * 5000,
        "[[" * 9999,
        "\0",
        "a" * (2 << 20),
    ],
)
def test_hostile_settings(text: str, books: Path, build: Build) -> None:
    path = books.parent / "a.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"a\.toml"):
        build("build-corpus", books.parent / "out", "--wikipedia", SAMPLE, "--templates", path)
    with pytest.raises((UsageError, click.UsageError), match=r"a\.toml"):
        cli.main(["run", str(path)], standalone_mode=False)
    assert not (books.parent / "out").exists()


def test_a_small_file_is_read_no_further_than_it_may_have(tmp_path: Path) -> None:
    with open(tmp_path / "a.toml", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="larger than the limit of 1,048,576 bytes"):
        read_small(tmp_path / "a.toml")
    with pytest.raises(UsageError, match="is not valid TOML"):
        parse_toml("a.toml", "a = " + "[" * 100_000)
    assert CorpusConfig().max_page_bytes <= 16 << 20


@pytest.mark.parametrize("name", ["data", "rejects", ".bertdata"])
def test_a_folder_that_leads_elsewhere_is_not_written_through(build: Build, text: Path, tmp_path: Path, name: str) -> None:
    out, victim = tmp_path / "out", tmp_path / "victim"
    victim.mkdir()
    (out / ".bertdata").mkdir(parents=True)
    if name == ".bertdata":
        (out / ".bertdata").rmdir()
    (out / name).symlink_to(victim)
    with pytest.raises(OutputExistsError, match="is a link"):
        build("build-corpus", out, "--text", text)
    assert not list(victim.iterdir())


def test_a_folder_of_an_older_bertdata_that_leads_elsewhere_is_left_alone(build: Build, text: Path, tmp_path: Path) -> None:
    """Tasks are recorded where a run builds, in a directory that it has made."""
    out, victim = tmp_path / "out", tmp_path / "victim"
    victim.mkdir()
    (out / ".bertdata").mkdir(parents=True)
    (out / ".bertdata" / "tasks").symlink_to(victim)
    (victim / "thesis.txt").write_text("mine")
    with contextlib.suppress(OutputExistsError):
        build("build-corpus", out, "--text", text)
    assert [path.name for path in victim.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("name", ["lock", "run.json", "job.json", "../manifest.json"])
@pytest.mark.parametrize("plant", ["link", "second name", "pipe"])
def test_a_planted_state_is_not_waited_for_or_written_through(
    build: Build, text: Path, tmp_path: Path, name: str, plant: str
) -> None:
    out, victim = tmp_path / "out", tmp_path / "victim"
    victim.write_text("mine")
    (out / ".bertdata").mkdir(parents=True)
    path = out / ".bertdata" / name
    {"link": path.symlink_to, "second name": path.hardlink_to}[plant](victim) if plant != "pipe" else os.mkfifo(path)
    with contextlib.suppress(StorageError, OutputExistsError):
        build("build-corpus", out, "--text", text)
    assert victim.read_text() == "mine"


def test_an_evaluation_set_that_is_a_pipe_is_not_waited_for(build: Build, text: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(UsageError, match="pipe.txt.* not a regular file"):
        build("build-corpus", tmp_path / "out", "--text", text, "--exclude", tmp_path / "pipe.txt")
