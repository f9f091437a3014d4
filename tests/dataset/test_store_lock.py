"""The lock of a store that speaks S3: of several runs that take it over from a dead one, one holds it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from s3_server import Bucket, environment, reach, serving

from bertdata.errors import OutputLockedError
from bertdata.storage import files
from bertdata.storage import lock as locks
from bertdata.storage.lock import lock

pytest.importorskip("s3fs")
KEY = "corpus/.bertdata/lock"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with serving() as bucket:
        reach(monkeypatch, environment(bucket.url))
        monkeypatch.setattr(locks, "_PATIENCE", 1)
        yield bucket


def _path() -> Path:
    return files.to_path(f"s3://bucket/{KEY}")


def _held_at_once(waiters: int) -> tuple[int, int]:
    """Let threads wait for one lock; return the most that held it at a time, and how many were refused."""
    holding, most, refused = list[int](), list[int](), list[int]()

    def wait(number: int) -> None:
        try:
            with lock(_path()):
                holding.append(number)
                most.append(len(holding))
                time.sleep(1)
                holding.remove(number)
        except OutputLockedError:
            refused.append(number)

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(waiters)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(most), len(refused)


@pytest.mark.slow
def test_of_four_that_take_over_a_dead_lock_one_holds_it(store: Bucket) -> None:
    store.latency = 0.05
    for _ in range(3):
        store.objects[KEY] = b"process 1 on a dead machine, 0123abcd 17"
        assert _held_at_once(4) == (1, 3)
        assert KEY not in store.objects


def test_a_lock_that_was_taken_over_is_not_renewed_and_not_removed(store: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_RENEWED", 0.05)
    heir = b"process 2 on another machine, 4567cdef"
    with lock(_path()):
        time.sleep(0.3)
        renewed = store.objects[KEY]
        assert isinstance(renewed, bytes) and int(renewed.rpartition(b" ")[2]) > 1
        with store.mutex:
            store.objects[KEY] = heir
            store.written[KEY] += 1
        time.sleep(0.3)
    assert store.objects[KEY] == heir


def test_an_answer_that_was_lost_is_no_other_run(store: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client repeats a PUT whose answer did not come; the second one finds the key that the first one made."""
    change = store.change

    def twice(method: str, target: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes, int]:
        if headers.get("if-none-match") == "*":
            change(method, target, headers, body)
        return change(method, target, headers, body)

    monkeypatch.setattr(store, "change", twice)
    with lock(_path()):
        assert KEY in store.objects
    assert KEY not in store.objects


@pytest.mark.parametrize("conditions", [True, False])
def test_a_store_that_ignores_conditions_is_named(store: Bucket, conditions: bool, capsys: pytest.CaptureFixture[str]) -> None:
    store.conditions = conditions
    with contextlib.ExitStack() as stack:
        stack.enter_context(lock(_path()))
    warned = "two runs that write it at once are not excluded" in capsys.readouterr().err
    assert warned == (not conditions)
