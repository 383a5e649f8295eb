"""Reads beside an expiry: a listed snapshot may be deleted before its files are read, so the read is repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from lakebed.errors import NotFoundError

_T = TypeVar("_T")
_ATTEMPTS: Final = 5


def retry_while_expiring(read: Callable[[], _T], *, attempts: int = _ATTEMPTS) -> _T:
    """Returns the result of ``read``, and repeats it if it raises :class:`NotFoundError`.

    ``read`` must start from the beginning each time: list or look up the snapshots, then read their files. An expiry
    that runs at the same time is ahead of it by then.

    Args:
        read: The whole read, without side effects.
        attempts: How often it is tried.

    Raises:
        NotFoundError: The last attempt failed too. A file is missing although its snapshot did not expire.
    """
    for _ in range(attempts - 1):
        try:
            return read()
        except NotFoundError:
            continue
    return read()
