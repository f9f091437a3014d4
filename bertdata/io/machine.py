"""Find out what this machine has for a run: memory, limits, packages, and whether hosts can be reached."""

from __future__ import annotations

import importlib.util
import os
import resource
import socket
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["installed", "memory", "missing", "open_files", "reachable"]


def memory() -> tuple[int, int]:
    """Return the bytes of memory that there are, and those that can be had now (MemAvailable, where the system tells it)."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines() if ":" in line)
        return total, int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return total, total


def open_files() -> tuple[int, int]:
    """Return how many files this process may have open, and to how many it may raise that."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def installed(package: str) -> str:
    """Return the version of a package; nothing where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def missing(modules: tuple[str, ...]) -> list[str]:
    """Return those modules that cannot be found; none is imported but the packages around them."""
    lost = []
    for module in modules:
        try:
            is_there = importlib.util.find_spec(module) is not None
        except (ImportError, ValueError):
            is_there = False
        if not is_there:
            lost.append(module)
    return lost


def reachable(hosts: tuple[str, ...], seconds: float) -> dict[str, str]:
    """Try to connect to port 443 of all hosts at a time; return for each what is wrong, or nothing."""

    def connect(host: str) -> str:
        try:
            with socket.create_connection((host, 443), seconds):
                return ""
        except OSError as error:
            return " ".join(str(error.strerror or error).split()) or type(error).__name__

    pool = ThreadPoolExecutor(len(hosts))
    try:
        tried = {host: pool.submit(connect, host) for host in hosts}
        return {host: _in_time(each, seconds) for host, each in tried.items()}
    finally:
        pool.shutdown(wait=False)


def _in_time(tried: Any, seconds: float) -> str:
    try:
        return str(tried.result(timeout=seconds + 0.5))
    except (TimeoutError, FutureTimeout):  # a name that nobody answers for
        return f"no answer in {seconds:g} s"
