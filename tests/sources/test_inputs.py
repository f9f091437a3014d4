"""Input files: every file once, under a name that is the same on every machine."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import pytest

from bertdata.config.input_kinds import INPUTS
from bertdata.errors import NoInputError, UsageError
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


def test_a_directory_stands_for_the_files_below_it(books: Path) -> None:
    assert _names(find([str(books)], TXT, "--books")) == ["austen/emma.txt", "doyle/sign.txt", "z.txt"]
    assert _names(find([f"{books}/"], TXT, "--books")) == ["austen/emma.txt", "doyle/sign.txt", "z.txt"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("**/*.txt", ["austen/emma.txt", "doyle/sign.txt", "z.txt"]),
        ("*/*.txt", ["austen/emma.txt", "doyle/sign.txt"]),
        ("doyle/*", ["sign.txt"]),
        ("*", ["austen/emma.txt", "doyle/sign.txt", "z.txt"]),
        ("z.tx?", ["z.txt"]),
        ("[az]*", ["austen/emma.txt", "z.txt"]),
    ],
)
def test_globs(books: Path, pattern: str, names: list[str]) -> None:
    assert _names(find([f"{books}/{pattern}"], TXT, "--books")) == names


def test_each_file_once_and_in_order_however_it_is_named(books: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = find([str(books)], TXT, "--books")
    monkeypatch.chdir(books)
    many = ["z.txt", str(books), "doyle/../z.txt", "./austen/*.txt", f"{books}/doyle", "**/*.txt"]
    assert find(many, TXT, "--books") == find(many[::-1], TXT, "--books") == whole


def test_names_do_not_depend_on_the_place(tmp_path: Path) -> None:
    for name in ("here", "there/deeper"):
        _tree(tmp_path / name, "a/x.txt", "b/x.txt")
    here, there = (find([str(tmp_path / name)], TXT, "--books") for name in ("here", "there/deeper"))
    assert _names(here) == _names(there) == ["a/x.txt", "b/x.txt"]
    assert _names(find([str(tmp_path / "here" / "a" / "x.txt")], TXT, "--books")) == ["x.txt"]


def test_names_are_distinct(tmp_path: Path) -> None:
    _tree(tmp_path, "one/x.txt", "two/x.txt")
    names = _names(find([str(tmp_path / "one" / "x.txt"), str(tmp_path / "two")], TXT, "--books"))
    assert names == ["one/x.txt", "two/x.txt"]


def test_brackets_in_a_name_are_no_glob(tmp_path: Path) -> None:
    _tree(tmp_path, "book [1].txt")
    assert _names(find([str(tmp_path / "book [1].txt")], TXT, "--books")) == ["book [1].txt"]


def test_a_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(_tree(tmp_path, "a.txt")))
    assert _names(find(["~/a.txt"], TXT, "--books")) == ["a.txt"]


def test_the_index_of_a_dump_is_no_dump(tmp_path: Path) -> None:
    names = [
        "xwiki-pages.xml.bz2",
        "xwiki-multistream-index.txt.bz2",
        "xwiki-multistream-index.txt",
        "a.xml",
        "b.xml.gz",
        "md5sums.txt",
    ]
    _tree(tmp_path, *names)
    dumps = ["a.xml", "b.xml.gz", "xwiki-pages.xml.bz2"]
    assert _names(find([str(tmp_path)], WIKI, "--wikipedia")) == dumps
    assert _names(find([f"{tmp_path}/*"], WIKI, "--wikipedia")) == dumps
    with pytest.raises(UsageError, match=r"--wikipedia .*index\.txt\.bz2: bertdata reads \.xml, \.xml\.bz2, \.xml\.gz"):
        find([str(tmp_path / names[1])], WIKI, "--wikipedia")


@pytest.mark.parametrize("pattern", ["missing.txt", "missing/**/*.txt", "*.pdf", "empty", "notes.*", ""])
def test_what_matches_nothing_is_named(tmp_path: Path, pattern: str) -> None:
    _tree(tmp_path / "place", "notes.md")
    (tmp_path / "place" / "empty").mkdir()
    given = f"{tmp_path}/place/{pattern}"
    with pytest.raises(NoInputError) as caught:
        find([str(tmp_path / "place" / "notes.md").replace("notes.md", pattern) if pattern else given], TXT, "--books")
    assert "--books" in str(caught.value) and "quote a glob" in str(caught.value) and caught.value.exit_code == 2


def test_one_pattern_of_many_that_matches_nothing_is_an_error(books: Path) -> None:
    with pytest.raises(NoInputError, match=r"nothing\.txt"):
        find([str(books), f"{books}/nothing.txt"], TXT, "--books")


def test_no_pattern_gives_no_file() -> None:
    assert find([], TXT, "--books") == []


def test_a_link_to_a_file_and_the_file_are_one(tmp_path: Path) -> None:
    """``latest.txt -> v2.txt`` beside it must not double the text."""
    _tree(tmp_path, "v2.txt")
    (tmp_path / "latest.txt").symlink_to(tmp_path / "v2.txt")
    assert len(find([str(tmp_path)], TXT, "--books")) == 1


def test_links_that_lead_nowhere_or_in_a_ring_end(books: Path) -> None:
    (books / "ring").symlink_to(books)
    found = _names(find([str(books)], TXT, "--books"))
    assert [name for name in found if not name.startswith("ring/")] == ["austen/emma.txt", "doyle/sign.txt", "z.txt"]
    assert len(found) == 3
    (books / "nowhere.txt").symlink_to(books / "missing")
    with pytest.raises(NoInputError, match=r"nowhere\.txt"):
        find([str(books / "nowhere.txt")], TXT, "--books")


def test_a_broken_link_in_a_directory_is_left_out(books: Path) -> None:
    """A glob leaves it out; a directory must not give a path that can't be opened."""
    (books / "nowhere.txt").symlink_to(books / "missing")
    assert _names(find([f"{books}/*.txt"], TXT, "--books")) == ["z.txt"]
    assert "nowhere.txt" not in [name for name, _ in find([str(books)], TXT, "--books")]


