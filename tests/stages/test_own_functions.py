"""Functions of the user edit and drop documents, and split sentences; a result that is wrong is a reject."""

from __future__ import annotations

import importlib
import json
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, Run, read_rows

from bertdata import build_corpus, inspect
from bertdata.errors import ResumeError, UsageError
from bertdata.records import Document
from bertdata.run.plan import Plan
from bertdata.run.progress import Reporter
from bertdata.storage import user_functions

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
            return document, {"x": 2}
        case "reason":
            return "not wanted"
        case "long reason":
            return "not wanted" * 7
        case "surrogate":
            return document._replace(title="\\ud800")
        case "empty":
            return document._replace(sentences=["", " "])
        case "same":
            return document._replace(sentences=["One kettle sings.", "It boils."])
        case "first":
            return document._replace(sentences=["", *document.sentences])
    return document
def after(document):
    return document
"""


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_edits_are_checked_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    module = f"edits_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{module}.py").write_text(EDITS)
    titles = ["raises", "other id", "none", "starts", "no starts", "starts of text", "numbers", "surrogate"]
    titles += ["no sentences", "empty", "same", "first", "excluded", "reason", "long reason"]
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
    assert stage.rejected == {"map-failed": 1, "no-document": 8}
    assert stage.dropped == {"excluded id": 1, "no prose": 2, "not wanted": 1}
    same, first = read_rows(tmp_path / "out")
    assert same["sentences"] == ["One kettle sings.", "It boils."]
    assert first["sentences"] == ["One kettle sings. Twice.", "It boils."]
    assert (first["paragraph_starts"], first["title"]) == ([0], "first")
    assert made.manifest.sources["text"].edits == {f"{module}:edit": 1}
    rejects = {record["id"]: record["where"] for reason in stage.rejected for record in inspect(made.path, reason=reason, n=9)}
    assert rejects["text:in.jsonl:none"] == f"{module}:edit returned NoneType, not a Document or a reason to drop it"
    assert rejects["text:in.jsonl:raises"] == f"{module}:edit: KeyError: 'oh'"


class Planned(Reporter):
    """Ends a run before it begins, with the digest of its function."""

    def plan(self, plan: Plan, workers: int | None, overwrite: bool) -> None:
        (identity,) = plan.outputs.values()
        raise UsageError(identity["config"]["functions"][0]["sha256"])


def test_a_changed_function_is_a_changed_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (module := tmp_path / "changing.py").write_text("def same(document):\n    return document\n")
    (tmp_path / "a.txt").write_text("One kettle sings. It boils.")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def digest() -> str:
        with pytest.raises(UsageError) as planned:
            build_corpus(text="a.txt", maps=["changing:same"], output="out", progress=Planned())
        return str(planned.value)

    before = digest()
    module.write_text(module.read_text() + "# changed\n")
    assert digest() != before
    with pytest.raises(ResumeError, match="its source has changed"):
        user_functions.load("changing:same", "maps", before)


def test_the_example_of_redaction_finds_contacts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(REPOSITORY / "examples")
    contacts = importlib.import_module("contacts")
    text = "Mail a.b+c@mail.example.co.uk or ring (212) 555-0123, 0171-3920014 or +44 20 7946 0958."
    plain = "Built in 1914-1918 and on 05.12.1945, ISBN 978-0-306-40615-7, 12 000 people, user@host."
    document = Document("x", "text", "en", "", "", [text, plain], [0])
    edited = contacts.redact(document)
    assert edited.sentences == ["Mail [EMAIL] or ring [PHONE], [PHONE] or [PHONE].", plain]
    assert contacts.redact(edited) == edited
    began = time.process_time()
    for evil in ("a." * 50_000, "a@" + "b." * 50_000, "+1" * 50_000, "+1 22 " * 20_000, "022 333 " * 12_000):
        contacts.redact(document._replace(sentences=[evil]))
    assert time.process_time() - began < 2


def test_functions_that_no_worker_can_import() -> None:
    functions: tuple[Any, ...] = (lambda document: None, test_functions_that_no_worker_can_import.__call__)
    for function in functions:
        with pytest.raises(UsageError, match="workers cannot import it"):
            build_corpus(text="a.txt", maps=[function], output="out")
    with pytest.raises(UsageError, match="write it as module:function"):
        build_corpus(text="a.txt", maps=["nothing"], output="out")
    with pytest.raises(UsageError, match="cannot import it"):
        build_corpus(text="a.txt", maps=["json:nothing"], output="out")


def test_ids_of_a_list_are_dropped(run: Run, tmp_path: Path) -> None:
    """Written as the corpus has them, or without the source; ids that match nothing are counted at the end."""
    rows = [{"id": name, "text": f"The tea of {name} is ready. It is hot."} for name in ("ann", "bob", "cy", "dan")]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "ids.txt").write_text("\ufefftext:in.jsonl:ann\r\n\r\n  in.jsonl:bob \nnobody\n", encoding="utf-8")
    arguments = ["build-corpus", "--text", "in.jsonl", "--id-column", "id", "--exclude-ids", "ids.txt", "--output", "corpus"]
    done = run(*arguments, cwd=tmp_path)
    kept = [row["id"] for row in read_rows(tmp_path / "corpus")]
    assert kept == ["text:in.jsonl:cy", "text:in.jsonl:dan"]
    assert "3 ids listed in" in done.stderr and "2 documents dropped" in done.stderr
    explained = run("inspect", "corpus", "--explain", "text:in.jsonl:ann", cwd=tmp_path).stdout
    assert "was dropped: excluded id" in explained
    with (tmp_path / "ids.txt").open("a") as file:
        file.write("in.jsonl:cy\n")
    assert "config.exclude_ids" in run(*arguments, code=5, cwd=tmp_path).stderr
    run(*arguments, "--overwrite", "--workers", 2, cwd=tmp_path)
    assert [row["id"] for row in read_rows(tmp_path / "corpus")] == ["text:in.jsonl:dan"]
    (tmp_path / "ids.txt").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in run(*arguments, "--overwrite", code=2, cwd=tmp_path).stderr
