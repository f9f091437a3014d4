"""Describe the contents of a dataset as text, pictures and pages.

`bertdata.report` is this package and, as every command, a function: a call writes the page of `bertdata report`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """The package under the name of the function that it holds."""

    @property
    def __wrapped__(self) -> Any:
        from .page.write import report

        return report

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Write the report of datasets: see `page.write.report`."""
        return self.__wrapped__(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
