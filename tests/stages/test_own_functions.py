"""Readers, filters and splitters of the user's own: as docs/how-to/extending.md has them, and as they may fail."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import REPOSITORY, Run, read_manifest, read_rows
from guide import code, write_guide

from bertdata import CorpusConfig, build_corpus, inspect
from bertdata.commands.build_corpus import named_files, plan_corpus
from bertdata.config import ChoiceConfig, FilterConfig
from bertdata.errors import ResumeError, UsageError
from bertdata.records import Document, Task
from bertdata.stages.corpus import filtering
from bertdata.stages.corpus.extract import Extract
from bertdata.storage import user_functions


def test_the_guide_as_it_stands(run: Run, tmp_path: Path) -> None:
    """The command and the Python lines of docs/how-to/extending.md, in a directory of their own, give equal corpora."""
    assert all(len([line for line in block.splitlines() if line.strip()]) < 25 for block in code())
    run(*write_guide(tmp_path), "--workers", 2, cwd=tmp_path)
    made = read_manifest(tmp_path / "corpus")
    (stage,) = made["counts"]
    assert (stage["stage"], stage["in"], stage["out"]) == ("documents of mine:wet", 2, 1)
    assert stage["dropped"] == {"recipe": 1}
    assert made["sources"]["mine:wet"]["documents"] == 1
    assert made["sources"]["mine:wet"]["edits"] == {"links": 1, "mine:no_links": 1}
    assert made["config"]["filter_functions"] == ["mine:no_recipes"]
    assert made["config"]["map_functions"] == ["mine:no_links"]
    functions = ["mine:by_line", "mine:no_links", "mine:no_recipes", "mine:wet"]
    assert [each["name"] for each in made["config"]["functions"]] == functions
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert read_manifest(tmp_path / "again")["rows"] == 1
    for id in ("mine:wet:http://example.org/1", "http://example.org/1"):  # as the corpus has it, and as the reader gave it
        explained = run("inspect", "corpus", "--explain", id, cwd=tmp_path)
        assert "was dropped: recipe (filter mine:no_recipes)" in explained.stdout
    (kept,) = [row["id"] for row in read_rows(tmp_path / "corpus")]
    assert f"{kept} is in data/" in run("inspect", "corpus", "--explain", kept.removeprefix("mine:wet:"), cwd=tmp_path).stdout


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a module of readers and filters."""
    name = f"own_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(
        "def breaks(path):\n    yield {'text': 'One kettle sings. It boils.'}\n    yield 7\n    yield {'txt': 'x'}\n"
        "    yield {'sentences': ['a', 2]}\n    yield {'id': 'last', 'sentences': ['Tea is ready.', 'Come in.']}\n"
        "    raise ValueError('the rest is gone')\n"
        "def large(path):\n    yield {'text': 'tea ' * 1000}\n    yield {'text': ''}\n"
        "def raises(document):\n    raise KeyError('oh')\n"
        "def numbers(document):\n    return 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    user_functions.load.cache_clear()
    return name


LOOSE = CorpusConfig(filters=FilterConfig(min_letters=0), choice=ChoiceConfig(dedup="none"), max_rejects=1, max_page_bytes=1024)


def test_what_a_reader_gets_wrong_is_named(module: str, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"x")
    made = build_corpus(read=[(f"{module}:breaks", "x.bin"), (f"{module}:large", "x.bin")], output="out", config=LOOSE, workers=1)
    stages = {stage.stage: stage for stage in made.counts}
    broken, large = stages[f"documents of {module}:breaks"], stages[f"documents of {module}:large"]
    assert (broken.entered, broken.left, broken.rejected) == (6, 2, {"no-document": 3, "reader-failed": 1})
    assert (large.entered, large.left) == (2, 0)
    assert (large.rejected, large.dropped) == ({"too-large": 1}, {"no prose": 1})
    lists = [(made.path / file.name).read_text(encoding="utf-8") for file in made.manifest.rejects]
    told = [json.loads(line) for text in lists for line in text.splitlines()]
    assert "x.bin, after 5 documents: ValueError: the rest is gone" in [record["where"] for record in told]


