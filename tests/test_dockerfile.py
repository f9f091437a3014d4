"""The images: what is copied exists and is sent, versions are pinned, nobody runs as root; and the services of compose.yaml."""

from __future__ import annotations

import re
import shlex

import images
import pytest
from conftest import REPOSITORY

yaml = pytest.importorskip("yaml")

IMAGES = ("Dockerfile", "pipelines/dataflow/Dockerfile")
KNOWN = {"FROM", "COPY", "RUN", "WORKDIR", "ENV", "ARG", "USER", "ENTRYPOINT", "CMD"}


def _steps(text: str) -> list[tuple[str, list[str]]]:
    """Return the instructions of a Dockerfile, each with its words."""
    return [(name, shlex.split(rest)) for name, rest in images.steps(text)]


def _sources(steps: list[tuple[str, list[str]]]) -> list[str]:
    return [word for name, words in steps if name == "COPY" and not words[0].startswith("--from") for word in words[:-1]]


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_is_made_of_what_there_is_and_of_pinned_versions(name: str) -> None:
    steps = _steps((REPOSITORY / name).read_text(encoding="utf-8"))
    assert {step for step, _ in steps} <= KNOWN and steps[0][0] in ("FROM", "ARG")
    for source in _sources(steps):
        assert list(REPOSITORY.glob(source)), f"{name} copies {source}, which is not there"
    installs = [words for step, words in steps if step == "RUN" and "install" in words]
    assert installs and all("--constraint" in words and "constraints.txt" in words for words in installs)
    stages = {words[2] for step, words in steps if step == "FROM" and len(words) == 3}
    taken = {words[0].partition("=")[2] for step, words in steps if step == "COPY" and words[0].startswith("--from")}
    assert taken == stages
    extras = set(re.findall(r"\.\[([\w,]+)\]", " ".join(installs[0])).pop().split(","))
    assert all(f"{extra} = [" in (REPOSITORY / "pyproject.toml").read_text() for extra in extras)


def test_the_image_has_two_stages_and_a_user_without_rights() -> None:
    steps = _steps((REPOSITORY / "Dockerfile").read_text(encoding="utf-8"))
    froms = [at for at, (name, _) in enumerate(steps) if name == "FROM"]
    last = steps[froms[-1] :]
    assert len(froms) == 2 and not any(name == "COPY" and not words[0].startswith("--from") for name, words in last)
    users = [words[0] for name, words in last if name == "USER"]
    made = " ".join(word for name, words in last if name == "RUN" for word in words)
    assert users == re.findall(r"useradd .*--uid (\d+)", made), "a number: Kubernetes cannot tell whether a name is root's"
    assert [name for name, _ in last if name in ("USER", "ENTRYPOINT")] == ["USER", "ENTRYPOINT"]
    assert all(":" in words[0] and not words[0].endswith(":latest") for name, words in steps if name == "FROM")


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_does_not_run_where_its_source_lies(name: str) -> None:
    """`python -m` would find bertdata there, without its pipelines, in place of the one that is installed."""
    last, held = "/", set()
    for step, words in _steps((REPOSITORY / name).read_text(encoding="utf-8")):
        if step == "WORKDIR":
            (last,) = words
        elif step == "COPY" and "bertdata" in words:
            held.add(last)
    assert held and last not in held


def test_what_is_copied_is_sent_to_the_builder() -> None:
    patterns = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").split()
    for name in IMAGES:
        for source in _sources(_steps((REPOSITORY / name).read_text(encoding="utf-8"))):
            assert images.is_sent(source, patterns), f".dockerignore hides {source} of {name}"
    assert images.is_sent("bertdata/cli/__init__.py", patterns)
    assert not any(images.is_sent(path, patterns) for path in (".git/config", "tests/images.py", "bertdata/io/__pycache__/a.pyc"))


def test_compose_has_a_store_and_two_workers_that_nobody_outside_reaches() -> None:
    made = yaml.safe_load((REPOSITORY / "compose.yaml").read_text(encoding="utf-8"))
    services = made["services"]
    assert services["worker"]["deploy"]["replicas"] == 2 and "--nthreads" in services["worker"]["command"]
    for name, service in services.items():
        assert set(service.get("depends_on", [])) <= set(services), name
        assert set(service["networks"]) <= set(made["networks"]), name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        assert ":" in service["image"] or service["image"] == "bertdata", name
        assert "root" not in str(service.get("user", "")) and not service.get("privileged"), name
    assert [name for name, service in services.items() if "build" in service] == ["bucket"], (
        "Compose builds them at the same time"
    )
    assert services["scheduler"]["depends_on"]["bucket"]["condition"] == "service_completed_successfully"
    assert made["networks"]["inside"]["internal"] is True
    assert [name for name, service in services.items() if "outside" in service["networks"]] == ["store"]
    pinned = re.search(r"^moto==(\S+)", (REPOSITORY / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned and services["store"]["image"] == f"motoserver/moto:{pinned[1]}"
    address = services["worker"]["command"][-1]
    assert address == "tcp://scheduler:8786" and address in (REPOSITORY / "compose.yaml").read_text().split("x-bertdata")[0]
