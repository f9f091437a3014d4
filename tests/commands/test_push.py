"""`bertdata push`: a dataset on the Hub is the one here, nothing is sent twice, and the token is in no message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import hub_server
import numpy as np
import pytest
from tiny import write_pairs

import bertdata
from bertdata.cli import cli
from bertdata.errors import OutputExistsError, StorageError, TransferError, UsageError, VerificationError

huggingface_hub = pytest.importorskip("huggingface_hub")
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=")  # of huggingface_hub's own upload
LENGTHS = {"train": [[8, 30, 64, 9], [11, 20], [40, 8, 9]], "validation": [[12, 13]]}


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "pairs", LENGTHS)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[hub_server.Hub]:
    with hub_server.serving() as found:
        for name, value in found.environment.items():
            monkeypatch.setenv(name, value)
        template = found.url + "/{repo_id}/resolve/{revision}/{filename}"
        for name, value in {"ENDPOINT": found.url, "HUGGINGFACE_CO_URL_TEMPLATE": template, "HF_HUB_DISABLE_XET": True}.items():
            monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)
        yield found


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_what_is_there_is_what_is_here_and_is_not_sent_again(hub: hub_server.Hub, pairs: Path) -> None:
    told: list[tuple[int, int]] = []
    done = bertdata.push(pairs, "ada/rows", progress=lambda done, of: told.append((done, of)))
    assert hub.files == files(pairs)
    assert (done.address, done.commit) == (f"{hub.url}/datasets/ada/rows", hub_server.COMMIT)
    assert (done.sent, done.kept) == (len(hub.files), 0) and told[-1][0] == told[-1][1]
    assert sorted(hub.commits[-1]) == ["README.md", "manifest.json"] and len(hub.commits) == 2, "the manifest comes last"
    assert hub.tokens.keys() == {"Bearer hf_secretsecretsecret"}, hub.tokens
    hub.sent.clear()
    again = bertdata.push(pairs, "ada/rows")
    assert (again.sent, again.kept, again.commit, hub.sent) == (0, len(hub.files), "", [])


@pytest.mark.slow
def test_a_push_that_breaks_continues(hub: hub_server.Hub, pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertdata.commands.push._GROUP_BYTES", 1)
    hub.fails["/commit/"] = 0
    answer = hub._commit

    def once(lines: list[dict[str, object]]) -> dict[str, object]:
        if len(hub.commits) == 2:
            hub.fails["/commit/"] = 1
        return answer(lines)

    monkeypatch.setattr(hub, "_commit", once)
    with pytest.raises(StorageError, match=r"cannot push to ada/rows: .*501.*then run the same command again") as caught:
        bertdata.push(pairs, "ada/rows")
    assert "secret" not in str(caught.value)
    assert 2 <= len(hub.files) < len(files(pairs)) and "manifest.json" not in hub.files
    done = bertdata.push(pairs, "ada/rows")
    assert hub.files == files(pairs) and done.kept >= 2
    assert len(hub.sent) == len({*hub.sent}), "nothing was sent twice"


@pytest.mark.slow
def test_push_by_the_pipeline_of_hf_xet(
    hub: hub_server.Hub, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With hf_xet, `upload_folder` takes another way: several commits from threads. This Hub stores every file in Git."""
    pytest.importorskip("hf_xet")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", False)
    monkeypatch.setattr(hub_server, "LARGE", ())
    bertdata.push(pairs, "ada/rows")
    assert hub.files == files(pairs) and sorted(hub.commits[-1]) == ["README.md", "manifest.json"]
    assert bertdata.push(pairs, "ada/rows").sent == 0 and len(hub.commits) == 2
    other = write_pairs(tmp_path / "other", {"train": [[12, 40]]}, seed=7, salt=3)
    hub.fails["/commit/"] = 99
    with pytest.raises(StorageError, match=r"cannot push to ada/rows: .*501") as caught:
        bertdata.push(other, "ada/rows", overwrite=True)
    assert "secret" not in str(caught.value)
    hub.fails.clear()
    bertdata.push(other, "ada/rows", overwrite=True)
    assert hub.files == files(other), "the files of the former dataset are deleted"


@pytest.mark.slow
def test_push_copies_a_dataset_of_a_store(hub: hub_server.Hub, pairs: Path) -> None:
    store = pytest.importorskip("upath").UPath("memory://push/pairs")
    for name, data in files(pairs).items():
        (store / name).parent.mkdir(parents=True, exist_ok=True)
        (store / name).write_bytes(data)
    done = bertdata.push(str(store), "ada/rows")
    assert hub.files == files(pairs) and done.sent == len(hub.files)
    assert bertdata.push(pairs, "ada/rows").sent == 0, "the copy here is the same dataset"


