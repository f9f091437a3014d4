"""Every example in the package's docstrings gives what it says."""

import doctest
import importlib
import pkgutil

import bertdata.text.wikitext

MODULES = [module.name for module in pkgutil.walk_packages(bertdata.text.wikitext.__path__, "bertdata.text.wikitext.")]


def test_examples() -> None:
    for name in MODULES:
        assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_most_modules_have_examples() -> None:
    found = [doctest.DocTestFinder().find(importlib.import_module(name)) for name in MODULES]
    assert sum(any(test.examples for test in tests) for tests in found) > len(MODULES) / 2
