"""Input files: every file once, under a name that is the same on every machine."""

from __future__ import annotations

import gzip
import os
import re
import zipfile
from pathlib import Path

import pytest
from made import texts_of

from bertdata.config.input_kinds import INPUTS
from bertdata.errors import NoInputError, UsageError
from bertdata.records import FileRange, Prose, Reject
from bertdata.sources.inputs import find
from bertdata.storage.files import write_json

TXT = INPUTS["books"].suffixes
WIKI = INPUTS["wikipedia"].suffixes


def _tree(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def _names(found: list[tuple[str, str]]) -> list[str]:
    for _, path in found:
        assert os.path.isabs(path) and os.path.isfile(path)
    return [name for name, _ in found]


@pytest.fixture
def books(tmp_path: Path) -> Path:
    return _tree(
        tmp_path / "books", "austen/emma.txt", "doyle/sign.txt", "doyle/notes.md", ".hidden/x.txt", "doyle/.y.txt", "z.txt"
    )


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("", ["austen/emma.txt", "doyle/sign.txt", "z.txt"]),
        ("**/*.txt", ["austen/emma.txt", "doyle/sign.txt", "z.txt"]),
        ("*/*.txt", ["austen/emma.txt", "doyle/sign.txt"]),
        ("a**/*.txt", ["emma.txt"]),
        ("doyle/../aus*/../z*.txt", ["z.txt"]),
        ("doyle/*", ["sign.txt"]),
        ("*", ["austen/emma.txt", "doyle/sign.txt", "z.txt"]),
        ("[az]*", ["austen/emma.txt", "z.txt"]),
        ("book [1].txt", ["book [1].txt"]),
    ],
)
def test_directories_and_globs(books: Path, pattern: str, names: list[str]) -> None:
    if "[1]" in pattern:
        _tree(books, pattern)
    assert _names(find([f"{books}/{pattern}"], TXT, "--books")) == names


@pytest.mark.parametrize("pattern", ["a/**/c/**/*.txt", "**/b/**/c/**/*.txt", "**/c/**", "**/**/c/**/*.txt"])
def test_a_pattern_may_have_several_double_stars(books: Path, pattern: str) -> None:
    _tree(books, "a/b/c/1.txt", "a/b/c/d/2.txt", "a/b/c/d/e/3.txt", "a/b/c/.hidden/4.txt")
    assert _names(find([f"{books}/{pattern}"], TXT, "--books")) == ["1.txt", "d/2.txt", "d/e/3.txt"]


def test_each_file_once_and_in_order_however_it_is_named(books: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = find([str(books)], TXT, "--books")
    monkeypatch.chdir(books)
    many = ["z.txt", str(books), "doyle/../z.txt", "./austen/*.txt", f"{books}/doyle", "**/*.txt"]
    assert find(many, TXT, "--books") == find(many[::-1], TXT, "--books") == whole


def test_names_are_distinct_and_do_not_depend_on_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("here", "there/deeper"):
        _tree(tmp_path / name, "a/x.txt", "b/x.txt")
        assert _names(find([str(tmp_path / name)], TXT, "--books")) == ["a/x.txt", "b/x.txt"]
    assert _names(find([str(tmp_path / "here" / "a" / "x.txt")], TXT, "--books")) == ["x.txt"]
    assert _names(find([f"{tmp_path}/here/a/x.txt", f"{tmp_path}/here/b"], TXT, "--books")) == ["a/x.txt", "b/x.txt"]
    monkeypatch.setenv("HOME", str(tmp_path / "here"))
    assert _names(find(["~/a/x.txt"], TXT, "--books")) == ["x.txt"]


@pytest.mark.parametrize("pattern", ["missing.txt", "missing/**/*.txt", "*.pdf", "empty", "notes.*", ""])
def test_what_matches_nothing_is_named(tmp_path: Path, pattern: str) -> None:
    _tree(tmp_path / "place", "notes.md")
    (tmp_path / "place" / "empty").mkdir()
    with pytest.raises(NoInputError, match="--books.*quote a glob" if pattern == "*.pdf" else "--books"):
        find([f"{tmp_path}/place/{pattern}"], TXT, "--books")
    with pytest.raises(NoInputError):  # one of many, too
        find([f"{_tree(tmp_path / 'good', 'a.txt')}", f"{tmp_path}/place/{pattern}"], TXT, "--books")
    assert find([], TXT, "--books") == []


def test_links_name_their_files_once_and_end(books: Path, tmp_path: Path) -> None:
    """A directory or glob leaves a broken link out, and links to directories are only followed where they are given."""
    whole = ["austen/emma.txt", "doyle/sign.txt", "z.txt"]
    (books / "a copy of z.txt").symlink_to(books / "z.txt")
    (books / "ring").symlink_to(books)
    (books / "nowhere.txt").symlink_to(books / "missing")
    (tmp_path / "link").symlink_to(books)
    assert _names(find([str(books)], TXT, "--books")) == _names(find([str(tmp_path / "link")], TXT, "--books")) == whole
    assert _names(find([f"{books}/**/*.txt"], TXT, "--books")) == whole
    with pytest.raises(NoInputError, match=r"nowhere\.txt"):
        find([str(books / "nowhere.txt")], TXT, "--books")


def test_a_name_that_is_no_utf8_is_refused_or_can_be_written_down(tmp_path: Path) -> None:
    """A book named in Latin-1 comes with a surrogate in its name, which no manifest and no document's id can hold."""
    with open(os.path.join(os.fsencode(tmp_path), b"caf\xe9.txt"), "wb") as file:
        file.write(b"text")
    try:
        names = [name for name, _ in find([str(tmp_path)], TXT, "--books")]
    except UsageError as error:
        assert "txt" in str(error)
    else:
        write_json(tmp_path / "manifest.json", names)


@pytest.mark.parametrize(
    ("name", "suffixes", "way"),
    [
        ("x.xml.7z", WIKI, "no supported format. Formats: "),
        ("x.txt.gz", TXT, "no supported format. Formats: "),
        ("x-multistream-index.txt.bz2", WIKI, r"--kind .*index\.txt\.bz2: .* Formats: \.xml, optionally compressed"),
        ("x.epub", WIKI, "use --books"),
    ],
)
def test_a_named_file_of_another_kind_is_refused_with_the_way_out(
    tmp_path: Path, name: str, suffixes: tuple[str, ...], way: str
) -> None:
    _tree(tmp_path, name)
    with pytest.raises(UsageError, match=way):
        find([str(tmp_path / name)], suffixes, "--kind")


@pytest.mark.parametrize("parts", [("",), ("1", "2")])
def test_the_input_of_the_readme_is_all_parts_of_a_dump(tmp_path: Path, parts: tuple[str, ...]) -> None:
    """The Foundation puts the numbers of a part's pages behind ``.xml``."""
    pages = {part: f"-p{part}p{part}9" if part else "" for part in parts}
    dumps = [f"enwiki-20261101-pages-articles-multistream{part}.xml{pages[part]}.bz2" for part in parts]
    indexes = [f"enwiki-20261101-pages-articles-multistream-index{part}.txt{pages[part]}.bz2" for part in parts]
    _tree(tmp_path, *dumps, *indexes, "enwiki-20261101-sha1sums.txt", "xwiki.xml-p1p9", "xwiki.xml-p1p9.md5")
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"build-corpus --wikipedia (\S+)", text)) == {"dumps"}  # where the dumps are downloaded to
    for pattern in (tmp_path, tmp_path / "*"):
        assert _names(find([str(pattern)], WIKI, "--wikipedia")) == [*dumps, "xwiki.xml-p1p9"]


