"""A Hugging Face Hub on this machine that takes datasets: what it was sent, what is missing of it, and failures as told."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from loopback import Quiet, listening

LARGE = (".arrow", ".parquet", ".bin", ".mds")
_OF_DATASETS = ("/api/repos/", "/api/datasets/", "/api/validate-yaml", "/datasets/")  # the addresses that this Hub has
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """One dataset: files by name, objects that were sent by digest, tokens that came, and what is to fail.

    tokens: each that came -> the path of the first request that had it; the empty one is of requests without.
    fails: parts of addresses -> how many of the next requests there are answered with 501.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.objects: dict[str, bytes] = {}
        self.sent: list[str] = []  # digests of objects, and names of small files, as they came
        self.tokens: dict[str, str] = {}
        self.fails: dict[str, int] = {}
        self.private: Any = None
        self.commits: list[list[str]] = []
        self.url = ""

    @property
    def environment(self) -> dict[str, str]:
        """What sends huggingface_hub here, with a token."""
        names = ("HF_HUB_DISABLE_XET", "HF_HUB_DISABLE_TELEMETRY")
        token = {"HF_TOKEN": "hf_secretsecretsecret", "HF_HUB_OFFLINE": "0"}
        return {"HF_ENDPOINT": self.url, "NO_PROXY": "127.0.0.1", **token, **dict.fromkeys(names, "1")}

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Answer a request with a status, headers and a body."""
        path = unquote(urlsplit(target).path)
        for part, left in self.fails.items():
            if part in path and left:
                self.fails[part] -= 1
                return 501, {}, b"no"
        if path.startswith("/store/"):
            self.objects[path.removeprefix("/store/")] = body
            self.sent.append(path.removeprefix("/store/"))
            return 200, {}, b""
        if not path.startswith(_OF_DATASETS):  # telemetry, or a client of an earlier server on the same port
            return 404, {}, b""
        self.tokens.setdefault(headers.get("authorization", ""), path)
        if found := re.fullmatch(r"/datasets/.+/resolve/[^/]+/(.+)", path):
            return self._file(found[1])
        told = json.loads(body) if body and "/commit/" not in path else {}
        return 200, {}, json.dumps(self._api(path, told, body)).encode()

    def _api(self, path: str, told: dict[str, Any], body: bytes) -> Any:
        if path == "/api/repos/create":
            self.private = told.get("private", told.get("visibility"))
            return {"url": f"{self.url}/datasets/{told.get('organization', 'ada')}/{told['name']}"}
        if "/preupload/" in path:
            return {"files": [self._mode(file["path"]) for file in told["files"]]}
        if path.endswith("/info/lfs/objects/batch"):
            return {"transfer": "basic", "objects": [self._object(one["oid"], one["size"]) for one in told["objects"]]}
        if "/commit/" in path:
            return self._commit([json.loads(line) for line in body.splitlines()])
        if "/tree/" in path:
            return [self._entry(name, data) for name, data in sorted(self.files.items())]
        return {"errors": [], "warnings": []}

    def _mode(self, name: str) -> dict[str, Any]:
        mode = "lfs" if name.endswith(LARGE) else "regular"
        return {"path": name, "uploadMode": mode, "shouldIgnore": False}

    def _object(self, digest: str, size: int) -> dict[str, Any]:
        actions = {} if digest in self.objects else {"actions": {"upload": {"href": f"{self.url}/store/{digest}"}}}
        return {"oid": digest, "size": size, **actions}

    def _commit(self, lines: list[dict[str, Any]]) -> dict[str, Any]:
        names = []
        for line in lines:
            value, name = line["value"], line["value"].get("path", "")
            if line["key"] == "lfsFile":
                self.files[name] = self.objects[value["oid"]]
            elif line["key"] == "file":
                self.files[name] = base64.b64decode(value["content"])
                self.sent.append(name)
            elif line["key"] == "deletedFile":
                del self.files[name]
            names += [name] if name else []
        self.commits.append(names)
        return {"commitUrl": f"{self.url}/datasets/ada/rows/commit/{COMMIT}", "commitOid": COMMIT, "success": True}

    def _entry(self, name: str, data: bytes) -> dict[str, Any]:
        oid = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        large = {"lfs": {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}}
        return {"type": "file", "oid": oid, "size": len(data), "path": name, **(large if name.endswith(LARGE) else {})}

    def _file(self, name: str) -> tuple[int, dict[str, str], bytes]:
        if name not in self.files:
            return 404, {"X-Error-Code": "EntryNotFound"}, b"{}"
        told = {"ETag": f'"{hashlib.sha1(self.files[name]).hexdigest()}"', "X-Repo-Commit": COMMIT}
        return 200, told, self.files[name]


@contextlib.contextmanager
def serving() -> Iterator[Hub]:
    """Run a Hub without a file."""
    hub = Hub()

    class Handler(Quiet):
        def do_GET(self) -> None:
            body = self._body()
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, told, answer = hub.answer(self.command, self.path, headers, body)
            self.reply(status, {"Content-Type": "application/json", **told}, answer, 0 if self.command == "HEAD" else None)

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding", "") != "chunked":
                return self.rfile.read(int(self.headers.get("content-length") or 0))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        do_HEAD = do_POST = do_PUT = do_GET

    with listening(Handler) as hub.url:
        yield hub
