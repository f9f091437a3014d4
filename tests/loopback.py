"""A server on this machine that misbehaves as told: it cuts, lies, sends a wrong byte, ignores Range, changes files."""

from __future__ import annotations

import contextlib
import email.utils
import hashlib
import http.server
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Answer:
    """How one request is answered, other than by the whole truth."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None  # in place of the file
    cut: int | None = None  # bytes of the body that are sent before the connection is cut
    length: int | None = None  # the Content-Length that is claimed; -1 for none
    ignore_range: bool = False
    slow: float = 0.0  # seconds for each tenth of the body
    shift: int = 0  # added to where a Content-Range says that it begins


class Server:
    """Files by path, misbehaviour by path for the requests to come, and a record of what was asked."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.etags = True
        self.script: dict[str, list[Answer]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.at_once = self.most_at_once = 0
        self.url = ""
        self.mutex = threading.Lock()

    def ranges(self, path: str) -> list[str]:
        """List the Range headers of the requests for a path."""
        return [headers.get("range", "") for asked, headers in self.asked if asked.partition("?")[0] == path]

    def answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        """Answer a GET or HEAD."""
        path, asked = handler.path.partition("?")[0], {name.lower(): value for name, value in handler.headers.items()}
        with self.mutex:
            self.asked.append((handler.path, asked))
            script = self.script.get(path, [])
            how = script.pop(0) if script else Answer()
            found = self.files.get(path)
        if found is None and how.status == 200:
            how = Answer(404)
        whole = found if how.status == 200 and found is not None else b"no\n"
        body, status = whole if how.body is None else how.body, how.status
        etag = f'"{hashlib.md5(body).hexdigest()}"'
        headers = {"Last-Modified": email.utils.formatdate(1_700_000_000 + len(body), usegmt=True)}
        if self.etags:
            headers["ETag"] = etag
        span = re.fullmatch(r"bytes=(\d+)-", asked.get("range", ""))
        if span and status == 200 and not how.ignore_range and asked.get("if-range") in (None, *headers.values()):
            start = int(span[1])
            status, body = (206, body[start:]) if start < len(body) else (416, b"")
            headers["Content-Range"] = f"bytes {start + how.shift}-{len(whole) - 1}/{len(whole)}"
        if how.length != -1:
            headers["Content-Length"] = str(len(body) if how.length is None else how.length)
        handler.send_response(status)
        for name, value in {**headers, **how.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        if handler.command == "GET":
            self.send(handler, body if how.cut is None else body[: how.cut], how.slow)

    def send(self, handler: http.server.BaseHTTPRequestHandler, body: bytes, slow: float) -> None:
        """Send a body, at once or slowly, and count how many are being sent.

        One is no longer counted before its last piece is sent: who has that piece may ask for the next body at once.
        """
        step = max(1, len(body) // 10) if slow else max(1, len(body))
        pieces = [body[start : start + step] for start in range(0, len(body), step)]
        with self.mutex:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            for piece in pieces[:-1]:
                time.sleep(slow)
                handler.wfile.write(piece)
                handler.wfile.flush()
            time.sleep(slow)
        except OSError:
            return  # the client went away
        finally:
            with self.mutex:
                self.at_once -= 1
        with contextlib.suppress(OSError):
            handler.wfile.write(b"".join(pieces[-1:]))
            handler.wfile.flush()


@contextlib.contextmanager
def listening(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """Answer requests on a free port of this machine; yield the address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Quiet(http.server.BaseHTTPRequestHandler):
    """A handler that keeps connections open, and logs nothing."""

    protocol_version = "HTTP/1.1"

    def reply(self, status: int, headers: dict[str, str], body: bytes, sent: int | None = None) -> None:
        """Send an answer, of whose body only so many bytes; `headers` may tell of another length."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body[:sent])

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """Run a server on a free port of this machine."""
    server = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.answer(self)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with listening(Handler) as server.url:
        yield server