JSON = b'{"text": "Tea."}\n'


def test_json_lines_are_found_by_their_contents(tmp_path: Path) -> None:
    texts = INPUTS["text"].suffixes
    for name in ("a.ndjson", "b.json", "AA/wiki_00", "c4-train.00000-of-00512.json.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(gzip.compress(JSON) if name.endswith("gz") else JSON)
    (tmp_path / "array.json").write_bytes(b'\xef\xbb\xbf\n[{"text": "Tea."}]')
    (tmp_path / "config.json").write_bytes(b'{\n  "text": 1\n}\n')
    (tmp_path / "AA/wiki_01").write_bytes(b'<doc id="12">\nTea.\n</doc>\n')
    (tmp_path / "LICENSE").write_bytes(JSON)
    found = _names(find([str(tmp_path)], texts, "--text", others := set()))
    assert found == ["AA/wiki_00", "a.ndjson", "b.json", "c4-train.00000-of-00512.json.gz"]
    assert {os.path.basename(path) for path in others} == {"config.json", "array.json", "wiki_01", "LICENSE"}
    assert _names(find([str(tmp_path / "LICENSE")], texts, "--text")) == ["LICENSE"], "a named file has any name"
    for name in ("array.json", "config.json", "AA/wiki_01"):
        with pytest.raises(UsageError, match=r"not a JSON object: convert it with jq -c, or run WikiExtractor with --json"):
            find([str(tmp_path / name)], texts, "--text")
        with pytest.raises(UsageError):
            find([str(tmp_path / name)], WIKI, "--wikipedia")


@pytest.mark.parametrize("head", [b"\xef\xbb\xbf", b"\n \r\n", b"\xef\xbb\xbf\r\n\n", b"\n\xef\xbb\xbf"])
@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".ndjson", ".json.gz"])
def test_json_lines_may_begin_with_a_mark_or_blank_lines(tmp_path: Path, head: bytes, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    data = gzip.compress(head + JSON * 2) if suffix.endswith("gz") else head + JSON * 2
    path.write_bytes(data)
    assert _names(find([str(path)], INPUTS["text"].suffixes, "--text")) == [path.name]
    found = texts_of([FileRange(path.name, str(path), 0, len(data))])
    assert [record.paragraphs for record in found if isinstance(record, Prose)] == [["Tea."]] * 2 == [["Tea."]] * len(found)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.train", "a.txt.gz", "a.zip"])
@pytest.mark.parametrize("documents", ["file", "blank-lines", "lines"])
def test_json_lines_in_a_text_file_are_rejected_or_read(tmp_path: Path, encoding: str, name: str, documents: str) -> None:
    data = ("\r\n" + '{"text": "Tea."}\r\n' * 9).encode(encoding)
    if name.endswith("zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("a.txt", data)
    else:
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    if encoding == "utf-16" and (documents != "file" or name.endswith("gz")):
        return
    found = texts_of([FileRange(name, str(tmp_path / name), 0, (tmp_path / name).stat().st_size)], documents=documents)
    if name.endswith("gz"):
        assert all(isinstance(record, Prose) and record.paragraphs == ["Tea."] for record in found)
    else:
        (reject,) = found
        assert isinstance(reject, Reject) and reject.reason == "json-lines" and "ends in .jsonl" in reject.where
