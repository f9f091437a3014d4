"""Tests leave the user's home alone."""

from __future__ import annotations

import os
import pwd
from pathlib import Path


def test_home_is_temporary() -> None:
    assert Path.home() != Path(pwd.getpwuid(os.getuid()).pw_dir)
