"""The Dockerfile of workers copies files that exist, installs pinned versions and does not run as root."""

from __future__ import annotations

import re

from conftest import REPOSITORY

TEXT = (REPOSITORY / "pipelines" / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")


def test_sources_exist_and_versions_are_pinned() -> None:
    copied = [words.split()[:-1] for words in re.findall(r"^COPY (?!--from)(.*)", TEXT, re.M)]
    assert copied and all(list(REPOSITORY.glob(source)) for sources in copied for source in sources)
    installs = re.findall(r"^RUN .*pip install.*", TEXT, re.M)
    assert installs and all("--constraint constraints.txt" in line for line in installs)


def test_the_image_does_not_run_as_root() -> None:
    users = re.findall(r"^USER (\d+)$", TEXT, re.M)  # a number: Kubernetes cannot check a name
    assert users and users == re.findall(r"useradd .*--uid (\d+)", TEXT)
