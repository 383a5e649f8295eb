"""Where ``tools/servers.sh`` puts the storage servers: outside of the repository, so that clones share them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

VERSIONS = Path(__file__).with_name("versions.txt")


def installed(name: str) -> Path:
    """The folder of a server of the version in ``versions.txt``; ends the test if it is not installed."""
    folder = cache_folder() / f"{name}-{pinned(name)}"
    if not folder.is_dir():
        missing(f"the storage server {name} is not installed; run tools/servers.sh {name}")
    return folder


def pinned(name: str) -> str:
    """The version of a server that the tests use."""
    lines = (line.split() for line in VERSIONS.read_text().splitlines() if not line.startswith("#"))
    return dict(lines)[name]


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakebed" / "servers"


def missing(why: str) -> NoReturn:
    """Ends the test; imported here, because the benchmarks start servers in an environment without pytest."""
    from tests.missing import missing as end_test

    end_test(why)


def program(name: str) -> str:
    """The path of a program that runs a server, such as ``java``; ends the test if there is none."""
    found = shutil.which(name)
    if found is None:
        missing(f"a storage server needs {name}, which is not installed")
    return found
