"""The workflows of GitHub: pinned actions, few rights, and the Python versions of pyproject.toml."""

from __future__ import annotations

import re

import pytest
import yaml
from conftest import REPOSITORY

from bertdata.config.toml import tomllib

WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_digest_and_rights_are_few(path: object) -> None:
    text = path.read_text(encoding="utf-8")  # type: ignore[attr-defined]
    uses = re.findall(r"uses: (\S+)", text)
    assert uses and all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) for action in uses)
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    writers = {job for job, each in workflow["jobs"].items() if "write" in (each.get("permissions") or {}).values()}
    assert writers == ({"publish", "site"} if path.stem == "release" else set())  # type: ignore[attr-defined]
    assert "secrets." not in text, "trusted publishing needs no token"


def test_tests_run_on_each_python_of_the_package() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [found[1] for each in project["classifiers"] if (found := re.search(r"Python :: (3\.\d+)$", each))]
    jobs = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["test"]["strategy"]["matrix"]["python"] == versions
    low, high = re.findall(r"3\.(\d+)", project["requires-python"])
    assert [f"3.{minor}" for minor in range(int(low), int(high))] == versions