@pytest.mark.parametrize(("name", "problem"), [("raises", "raises KeyError: 'oh'"), ("numbers", "returns 3 of the document")])
def test_a_filter_that_is_none_ends_the_run(module: str, name: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One kettle sings. It boils.")
    with pytest.raises(UsageError, match=problem):
        build_corpus(text="a.txt", filters=[f"{module}:{name}"], output="out", config=LOOSE, workers=1)


EDITS = """
def edit(document):
    document.sentences[0] += "\\nTwice. "
    match document.title:
        case "raises":
            raise KeyError("oh")
        case "other id":
            return document._replace(id="x")
        case "none":
            return None
        case "starts":
            return document._replace(paragraph_starts=[0, 9])
        case "no starts":
            return document._replace(paragraph_starts=[])
        case "starts of text":
            return document._replace(paragraph_starts=[0, "x"])
        case "no sentences":
            return document._replace(sentences=[], paragraph_starts=[])
        case "numbers":
            return document, {"x": "y"}
        case "surrogate":
            return document._replace(title="\\ud800")
        case "empty":
            return document._replace(sentences=["", " "])
        case "same":
            return document._replace(sentences=["One kettle sings.", "It boils."])
        case "first":
            return document._replace(sentences=["", *document.sentences]), {"greetings": 2}
    return document
def after(document):
    return document, {"seen": "".join(document.sentences[:1]).endswith("Twice.")+0}
"""


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_edits_are_checked_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    module = f"edits_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{module}.py").write_text(EDITS)
    titles = ["raises", "other id", "none", "starts", "no starts", "starts of text", "numbers", "surrogate"]
    titles += ["no sentences", "empty", "same", "first", "excluded"]
    rows = [{"title": title, "id": title, "text": "One kettle sings. It boils."} for title in titles]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "ids.txt").write_text("in.jsonl:excluded\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    made = build_corpus(
        text="in.jsonl",
        maps=[f"{module}:edit", f"{module}:after"],
        exclude_ids="ids.txt",
        output="out",
        id_column="id",
        dedup="none",
        max_rejects=1.0,
        workers=workers,
    )
    (stage,) = made.counts
    assert stage.rejected == {"map-failed": 1, "no-document": 7}
    assert stage.dropped == {"excluded id": 1, "no prose": 2}
    same, first = read_rows(tmp_path / "out")
    assert same["sentences"] == ["One kettle sings.", "It boils."]
    assert first["sentences"] == ["One kettle sings. Twice.", "It boils."]
    assert (first["paragraph_starts"], first["title"]) == ([0], "first")
    edits = made.manifest.sources["text"].edits
    assert edits == {f"{module}:after": 0, f"{module}:edit": 1, "greetings": 2, "seen": 1}
    rejects = {record["id"]: record["where"] for reason in stage.rejected for record in inspect(made.path, reason=reason, n=9)}
    assert rejects["text:in.jsonl:none"] == f"{module}:edit returned NoneType, not a Document"
    assert rejects["text:in.jsonl:raises"] == f"{module}:edit: KeyError: 'oh'"


def _digest(name: str) -> str:
    """Return the digest of a filter that a plan records."""
    plan = plan_corpus(inputs={"text": "a.txt"}, filters=[name], output="out")
    found: str = plan.outputs[0].identity["config"]["functions"][0]["sha256"]
    return found


