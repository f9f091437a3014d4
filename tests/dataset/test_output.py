"""Output directories: refused, begun, gone on with, replaced."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bertdata.dataset import manifest
from bertdata.dataset.build import STATE, building, is_complete
from bertdata.dataset.differences import differences
from bertdata.dataset.manifest import NAME
from bertdata.dataset.tasks import FilesReport, InputRange, count_done, leftovers, perform
from bertdata.errors import OutputExistsError, OutputLockedError, ResumeError, StorageError
from bertdata.storage.files import TEMPORARY_PREFIX, digest, read_json, write_json, write_text
from bertdata.storage.lock import lock

IDENTITY: dict[str, Any] = {
    "command": "build-corpus",
    "config": {"seed": 1, "mix": "a"},
    "inputs": [{"name": "a.xml", "bytes": 10}, {"name": "b.xml", "bytes": 20}],
}
OTHER = {**IDENTITY, "command": "x"}


def _finish(directory: Path, text: str = "first", identity: dict[str, Any] = IDENTITY, **how: bool) -> None:
    with building(directory, identity, **how) as root:
        write_text(root / "data" / "train-00000-of-00001.arrow", text)
        write_json(root / NAME, {"text": text})


def _begin(directory: Path, name: str = "data/part", identity: dict[str, Any] = IDENTITY, **how: bool) -> Path:
    """Begin a run that ends when it has written a file; return where it builds."""
    with building(directory, identity, **how) as root:
        write_text(root / name, "done so far")
        write_text(root / STATE / "tasks" / "extract" / "00000.json", "{}")
    return root


def _content(directory: Path) -> dict[str, str]:
    """What a reader of the directory sees: names and text, the state left out."""
    paths = (path.relative_to(directory) for path in directory.rglob("*") if path.is_file())
    return {path.as_posix(): (directory / path).read_text() for path in paths if path.parts[0] != STATE}


def _state(directory: Path) -> list[str]:
    return sorted(os.listdir(directory / STATE))


WHOLE = {"data/train-00000-of-00001.arrow": "first", NAME: '{\n "text": "first"\n}\n'}
AT_REST = ["commit", "lock", "run.json"]  # what the state of a finished dataset holds


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "corpus"


def _beside(directory: Path) -> list[str]:
    return sorted(os.listdir(directory.parent))


def test_a_new_directory_is_begun_under_a_lock(directory: Path) -> None:
    with building(directory, IDENTITY) as root:
        assert root.parent == directory / STATE
        assert read_json(root / STATE / "run.json") == IDENTITY
        for how in ({}, {"overwrite": True}):
            with pytest.raises(OutputLockedError), building(directory, IDENTITY, **how):
                pass
    assert not is_complete(directory)
    _finish(directory)
    assert _content(directory) == WHOLE and _beside(directory) == ["corpus"]
    assert _state(directory) == AT_REST and read_json(directory / STATE / "run.json") == IDENTITY


def test_an_empty_directory_is_used(directory: Path) -> None:
    directory.mkdir()
    _finish(directory)
    assert _content(directory) == WHOLE


@pytest.mark.parametrize("how", [{}, {"overwrite": True}])
def test_what_is_not_ours_is_refused_and_untouched(directory: Path, how: dict[str, bool]) -> None:
    directory.mkdir()
    (directory / "thesis.tex").write_text("years of work")
    with (
        pytest.raises(OutputExistsError, match=r"thesis\.tex.*choose another `output`") as caught,
        building(directory, IDENTITY, **how),
    ):
        pass
    assert caught.value.exit_code == 5
    assert _content(directory) == {"thesis.tex": "years of work"}
    assert not (directory / STATE).exists()


@pytest.mark.parametrize("how", [{}, {"overwrite": True}])
def test_a_data_directory_of_another_tool_is_refused(directory: Path, how: dict[str, bool]) -> None:
    """``data/`` and ``README.md`` are our names too, but no manifest and no state say that we wrote them."""
    write_text(directory / "data" / "measurements.csv", "1,2")
    with pytest.raises(OutputExistsError, match="not a bertdata dataset"), building(directory, IDENTITY, **how):
        pass
    assert _content(directory) == {"data/measurements.csv": "1,2"}


def test_our_finished_directory_with_a_strange_file_is_refused(directory: Path) -> None:
    _finish(directory)
    (directory / "notes.txt").write_text("mine")
    with pytest.raises(OutputExistsError, match=r"notes\.txt"), building(directory, IDENTITY, overwrite=True):
        pass
    assert _content(directory) == {**WHOLE, "notes.txt": "mine"}


def test_a_file_in_its_place_is_refused(directory: Path) -> None:
    directory.write_text("a file")
    for how in ({}, {"overwrite": True}):
        with pytest.raises(OutputExistsError, match="is a file"), building(directory, IDENTITY, **how):
            pass
    assert directory.read_text() == "a file"
    with pytest.raises((OutputExistsError, StorageError)), building(directory / "below", IDENTITY):
        pass


def test_the_same_run_goes_on_and_then_is_done(directory: Path) -> None:
    root = _begin(directory)
    with building(directory, {**IDENTITY, "inputs": IDENTITY["inputs"][::-1]}) as again:  # their order does not matter
        assert again == root and _content(root) == {"data/part": "done so far"}
        assert count_done(root, "extract") == 1 and count_done(root, "other") == 0
        write_json(root / NAME, {})
    with building(directory, IDENTITY) as done:
        assert done is None and is_complete(directory)
    assert _content(directory) == {"data/part": "done so far", NAME: "{}\n"} and _state(directory) == AT_REST


CHANGES = [
    ({"config": {"seed": 2, "mix": "a"}}, r"config\.seed: 1 then, 2 now"),
    ({"config": {"seed": 1}}, r"config\.mix: 'a' then, None now"),
    ({"command": "make-pairs"}, "command: 'build-corpus' then, 'make-pairs' now"),
    ({"inputs": [{"name": "a.xml", "bytes": 11}, {"name": "b.xml", "bytes": 20}]}, r"1 input has changed: a\.xml \(bytes\)"),
    ({"inputs": [{"name": "a.xml", "bytes": 10}]}, "1 input is gone: b\\.xml[;:]"),
]


@pytest.mark.parametrize(("changed", "named"), CHANGES)
def test_other_settings_name_the_difference_to_an_unfinished_run_and_its_size(
    directory: Path, changed: dict[str, Any], named: str
) -> None:
    root = _begin(directory)
    write_text(root / "data" / "large", "x" * 2_000_000)
    with (
        pytest.raises(ResumeError, match=rf"{root} \(2\.0 MB\) is an unfinished run.*{named}.*`overwrite`") as caught,
        building(directory, {**IDENTITY, **changed}),
    ):
        pass
    assert caught.value.exit_code == 5
    assert (root / "data" / "part").exists() and read_json(root / STATE / "run.json") == IDENTITY
    _finish(directory, identity={**IDENTITY, **changed}, overwrite=True)
    assert _content(directory) == WHOLE and _state(directory) == AT_REST, "with --overwrite it is removed"


@pytest.mark.parametrize(("changed", "named"), CHANGES)
def test_other_settings_name_the_difference_to_a_finished_data_set(directory: Path, changed: dict[str, Any], named: str) -> None:
    _finish(directory)
    with (
        pytest.raises(OutputExistsError, match=f"a finished dataset with other settings.*{named}.*`overwrite`") as caught,
        building(directory, {**IDENTITY, **changed}),
    ):
        pass
    assert caught.value.exit_code == 5
    assert _content(directory) == WHOLE and _state(directory) == AT_REST


def test_inputs_are_told_apart_from_settings_and_no_value_is_shown_as_a_table() -> None:
    then = [{"name": f"{name}.txt", "bytes": 1} for name in "abc"]
    now = [{"name": f"{name}.txt", "bytes": 1 + (name == "b")} for name in "bcdefghij"]
    told = differences({"inputs": then, "vocabulary": None, "n": 1}, {"inputs": now, "vocabulary": {"a": [{"b": 2}]}, "n": 2})
    assert told == [
        "7 inputs are new: d.txt, e.txt, f.txt and 4 more",
        "1 input is gone: a.txt",
        "1 input has changed: b.txt (bytes)",
        "n: 1 then, 2 now",
        "vocabulary: not set then, set now",
    ]
    assert differences({"x": "bert"}, {"x": {"a": 1}}) == ["x: 'bert' then, set now"]
    assert differences({"x": [{"a": 1}]}, {"x": [{"a": 2}, {"a": 1}]}) == ["x.0.a: 1 then, 2 now", "x.1: not set then, set now"]
    assert differences({"x": [{"a": 1}], "seen": 1}, {"x": [{"a": 1}], "seen": 2}) == []


def test_a_record_that_was_changed_is_of_another_run(directory: Path) -> None:
    root = _begin(directory)
    write_json(root / STATE / "run.json", {**IDENTITY, "command": "x"})
    with pytest.raises(ResumeError, match="command: 'x' then, 'build-corpus' now"), building(directory, IDENTITY):
        pass
    _finish(directory, overwrite=True)
    assert _content(directory) == WHOLE


def test_halves_of_files_are_swept(directory: Path) -> None:
    root = _begin(directory)
    for path in (
        root / "data" / f"{TEMPORARY_PREFIX}part-2",
        root / f"{TEMPORARY_PREFIX}{NAME}-1",
        directory / STATE / f"{TEMPORARY_PREFIX}run.json-0",
    ):
        path.write_text("ha")
    with building(directory, IDENTITY) as root:
        assert _content(root) == {"data/part": "done so far"}
        assert _state(directory) == [root.name, "lock"]


def test_what_a_worker_that_came_too_late_has_left_is_removed(directory: Path) -> None:
    """It has made its directory again, in which no run was begun."""
    root = _begin(directory)
    (root / STATE / "run.json").unlink()
    with building(directory, OTHER) as other:
        assert other != root and not root.exists() and _content(other) == {}


def test_a_run_that_has_done_nothing_leaves_nothing(directory: Path) -> None:
    with pytest.raises(RuntimeError), building(directory, IDENTITY):
        raise RuntimeError
    assert _state(directory) == ["lock"]


def test_overwrite_builds_apart_and_replaces_when_whole(directory: Path) -> None:
    _finish(directory)
    (directory / "rejects").mkdir()
    with building(directory, OTHER, overwrite=True) as root:
        write_text(root / "data" / "new", "second")
        assert _content(directory) == WHOLE
        write_json(root / NAME, {})
        assert _content(directory) == WHOLE
    assert _content(directory) == {"data/new": "second", NAME: "{}\n"} and not (directory / "rejects").exists()
    assert read_json(directory / STATE / "run.json") == OTHER
    assert _beside(directory) == ["corpus"] and _state(directory) == AT_REST


def test_overwrite_that_fails_keeps_the_old_and_goes_on(directory: Path) -> None:
    _finish(directory)
    with pytest.raises(RuntimeError), building(directory, IDENTITY, overwrite=True) as root:
        write_text(root / "data" / "new", "second")
        write_text(root / STATE / "tasks" / "extract" / "00000.json", "{}")
        raise RuntimeError
    assert _content(directory) == WHOLE
    with building(directory, IDENTITY) as done:
        assert done is None, "without --overwrite the finished dataset is what was asked for"
    assert leftovers(directory) == {str(root): sum(p.stat().st_size for p in root.rglob("*") if p.is_file())}
    with building(directory, IDENTITY, overwrite=True) as again:
        assert again == root and _content(root) == {"data/new": "second"}
        write_json(root / NAME, {})
    assert _content(directory) == {"data/new": "second", NAME: "{}\n"} and leftovers(directory) == {}


def test_overwrite_of_an_unfinished_run_of_other_settings(directory: Path) -> None:
    stale = _begin(directory, "data/stale", OTHER)
    _finish(directory, overwrite=True)
    assert _content(directory) == WHOLE and not stale.exists()


def test_data_without_a_manifest_is_replaced_only_when_asked(directory: Path) -> None:
    _finish(directory, "old")
    (directory / NAME).unlink()
    with (
        pytest.raises(OutputExistsError, match="data without a complete manifest: replace it with `overwrite`"),
        building(directory, IDENTITY),
    ):
        pass
    _finish(directory, overwrite=True)
    assert _content(directory) == WHOLE and _state(directory) == AT_REST


def test_overwrite_of_a_copy_without_state(directory: Path) -> None:
    """A dataset that came by download has a manifest, and no hidden directory."""
    write_json(directory / NAME, {"bertdata": 1})
    with pytest.raises(OutputExistsError, match="finished"), building(directory, IDENTITY):
        pass
    _finish(directory, overwrite=True)
    assert _content(directory) == WHOLE and _beside(directory) == ["corpus"]


def test_an_output_that_is_a_symlink_is_replaced_more_than_once(directory: Path) -> None:
    """``corpus -> /big/disk/corpus``, as people place large data."""
    real = directory.parent / "big" / "corpus"
    real.mkdir(parents=True)
    directory.symlink_to(real)
    _finish(directory, "zero")
    _finish(directory, "one", overwrite=True)
    _finish(directory, overwrite=True)
    assert _content(directory) == WHOLE
    assert not [name for name in _beside(directory) if name.startswith(".")]


def test_the_current_directory_as_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "corpus").mkdir()
    monkeypatch.chdir(tmp_path / "corpus")
    for how in ({}, {"overwrite": True}):
        with building(Path("."), IDENTITY, **how) as root:
            write_json(root / NAME, {})
    assert is_complete(tmp_path / "corpus")


def test_a_locked_overwrite_keeps_out_a_second(directory: Path) -> None:
    _finish(directory)
    with lock(directory / STATE / "lock"), pytest.raises(OutputLockedError), building(directory, IDENTITY, overwrite=True):
        pass
    assert _content(directory) == WHOLE


class Done(FilesReport, frozen=True, kw_only=True):
    """A report that counts."""

    n: int
    inputs: Sequence[InputRange] = ()


class Work:
    """A task that writes one file, and counts how often it was done."""

    def __init__(self, root: Path, text: str = "text") -> None:
        self.root, self.text, self.done = root, text, 0
        write_json(root / STATE / "run.json", IDENTITY)
        self.input = root.parent / "input.txt"
        if not self.input.exists():
            self.input.write_text("the input")

    def __call__(self) -> Done:
        self.done += 1
        write_text(self.root / "data" / "a", self.text)
        source = InputRange(name="", path=str(self.input), start=4, end=9, sha256=digest(self.input, 4, 9))
        return Done(files=[manifest.entry(self.root, "data/a")], inputs=[source], n=self.done)


TASK = ["books", ["input.txt", 4, 9]]


def test_a_task_is_done_once_and_its_report_remembered(directory: Path) -> None:
    work = Work(directory)
    first = perform(directory, "extract", 3, TASK, work, Done, {})
    assert perform(directory, "extract", 3, TASK, work, Done, {}) == first and work.done == 1
    assert count_done(directory, "extract") == 1
    perform(directory, "extract", 4, TASK, work, Done, {})
    perform(directory, "other", 3, TASK, work, Done, {})
    assert work.done == 3


@pytest.mark.parametrize("damage", ["missing", "changed", "cut", "record cut", "other task"])
def test_a_task_is_done_again_when_its_file_or_record_is_not_as_it_left_it(directory: Path, damage: str) -> None:
    work, task = Work(directory), TASK
    perform(directory, "extract", 0, TASK, work, Done, {})
    record = directory / STATE / "tasks" / "extract" / "00000.json"
    if damage == "missing":
        (directory / "data" / "a").unlink()
    elif damage == "changed":
        (directory / "data" / "a").write_text("texT")
    elif damage == "cut":
        (directory / "data" / "a").write_text("tex")
    elif damage == "record cut":
        record.write_bytes(record.read_bytes()[:-9])
    else:
        task = ["books", ["input.txt", 4, 8]]
    assert perform(directory, "extract", 0, task, work, Done, {}).n == 2
    assert (directory / "data" / "a").read_text() == "text"
    assert perform(directory, "extract", 0, task, work, Done, {}).n == 2 and work.done == 2


def test_a_changed_input_is_refused(directory: Path) -> None:
    work = Work(directory)
    perform(directory, "extract", 0, TASK, work, Done, {})
    work.input.write_text("THE input, longer")  # outside of the bytes read
    perform(directory, "extract", 0, TASK, work, Done, {})
    work.input.write_text("the Input")
    with pytest.raises(ResumeError, match=r"input\.txt has changed.*`overwrite`"):
        perform(directory, "extract", 0, TASK, work, Done, {})
    assert work.done == 1
    write_text(directory / STATE / "replacing", "")  # as --overwrite does
    assert perform(directory, "extract", 0, TASK, work, Done, {}).n == 2
    assert perform(directory, "extract", 0, TASK, work, Done, {}).n == 2


def test_a_removed_input_is_an_error_of_ours(directory: Path) -> None:
    work = Work(directory)
    perform(directory, "extract", 0, TASK, work, Done, {})
    work.input.unlink()
    with pytest.raises((ResumeError, StorageError), match=r"input\.txt"):
        perform(directory, "extract", 0, TASK, work, Done, {})


def test_a_failed_task_leaves_no_record(directory: Path) -> None:
    def fail() -> Done:
        raise RuntimeError("broken")

    work = Work(directory)
    with pytest.raises(RuntimeError):
        perform(directory, "extract", 0, TASK, fail, Done)
    assert count_done(directory, "extract") == 0
    assert perform(directory, "extract", 0, TASK, work, Done, {}).n == 1


def test_a_worker_that_does_not_see_the_directory_says_so_and_writes_nothing(directory: Path) -> None:
    work = Work(directory)
    with pytest.raises(StorageError, match=r"elsewhere: not found. All workers must see the input and `output`"):
        perform(directory.with_name("elsewhere"), "extract", 0, TASK, work, Done, {})
    assert work.done == 0 and not directory.with_name("elsewhere").exists()
