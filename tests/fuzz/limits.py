"""A limit on the memory of a process that reads damaged files."""

from __future__ import annotations

import resource
from pathlib import Path

MOST_BYTES = 4 << 30


def limit_memory() -> None:
    """Let the process have some memory more than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
    most = pages * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
