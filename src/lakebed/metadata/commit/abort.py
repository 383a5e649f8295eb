"""What happens to the files of a write that fails: they are deleted, unless a snapshot may refer to them.

Files are written first and a commit makes them visible. If anything fails before the commit, nothing refers to the
files and they are deleted. If the commit raises :class:`CommitOutcomeUnknownError`, its snapshot may exist, so nothing
is deleted; if the snapshot does not exist, the removal of orphan files deletes the files later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lakebed.errors import CommitOutcomeUnknownError


@contextmanager
def abort_unless_committed(*aborts: Callable[[], object]) -> Iterator[None]:
    """Calls every ``abort`` if the block raises, unless the outcome of a commit is unknown.

    The error is raised again in both cases. The block may write files, commit them, or both. Each argument is evaluated
    when the block begins. Pass a function that looks it up later where the block decides what is to be deleted.

    Example:
        >>> with abort_unless_committed(lambda: print("files deleted")):
        ...     raise ValueError("disk full")
        Traceback (most recent call last):
        ...
        ValueError: disk full
    """
    try:
        yield
    except CommitOutcomeUnknownError:
        raise
    except BaseException:
        for abort in aborts:
            abort()
        raise
