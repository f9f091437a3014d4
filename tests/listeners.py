"""The sockets that a process and its descendants listen on, as Linux lists them, and a stranger who tries to connect."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from processes import Started

NOBODY = 65534
_CONNECT = f"""
import os, socket, sys
if os.geteuid() == 0:
    os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
with socket.socket(socket.AF_UNIX) as tried:
    tried.connect(sys.argv[1])
"""


class Listener(NamedTuple):
    """A listening socket: `address` is an IP address, the path of a Unix socket, or begins with @ for an abstract one."""

    family: str
    address: str
    port: int = 0


def need_proc() -> None:
    """Skip a test where the system lists no sockets."""
    if not Path("/proc/net/unix").exists():
        pytest.skip("the system does not list sockets in /proc")


def descendants(pid: int) -> list[int]:
    """List a process and all that it has started, as far as they live."""
    found = [pid]
    for each in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{each}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{each}/task/{task}/children", "rb", 0) as children:
                    found += map(int, children.read().split())
    return found


def listeners(pid: int) -> set[Listener]:
    """Return the listening sockets of a process and its descendants, and their bound UDP sockets."""
    inodes = set()
    for each in descendants(pid):
        with contextlib.suppress(OSError):
            for descriptor in os.scandir(f"/proc/{each}/fd"):
                with contextlib.suppress(OSError):
                    if (link := os.readlink(descriptor.path)).startswith("socket:"):
                        inodes.add(link)
    if not inodes:  # the system takes milliseconds to list all
        return set()
    return {found for inode, found in _of_system(pid) if f"socket:[{inode}]" in inodes}


def _of_system(pid: int) -> Iterator[tuple[str, Listener]]:
    with contextlib.suppress(OSError):
        for name, states in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
            for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
                _, local, _, state, *_ = line.split()
                if state == states:
                    address, port = local.split(":")
                    yield line.split()[9], Listener(name, _address(address), int(port, 16))
        for line in Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]:
            _, _, _, flags, _, _, inode, *path = line.split(None, 7)
            if int(flags, 16) & 0x10000:  # __SO_ACCEPTCON
                yield inode, Listener("unix", *path)


def _address(text: str) -> str:
    """Read an address as the kernel prints it: words of 32 bits, in the machine's order of bytes."""
    words = [int(text[start : start + 8], 16) for start in range(0, len(text), 8)]
    return str(ipaddress.ip_address(struct.pack(f"={len(words)}I", *words)))


def is_loopback(found: Listener) -> bool:
    """Return True if a socket listens on loopback alone."""
    address = ipaddress.ip_address(found.address)
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def machine_addresses() -> list[str]:
    """List the addresses of this machine other than those of loopback, in so far as a socket can be bound to them."""
    lines = Path("/proc/net/fib_trie").read_text().splitlines()
    pairs = zip(lines, lines[1:], strict=False)
    found = {first.split()[-1] for first, second in pairs if second.split()[:2] == ["/32", "host"]}
    for line in Path("/proc/net/if_inet6").read_text().splitlines():
        address, _, _, scope, *_ = line.split()
        if scope == "00":  # global: a local one needs its interface named
            found.add(str(ipaddress.ip_address(bytes.fromhex(address))))
    return sorted(each for each in found if not ipaddress.ip_address(each).is_loopback)


def watch(process: subprocess.Popen[str] | Started) -> set[Listener]:
    """Wait for a process to end; return all that it and its descendants listened on, tried by a stranger while it was there."""
    seen: set[Listener] = set()
    limit = time.monotonic() + 300
    while process.poll() is None:
        assert time.monotonic() < limit
        for each in listeners(process.pid) - seen:
            refuse_strangers(each)
            seen.add(each)
        time.sleep(0.01)
    return seen


def refuse_strangers(found: Listener) -> None:
    """Check that neither another user of this machine nor, through any address, another machine can connect."""
    if found.family == "unix":
        _refuse_users(found.address)
    else:
        for address in machine_addresses():
            with pytest.raises(ConnectionRefusedError), socket.create_connection((address, found.port), 5):
                pass


def _refuse_users(path: str) -> None:
    assert not path.startswith("@"), f"{path}: an abstract socket has no permissions"
    assert len(os.fsencode(path)) <= 107
    folder = Path(path).parent.stat()
    assert folder.st_mode & 0o777 == 0o700 and folder.st_uid == os.geteuid()
    if os.geteuid() == 0:
        done = subprocess.run([sys.executable, "-I", "-c", _CONNECT, path], capture_output=True, text=True, check=False)
        assert "PermissionError" in done.stderr