def test_a_changed_function_is_a_changed_setting(module: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One kettle sings. It boils.")
    name = f"{module}:numbers"
    before = _digest(name)
    with (tmp_path / f"{module}.py").open("a") as file:
        file.write("# changed\n")
    assert _digest(name) != before
    with pytest.raises(ResumeError, match="its source has changed"):
        user_functions.load(name, "filters", before)


def test_the_example_of_redaction_finds_contacts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(REPOSITORY / "examples")
    contacts = importlib.import_module("contacts")
    text = "Mail a.b+c@mail.example.co.uk or ring (212) 555-0123, 0171-3920014 or +44 20 7946 0958."
    plain = "Built in 1914-1918 and on 05.12.1945, ISBN 978-0-306-40615-7, 12 000 people, user@host."
    document = Document("x", "text", "en", "", "", [text, plain], [0])
    edited, counts = contacts.redact(document)
    assert edited.sentences == ["Mail [EMAIL] or ring [PHONE], [PHONE] or [PHONE].", plain]
    assert counts == {"e-mail addresses": 1, "phone numbers": 3}
    assert contacts.redact(edited) == (edited, {})
    began = time.process_time()
    for evil in ("a." * 50_000, "a@" + "b." * 50_000, "+1" * 50_000, "+1 22 " * 20_000, "022 333 " * 12_000):
        contacts.redact(document._replace(sentences=[evil]))
    assert time.process_time() - began < 2


def test_functions_that_no_worker_can_import() -> None:
    for function in (lambda document: None, test_functions_that_no_worker_can_import.__call__):
        with pytest.raises(UsageError, match="workers cannot import it"):
            plan_corpus(inputs={"text": "a.txt"}, filters=[function], output="out")
    with pytest.raises(UsageError, match="write it as module:function"):
        plan_corpus(inputs={"text": "a.txt"}, filters=["nothing"], output="out")
    with pytest.raises(UsageError, match="cannot import it"):
        plan_corpus(inputs={"text": "a.txt"}, filters=["json:nothing"], output="out")


TAKEDOWN = """
from pathlib import Path

def takedown(document):
    return "taken down" if document.title in Path("names.txt").read_text().splitlines() else None
"""


def test_a_changed_file_that_a_function_reads_is_a_changed_setting(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lists.py").write_text(TAKEDOWN)
    rows = [{"title": name, "text": f"The tea of {name} is ready. It is hot."} for name in ("Ann", "Bob", "Cy")]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "names.txt").write_text("Ann\n")
    arguments = [
        "build-corpus",
        "--text",
        "in.jsonl",
        "--filter",
        "lists:takedown",
        "--depends-on",
        "names.txt",
        "--output",
        "corpus",
    ]
    run(*arguments, cwd=tmp_path)
    assert "complete already" in run(*arguments, cwd=tmp_path).stdout
    (tmp_path / "names.txt").write_text("Ann\nBob\n")
    assert "config.depends_on" in run(*arguments, code=5, cwd=tmp_path).stderr
    run(*arguments, "--overwrite", cwd=tmp_path)
    assert [row["title"] for row in read_rows(tmp_path / "corpus")] == ["Cy"]
    (known,) = read_manifest(tmp_path / "corpus")["config"]["depends_on"]
    assert known["name"] == "names.txt"
    assert "no such file" in run(*arguments, "--depends-on", "gone.txt", code=2, cwd=tmp_path).stderr


def test_a_worker_with_another_content_of_a_file_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Ann\n")
    (name, path, sha256), *_ = named_files(tmp_path / "names.txt", "depends_on")
    filtering.check_dependencies(((name, path, sha256),))
    filtering.check_dependencies.cache_clear()
    (tmp_path / "names.txt").write_text("Bob\n")
    extract = Extract(tmp_path / "out", CorpusConfig(depends_on=((name, path, sha256),)), 1)
    with pytest.raises(ResumeError, match=r"`depends_on` names.txt has changed"):
        extract(Task(0, "text", ()))


def test_ids_of_a_list_are_dropped(run: Run, tmp_path: Path) -> None:
    """Written as the corpus has them, or without the source; ids that match nothing are counted at the end."""
    rows = [{"id": name, "text": f"The tea of {name} is ready. It is hot."} for name in ("ann", "bob", "cy", "dan")]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "ids.txt").write_text("\ufefftext:in.jsonl:ann\r\n\r\n  in.jsonl:bob \nnobody\n", encoding="utf-8")
    arguments = ["build-corpus", "--text", "in.jsonl", "--id-column", "id", "--exclude-ids", "ids.txt", "--output", "corpus"]
    said = run(*arguments, cwd=tmp_path).stdout
    kept = [row["id"] for row in read_rows(tmp_path / "corpus")]
    assert kept == ["text:in.jsonl:cy", "text:in.jsonl:dan"]
    assert "exclude-ids: 3 ids listed, 2 documents dropped" in said and "1 id matched no document" in said
    explained = run("inspect", "corpus", "--explain", "text:in.jsonl:ann", cwd=tmp_path).stdout
    assert "was dropped: excluded id" in explained
    with (tmp_path / "ids.txt").open("a") as file:
        file.write("in.jsonl:cy\n")
    assert "config.exclude_ids" in run(*arguments, code=5, cwd=tmp_path).stderr
    run(*arguments, "--overwrite", "--workers", 2, cwd=tmp_path)
    assert [row["id"] for row in read_rows(tmp_path / "corpus")] == ["text:in.jsonl:dan"]
    (tmp_path / "ids.txt").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in run(*arguments, "--overwrite", code=2, cwd=tmp_path).stderr
