"""Every example in the docstrings of `bertdata.text` shows what it says."""

import doctest
import importlib
import pkgutil

import bertdata.text

MODULES = [module.name for module in pkgutil.walk_packages(bertdata.text.__path__, "bertdata.text.")]


def test_examples() -> None:
    results = {name: doctest.testmod(importlib.import_module(name)) for name in MODULES}
    assert [name for name, result in results.items() if result.failed] == []
    assert sum(result.attempted > 0 for result in results.values()) > len(MODULES) / 2
