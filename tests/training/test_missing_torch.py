"""Without PyTorch the Python API names the extra in one error, not in two."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_a_missing_package_is_one_error() -> None:
    code = "import sys; sys.modules['torch'] = None\nimport bertdata\nbertdata.batches"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert failed.stderr.count("Traceback") == 1 and "During handling" not in failed.stderr
    last = failed.stderr.splitlines()[-1]
    assert "needs PyTorch: " in last and "pip install" in last
