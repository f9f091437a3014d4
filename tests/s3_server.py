"""An object store on this machine that speaks as much of S3 as reading takes, as far away as told, and drops connections."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from loopback import Quiet, listening

if TYPE_CHECKING:
    import pytest

BUCKET = "bucket"


def environment(url: str) -> dict[str, str]:
    """Return the variables by which s3fs and boto3 find a store at this address."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "something",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


def reach(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    """Let s3fs find a store in this process; file systems that other tests have made, and s3fs keeps, look for their own."""
    import s3fs

    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()


class Bucket:
    """Objects by key: bytes, or files of this machine.

    latency: seconds before each answer.  drops: keys -> answers that end after a third of their body.  fetched: bytes by key.
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes | Path] = {}
        self.latency = 0.0
        self.drops: Counter[str] = Counter()
        self.fetched: Counter[str] = Counter()
        self.requests = 0
        self.url = ""
        self.mutex = threading.Lock()

    def put(self, root: Path, prefix: str) -> None:
        """Store the files below a directory."""
        for path in root.rglob("*"):
            if path.is_file() and ".bertdata" not in path.parts:
                self.objects[f"{prefix}/{path.relative_to(root).as_posix()}"] = path

    def answer(self, method: str, target: str, span: str) -> tuple[int, dict[str, str], bytes, int]:
        """Return status, headers, body, and how many bytes of it are sent."""
        time.sleep(self.latency)
        parts = urlsplit(target)
        key, query = unquote(parts.path).removeprefix(f"/{BUCKET}").lstrip("/"), parse_qs(parts.query)
        with self.mutex:
            self.requests += 1
        if not key and "list-type" in query:
            body = self._list(query.get("prefix", [""])[0], query.get("delimiter", [""])[0])
            return 200, {"Content-Type": "application/xml"}, body, len(body)
        if (found := self.objects.get(key)) is None:
            return 404, {}, b"" if method == "HEAD" else b"<Error><Code>NoSuchKey</Code></Error>", 100
        size = len(found) if isinstance(found, bytes) else found.stat().st_size
        told = {"ETag": f'"{hashlib.md5(key.encode()).hexdigest()}"', "Last-Modified": "Mon, 02 Nov 2026 10:00:00 GMT"}
        if method == "HEAD":
            return 200, {**told, "Content-Length": str(size)}, b"", 0
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", span)
        first, end = (int(asked[1]), min(int(asked[2] or size - 1), size - 1) + 1) if asked else (0, size)
        if isinstance(found, bytes):
            body = found[first:end]
        else:
            with found.open("rb") as file:
                file.seek(first)
                body = file.read(end - first)
        with self.mutex:
            dropped, self.drops[key] = self.drops[key] > 0, self.drops[key] - 1
            self.fetched[key] += 0 if dropped else len(body)
        told |= {"Content-Range": f"bytes {first}-{end - 1}/{size}"} if asked else {}
        return 206 if asked else 200, told, body, len(body) // 3 if dropped else len(body)

    def _list(self, prefix: str, delimiter: str) -> bytes:
        keys = sorted(key for key in self.objects if key.startswith(prefix))
        folders = {key[: key.index(delimiter, len(prefix)) + 1] for key in keys if delimiter and delimiter in key[len(prefix) :]}
        own = [key for key in keys if not any(key.startswith(folder) for folder in folders)]
        sizes = {key: len(o) if isinstance(o := self.objects[key], bytes) else o.stat().st_size for key in own}
        found = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{sizes[key]}</Size><ETag>x</ETag><StorageClass>STANDARD</StorageClass>"
            "<LastModified>2026-11-02T10:00:00.000Z</LastModified></Contents>"
            for key in own
        )
        found += "".join(f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in sorted(folders))
        head = f"<Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(own) + len(folders)}</KeyCount>"
        space = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
        return f"<ListBucketResult {space}>{head}<IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode()


@contextlib.contextmanager
def serving() -> Iterator[Bucket]:
    """Run a store with one empty bucket."""
    bucket = Bucket()

    class Handler(Quiet):
        def do_GET(self) -> None:
            status, headers, body, sent = bucket.answer(self.command, self.path, self.headers.get("range", ""))
            self.reply(status, headers, body, sent)
            self.close_connection = self.close_connection or sent < len(body)

        do_HEAD = do_GET

    with listening(Handler) as bucket.url:
        yield bucket


@contextlib.contextmanager
def serving_here(monkeypatch: pytest.MonkeyPatch, pairs: Path) -> Iterator[Bucket]:
    """Run a store that holds a data set under ``pairs/``, and let s3fs find it in this process."""
    with serving() as bucket:
        bucket.put(pairs, "pairs")
        reach(monkeypatch, environment(bucket.url))
        yield bucket
