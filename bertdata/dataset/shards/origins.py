"""Name the source and language of rows: shards store a number, and the manifest lists what the numbers mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..manifest_types import PairsManifest

__all__ = ["Origin", "Origins"]

Array = npt.NDArray[Any]


class Origin(NamedTuple):
    """The source and language of rows, both empty if they are unknown. A row has those of its first document."""

    source: str
    language: str


class Origins:
    """The origins of several directories of rows, and `names`, the sorted list of them.

    Rows of earlier versions store no number, which reads as 0. They count as their corpus' only source and language, or as
    ``Origin("", "")`` if it has several.
    """

    def __init__(self, manifests: Sequence[PairsManifest]) -> None:
        listed = [_listed(contents) for contents in manifests]
        self.names = sorted({origin for names in listed for origin in names})
        self._numbers = [np.array([self.names.index(origin) for origin in names], np.uint16) for names in listed]

    def of(self, stored: Array, directories: Array) -> Array:
        """Return the index in `names` of rows [B] with these stored numbers. Raise IndexError for a number without a meaning."""
        origins = np.empty_like(stored)
        for directory, numbers in enumerate(self._numbers):
            here = directories == directory
            origins[here] = numbers[stored[here]]
        return origins


def _listed(contents: PairsManifest) -> list[Origin]:
    """Return the origins of a directory in the order of their numbers."""
    named = contents.origins or [(source, code) for source, codes in (contents.tokens or {}).items() for code in codes]
    return [Origin(*each) for each in named] if contents.origins or len(named) == 1 else [Origin("", "")]
