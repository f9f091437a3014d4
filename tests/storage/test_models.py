"""Models of the Hugging Face Hub: which names are downloaded, and the errors without a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from bertdata.errors import UsageError
from bertdata.storage.model_directory import model_directory
from bertdata.tokens.read import read_any

hub = pytest.importorskip("huggingface_hub")


@pytest.mark.parametrize("name", ["owner/model", "a/b/c", "model", "./owner/model", "/owner/model", "vocab/vocab.txt"])
def test_paths_are_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Also if only the folder exists, because then the name is a mistyped path."""
    monkeypatch.setattr(hub, "snapshot_download", lambda *_, **__: pytest.fail("downloaded"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "owner").mkdir()
    assert model_directory(name) == Path(name)


def test_a_name_is_downloaded_without_weights_or_pickles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(hub, "snapshot_download", lambda name, **options: asked.append((name, options)) or str(tmp_path))
    assert model_directory("nobody/model") == model_directory("nobody/model", weights=True) == tmp_path
    assert [name for name, _ in asked] == ["nobody/model"] * 2
    patterns = [options["allow_patterns"] for _, options in asked]
    assert "model*.safetensors" in patterns[1] and patterns[1][:-1] == patterns[0] and ".bin" not in str(patterns)


def test_without_a_network_the_name_is_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    for read in (model_directory, read_any):
        with pytest.raises(UsageError, match="nobody/model: no such directory, and no model of that name could be downloaded"):
            read("nobody/model")
