"""Pass values to workers in files, so that a job stays small: ``.bertdata/work/plan-NAME.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from ..codec import encode
from ..storage.files import PRIVATE_MODE, replacing
from ..storage.ranges import range_digest, read_range
from .staging import STATE

__all__ = ["StoredValue"]


class StoredValue(NamedTuple):
    """A reference to a JSON value, or to records, in a plan file of the build directory `root`."""

    root: Path
    name: str
    length: int
    digest: int

    @classmethod
    def written(cls, root: Path, name: str, value: Any) -> StoredValue:
        """Write a value and return a reference to it."""
        data = f"{json.dumps(encode(value))}\n".encode()
        with replacing(_path(root, name), PRIVATE_MODE) as file:
            file.write(data)
        return cls(root, name, len(data), range_digest(data))

    def read(self) -> Any:
        """Read the value. Raise VerificationError if it does not belong to this job."""
        return json.loads(read_range(_path(self.root, self.name), 0, self.length, self.digest))


def _path(root: Path, name: str) -> Path:
    return root / STATE / "work" / f"plan-{name}.json"