def test_a_linked_directory_given_outright_is_read(books: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(books)
    assert _names(find([str(tmp_path / "link")], TXT, "--books")) == ["austen/emma.txt", "doyle/sign.txt", "z.txt"]


def test_a_name_that_is_no_utf8_is_refused_or_can_be_written_down(tmp_path: Path) -> None:
    """A book named in Latin-1 comes with a surrogate in its name, which no manifest and no document's id can hold."""
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.txt")
    with open(path, "wb") as file:
        file.write(b"text")
    try:
        names = [name for name, _ in find([str(tmp_path)], TXT, "--books")]
    except UsageError as error:
        assert "txt" in str(error)
    else:
        write_json(tmp_path / "manifest.json", names)


@pytest.mark.parametrize("packer", [".7z", ".zip", ".lz4"])
def test_a_dump_packed_otherwise_is_refused_with_the_way_out(tmp_path: Path, packer: str) -> None:
    _tree(tmp_path, f"x.xml{packer}")
    for given in (tmp_path / f"x.xml{packer}", tmp_path, tmp_path / "*", tmp_path / "*.xml*"):
        with pytest.raises(UsageError, match=rf"not \{packer}: recompress it: \w+ .*x\.xml\{packer} \| bzip2 > x\.xml\.bz2"):
            find([str(given)], WIKI, "--wikipedia")


@pytest.mark.parametrize(("name", "way"), [("x.txt.7z", ": 7z x -so x.txt.7z > x.txt"), ("books.7z", "")])
def test_what_is_packed_is_not_to_be_packed_in_a_form_that_is_not_read(tmp_path: Path, name: str, way: str) -> None:
    _tree(tmp_path, name)
    with pytest.raises(UsageError, match=rf"not \.7z: unpack it{way}$"):
        find([str(tmp_path / name)], TXT, "--books")


def test_a_dump_that_is_there_in_another_form_as_well(tmp_path: Path) -> None:
    _tree(tmp_path, "x.xml.7z", "x.xml.bz2", "notes.7z")
    assert _names(find([str(tmp_path)], WIKI, "--wikipedia")) == ["x.xml.bz2"]
    _tree(tmp_path, "y.xml.7z")
    with pytest.raises(UsageError, match=r"y\.xml\.7z"):
        find([str(tmp_path / "*")], WIKI, "--wikipedia")


def test_the_parts_of_a_dump(tmp_path: Path) -> None:
    """The Foundation puts the numbers of a part's pages behind ``.xml``."""
    names = ["xwiki-multistream1.xml-p1p41242.bz2", "xwiki-multistream2.xml-p41243p151573.bz2", "xwiki.xml-p1p9"]
    _tree(tmp_path, *names, "xwiki-multistream-index1.txt-p1p41242.bz2", "xwiki.xml-p1p9.md5")
    assert _names(find([str(tmp_path)], WIKI, "--wikipedia")) == names


@pytest.mark.parametrize("parts", [("",), ("1", "2")])
def test_the_input_of_the_readme_is_all_parts_of_a_dump(tmp_path: Path, parts: tuple[str, ...]) -> None:
    pages = {part: f"-p{part}p{part}9" if part else "" for part in parts}
    dumps = [f"enwiki-20261101-pages-articles-multistream{part}.xml{pages[part]}.bz2" for part in parts]
    indexes = [f"enwiki-20261101-pages-articles-multistream-index{part}.txt{pages[part]}.bz2" for part in parts]
    for name in (*dumps, *indexes, "enwiki-20261101-sha1sums.txt"):
        (tmp_path / name).write_bytes(b"")
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"build-corpus --wikipedia (\S+)", text)) == {"dumps"}  # where the dumps are downloaded to
    assert [name for name, _ in find([str(tmp_path)], INPUTS["wikipedia"].suffixes, "--wikipedia")] == dumps


JSON = b'{"text": "Tea."}\n'


def test_json_lines_are_found_by_their_contents(tmp_path: Path) -> None:
    texts = INPUTS["text"].suffixes
    for name in ("a.ndjson", "b.json", "AA/wiki_00", "c4-train.00000-of-00512.json.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(gzip.compress(JSON) if name.endswith("gz") else JSON)
    (tmp_path / "config.json").write_bytes(b'{\n  "text": 1\n}\n')
    (tmp_path / "array.json").write_bytes(b'[{"text": "Tea."}]')
    (tmp_path / "AA/wiki_01").write_bytes(b'<doc id="12">\nTea.\n</doc>\n')
    (tmp_path / "LICENSE").write_bytes(JSON)
    found = _names(find([str(tmp_path)], texts, "--text", others := set()))
    assert found == ["AA/wiki_00", "a.ndjson", "b.json", "c4-train.00000-of-00512.json.gz"]
    assert {os.path.basename(path) for path in others} == {"config.json", "array.json", "wiki_01", "LICENSE"}
    assert _names(find([str(tmp_path / "LICENSE")], texts, "--text")) == ["LICENSE"], "a named file has any name"
    for name, hint in (("array.json", "jq -c '.[]' array.json > array.jsonl"), ("AA/wiki_01", "WikiExtractor with --json")):
        with pytest.raises(UsageError, match=re.escape(hint)):
            find([str(tmp_path / name)], texts, "--text")
        with pytest.raises(UsageError):
            find([str(tmp_path / name)], INPUTS["wikipedia"].suffixes, "--wikipedia")
