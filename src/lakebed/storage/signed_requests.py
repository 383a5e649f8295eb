"""Requests to a store of the S3 protocol that the client library does not make.

The library signs a URL for every kind of credentials, but only of an object whose name does not end with a slash, and
without a query. So the name and the query are given to it as the address of the service
(:func:`~lakebed.storage.open_bucket.open_address`).
"""

from __future__ import annotations

import datetime as dt
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Final, Literal

import obstore

from lakebed.errors import NotFoundError, StorageError, UnsupportedError
from lakebed.storage.location import Location
from lakebed.storage.open_bucket import open_address
from lakebed.storage.storage_options import ObjectSettings

_VALID: Final = dt.timedelta(minutes=5)
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0


def signed_request(
    location: Location,
    settings: ObjectSettings,
    method: Literal["GET", "DELETE"],
    query: Mapping[str, str] | None = None,
) -> bytes:
    """Sends a request and returns the body of its answer; repeats it until the deadline if the store is busy.

    Args:
        location: A bucket, or the name of an object in it. Without a query, a slash is added to the name.
        settings: Those of the storage.
        method: The method.
        query: The parameters of the request.

    Raises:
        NotFoundError: The store answers with status 404.
        UnsupportedError: The store refuses the request.
        StorageError: The store did not answer.
    """
    url = obstore.sign(open_address(location, settings, query or {}), method, "", _VALID)
    request = urllib.request.Request(url, method=method)  # noqa: S310 - the scheme of the endpoint
    deadline, pause = time.monotonic() + settings.deadline_seconds, _FIRST_PAUSE
    while True:
        is_last = time.monotonic() + pause > deadline
        try:
            with urllib.request.urlopen(request, timeout=settings.timeout_seconds) as answer:  # noqa: S310
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.client.NOT_FOUND:
                raise NotFoundError(f"there is no {location}") from None
            if error.code == http.client.NOT_IMPLEMENTED or (400 <= error.code < 500 and not _is_busy(error.code)):
                raise UnsupportedError(f"{method} {location}: the store refuses it with status {error.code}") from None
            if is_last:
                raise StorageError(f"{method} {location}: the store answers with status {error.code}") from None
        except (OSError, http.client.HTTPException) as error:
            if is_last:
                raise StorageError(f"{method} {location}: {error}") from error
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _is_busy(status: int) -> bool:
    return status in {http.client.TOO_MANY_REQUESTS, http.client.REQUEST_TIMEOUT}
