"""Flushes files and folders of the local disk to the device, so that they survive a power cut.

A file survives if its content was flushed, its folder was flushed after the file got its name, and the same holds for
every folder above it. :func:`flush` does this for many files at once. The flushes run in parallel: the file system
combines them, so that many take little longer than one. A path that does not exist is skipped: somebody deleted the
file, or dropped the table.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterable
from functools import partial
from typing import Final

from lakebed.storage.round_trips import run_together

_THREADS: Final = 16
_FULL_FLUSH: Final[int | None] = getattr(fcntl, "F_FULLFSYNC", None)  # macOS: fsync does not empty the disk's cache
_FLUSH_CONTENT: Final = getattr(os, "fdatasync", os.fsync)
_NO_FLUSH_OF_FOLDERS: Final = {errno.EINVAL, errno.EBADF}


def flush(paths: Iterable[str], below: str) -> None:
    """Flushes files and folders, and the folders above them up to and including ``below``. Raises ``OSError``."""
    given = dict.fromkeys(paths)
    targets = [*given, *dict.fromkeys(folder for path in given for folder in folders_above(path, below))]
    run_together([partial(flush_one, path) for path in dict.fromkeys(targets)], threads=_THREADS)


def flush_one(path: str) -> None:
    """Flushes one file or folder; does nothing if it does not exist. Raises ``OSError``."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        if _FULL_FLUSH is not None:
            fcntl.fcntl(descriptor, _FULL_FLUSH)
        elif is_folder:
            _flush_folder(descriptor)
        else:
            _FLUSH_CONTENT(descriptor)
    finally:
        os.close(descriptor)


def _flush_folder(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FLUSH_OF_FOLDERS:  # some file systems write folders at once and refuse the call
            raise


def folders_above(path: str, below: str) -> list[str]:
    """Returns the folders above a path up to and including ``below``; only its own folder if it is outside of it.

    >>> folders_above("/w/t/day=1/bucket-0/f", "/w/t")
    ['/w/t/day=1/bucket-0', '/w/t/day=1', '/w/t']
    >>> folders_above("/elsewhere/f", "/w/t")
    ['/elsewhere']
    """
    folder = path.rpartition("/")[0]
    if not f"{folder}/".startswith(f"{below}/"):
        return [folder]
    found = [folder]
    while folder != below:
        folder = folder.rpartition("/")[0]
        found.append(folder)
    return found