@pytest.mark.slow
def test_parquet_on_the_way(hub: hub_server.Hub, pairs: Path, tmp_path: Path) -> None:
    config = bertdata.PushConfig(format="parquet", private=True)
    done = bertdata.push(pairs, "ada/rows", config=config)
    assert hub.private in (True, "private") and done.sent == len(hub.files)
    there = tmp_path / "there"
    for name, data in hub.files.items():
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        (there / name).write_bytes(data)
    problems = bertdata.verify(there, workers=1).problems  # the stages of rows that no command has made
    assert [problem.name for problem in problems] == ["manifest.json"] and "stages" in problems[0].what
    assert sorted(path.name for path in (there / "data").iterdir() if "validation" in path.name) == [
        "validation-00000-of-00001.parquet"
    ]
    assert (
        "path: data/train-*.parquet" in (there / "README.md").read_text()
        and "split: validation" in (there / "README.md").read_text()
    )
    rows = [row["input_ids"].tolist() for row in bertdata.Shards(there)]
    assert rows == [row["input_ids"].tolist() for row in bertdata.Shards(pairs)]
    hub.sent.clear()
    assert bertdata.push(pairs, "ada/rows", config=config).sent == 0 and not hub.sent
    assert json.loads(hub.files["manifest.json"])["config"]["format"] == "parquet"
    with pytest.raises(
        OutputExistsError, match=r"ada/rows has data/train-00000-of-00003.parquet, which is not a file of .*`overwrite`"
    ):
        bertdata.push(pairs, "ada/rows")
    bertdata.push(pairs, "ada/rows", overwrite=True)
    assert hub.files == files(pairs)


@pytest.mark.slow
def test_another_data_set_is_not_replaced(hub: hub_server.Hub, pairs: Path, tmp_path: Path) -> None:
    bertdata.push(pairs, "ada/rows")
    other = write_pairs(tmp_path / "other", LENGTHS, seed=7, salt=3)
    with pytest.raises(OutputExistsError, match="ada/rows contains another dataset"):
        bertdata.push(other, "ada/rows")
    assert hub.files == files(pairs)
    bertdata.push(other, "ada/rows", overwrite=True)
    assert hub.files == files(other)


@pytest.mark.slow
def test_damage_here_and_there_is_named(hub: hub_server.Hub, pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = hub._commit

    def spoil(lines: list[dict[str, object]]) -> dict[str, object]:
        told = answer(lines)
        hub.files["data/train-00001-of-00003.arrow"] = b"x" * len(hub.files["data/train-00001-of-00003.arrow"])
        return told

    monkeypatch.setattr(hub, "_commit", spoil)
    with pytest.raises(TransferError, match=r"copy of data/train-00001-of-00003.arrow in ada/rows differs"):
        bertdata.push(pairs, "ada/rows")
    path = pairs / "data/train-00002-of-00003.arrow"
    data = np.frombuffer(path.read_bytes(), np.uint8).copy()
    data[len(data) // 2] ^= 1
    path.write_bytes(data.tobytes())
    with pytest.raises(VerificationError, match=r"train-00002-of-00003.arrow does not match the digest"):
        bertdata.push(pairs, "ada/rows")


@pytest.mark.slow
def test_an_upload_that_fails_says_why(hub: hub_server.Hub, pairs: Path) -> None:
    hub.fails["/store/"] = 99
    with pytest.raises(TransferError, match=r"cannot push to ada/rows: Error while uploading 'data/.*501.*same command again"):
        bertdata.push(pairs, "ada/rows")
    hub.fails.clear()
    bertdata.push(pairs, "ada/rows")
    assert hub.files == files(pairs)


def test_refusals(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="rows is not a name on the Hub. Use the form OWNER/NAME"):
        bertdata.push(pairs, "rows")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(UsageError, match="no token for the Hub found. Set HF_TOKEN"):
        bertdata.push(pairs, "ada/rows")


@pytest.mark.slow
def test_the_command_says_where_and_never_the_token(hub: hub_server.Hub, pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["push", str(pairs), "ada/rows", "--private"], standalone_mode=False)
    said = capsys.readouterr()
    assert f"{hub.url}/datasets/ada/rows at 0123456789ab: {len(hub.files)} files sent, 0 there already" in said.out
    cli.main(["push", str(pairs), "ada/rows"], standalone_mode=False)
    assert f"ada/rows: nothing to do, {len(hub.files)} there already" in capsys.readouterr().out
    hub.fails["/api/repos/create"] = 99
    with pytest.raises(StorageError) as caught:
        cli.main(["push", str(pairs), "ada/rows"], standalone_mode=False)
    assert "secret" not in said.out + said.err + str(caught.value)
    with pytest.raises(OutputExistsError, match="--overwrite"):
        hub.fails.clear()
        hub.files["data/other.txt"] = b"x"
        cli.main(["push", str(pairs), "ada/rows"], standalone_mode=False)
