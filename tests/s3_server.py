"""An object store on this machine that speaks as much of S3 as bertdata uses; far away, slow or failing as told; it counts."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

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
        "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
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
    faults: the share of requests of which one half are refused as too many, and the other take `slow` seconds longer.  counts,
    moved: requests and bytes of their bodies, by phase, which the client sets, and kind: GET, RANGE, HEAD, LIST, PUT, COPY, POST,
    DELETE; and AHEAD for a RANGE of a key in which `ahead` is found.
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes | Path] = {}
        self.latency = 0.0
        self.drops: Counter[str] = Counter()
        self.fetched: Counter[str] = Counter()
        self.requests = 0
        self.faults, self.slow, self.chance = 0.0, 1.0, random.Random(5)
        self.phase, self.ahead = "", ""
        self.counts: Counter[tuple[str, str]] = Counter()
        self.moved: Counter[tuple[str, str]] = Counter()
        self.written: Counter[str] = Counter()  # how often a key was
        self.parts: dict[str, dict[int, bytes]] = {}
        self.url = ""
        self.mutex = threading.Lock()

    def put(self, root: Path, prefix: str) -> None:
        """Store the files below a directory."""
        for path in root.rglob("*"):
            if path.is_file() and ".bertdata" not in path.parts:
                self.objects[f"{prefix}/{path.relative_to(root).as_posix()}"] = path

    def answer(self, method: str, target: str, span: str) -> tuple[int, dict[str, str], bytes, int]:
        """Return status, headers, body, and how many bytes of it are sent."""
        key, query = _asked(target)
        kind = _kind(method, query, {"range": span})
        kind = "AHEAD" if kind == "RANGE" and self.ahead and re.search(self.ahead, key) else kind
        if not self._admits(kind):
            return _REFUSED
        if not key and "list-type" in query:
            body = self._list(query.get("prefix", [""])[0], query.get("delimiter", [""])[0])
            return 200, {"Content-Type": "application/xml"}, body, len(body)
        if (found := self.objects.get(key)) is None:
            return 404, {}, b"" if method == "HEAD" else b"<Error><Code>NoSuchKey</Code></Error>", 100
        size = len(found) if isinstance(found, bytes) else found.stat().st_size
        told = {"ETag": self._etag(key), "Last-Modified": "Mon, 02 Nov 2026 10:00:00 GMT"}
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
        self._note(kind, len(body))
        with self.mutex:
            dropped, self.drops[key] = self.drops[key] > 0, self.drops[key] - 1
            self.fetched[key] += 0 if dropped else len(body)
        told |= {"Content-Range": f"bytes {first}-{end - 1}/{size}"} if asked else {}
        return 206 if asked else 200, told, body, len(body) // 3 if dropped else len(body)

    def change(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, str], bytes, int]:
        """Do a PUT, POST or DELETE; return what `answer` does."""
        key, query = _asked(target)
        kind = _kind(method, query, headers)
        if not self._admits(kind):
            return _REFUSED
        self._note(kind, len(body))
        upload = query.get("uploadId", [""])[0]
        said, status, told = b"", 200, {"ETag": f'"{hashlib.md5(body).hexdigest()}"'}
        with self.mutex:
            if "delete" in query:
                for gone in re.findall(r"<Key>(.*?)</Key>", body.decode(), re.DOTALL):
                    self.objects.pop(unescape(gone), None)
                said = b"<DeleteResult/>"
            elif method == "DELETE":
                status = 204
                self.objects.pop(key, None) if not upload else self.parts.pop(upload, None)
            elif "uploads" in query:
                self.parts[upload := str(len(self.counts) + self.requests)] = {}
                said = f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>".encode()
            elif "partNumber" in query:
                self.parts[upload][int(query["partNumber"][0])] = body
            else:
                source = unquote(headers.get("x-amz-copy-source", "")).lstrip("/").removeprefix(f"{BUCKET}/")
                whole = b"".join(part for _, part in sorted(self.parts.pop(upload).items())) if upload else body
                self.objects[key] = self.objects[source] if source else whole
                self.written[key] += 1
                told = {"ETag": self._etag(key)}
                said = b"<CopyObjectResult><ETag>x</ETag></CopyObjectResult>" if source else b""
                said = b"<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>" if upload else said
        return status, told, said, len(said)

    def _etag(self, key: str) -> str:
        version = f"{key} {self.written[key]}" if self.written[key] else key
        return f'"{hashlib.md5(version.encode()).hexdigest()}"'

    def _admits(self, kind: str) -> bool:
        """Count a request, and wait; tell whether it is answered at all."""
        with self.mutex:
            self.requests += 1
            self.counts[self.phase, kind] += 1
            fate = self.chance.random()
        time.sleep(self.latency + self.slow * (self.faults / 2 <= fate < self.faults))
        return fate >= self.faults / 2

    def _note(self, kind: str, size: int) -> None:
        with self.mutex:
            self.moved[self.phase, kind] += size

    def _list(self, prefix: str, delimiter: str) -> bytes:
        keys = sorted(key for key in list(self.objects) if key.startswith(prefix))
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


_REFUSED = 503, {"Content-Type": "application/xml"}, b"<Error><Code>SlowDown</Code></Error>", 100


def _asked(target: str) -> tuple[str, dict[str, list[str]]]:
    """Return the key and the query of a request."""
    parts = urlsplit(target)
    path = unquote(parts.path).removeprefix(f"/{BUCKET}").lstrip("/")
    return path, parse_qs(parts.query, keep_blank_values=True)


def _kind(method: str, query: Mapping[str, object], headers: Mapping[str, str]) -> str:
    """Say what a request is for those who send the bill."""
    if method == "GET":
        return "LIST" if "list-type" in query else "RANGE" if headers.get("range") else "GET"
    return "DELETE" if "delete" in query else "COPY" if headers.get("x-amz-copy-source") else method


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

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if phase := self.headers.get("x-phase"):  # of the client's work from here on: no request of S3
                bucket.phase = phase
                self.reply(200, {}, b"")
            else:
                self.reply(*bucket.change(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))

        do_POST = do_DELETE = do_PUT

    with listening(Handler) as bucket.url:
        yield bucket


@contextlib.contextmanager
def serving_here(monkeypatch: pytest.MonkeyPatch, pairs: Path) -> Iterator[Bucket]:
    """Run a store that holds a dataset under ``pairs/``, and let s3fs find it in this process."""
    with serving() as bucket:
        bucket.put(pairs, "pairs")
        reach(monkeypatch, environment(bucket.url))
        yield bucket
