"""The Dockerfiles copy files that exist, install pinned versions and don't run as root; compose.yaml exposes nothing."""

from __future__ import annotations

import re

import pytest
from conftest import REPOSITORY

yaml = pytest.importorskip("yaml")


@pytest.mark.parametrize("name", ["Dockerfile", "pipelines/dataflow/Dockerfile"])
def test_sources_exist_and_versions_are_pinned(name: str) -> None:
    text = (REPOSITORY / name).read_text(encoding="utf-8").replace("\\\n", " ")
    copied = [words.split()[:-1] for words in re.findall(r"^COPY (?!--from)(.*)", text, re.M)]
    assert copied and all(list(REPOSITORY.glob(source)) for sources in copied for source in sources)
    installs = re.findall(r"^RUN .*pip install.*", text, re.M)
    assert installs and all("--constraint constraints.txt" in line for line in installs)


def test_the_image_does_not_run_as_root() -> None:
    text = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    users = re.findall(r"^USER (\d+)$", text, re.M)  # a number: Kubernetes cannot check a name
    assert users and users == re.findall(r"useradd .*--uid (\d+)", text)


def test_nobody_outside_reaches_the_services() -> None:
    made = yaml.safe_load((REPOSITORY / "compose.yaml").read_text(encoding="utf-8"))
    assert made["networks"]["inside"]["internal"] is True
    for name, service in made["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        assert "root" not in str(service.get("user", "")) and not service.get("privileged"), name
    assert [name for name, service in made["services"].items() if "outside" in service["networks"]] == ["store"]
