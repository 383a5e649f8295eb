"""Folder markers: empty objects with a slash at the end of their names, such as ``db.db/t/``.

The file systems of Hadoop and Arrow create them for folders. Lakebed needs none of them and never lists them as files.
But another engine shows a dropped table or database as long as its marker exists, so a drop deletes them too.

The client library cannot name such an object: it removes the slash at the end of every name. Its listings show a marker
under the name of the folder. So a marker is deleted with a signed URL, whose root is the folder. This works for S3 and
what speaks its protocol. The services of Google and Azure keep their markers.
"""

from __future__ import annotations

import datetime as dt
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import obstore

from lakebed.errors import StorageError
from lakebed.storage.location import Location
from lakebed.storage.open_bucket import open_folder
from lakebed.storage.storage_options import ObjectSettings

_VALID: Final = dt.timedelta(minutes=5)
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0


def without_markers(
    objects: Iterable[Mapping[str, Any]], is_file: Callable[[str], bool], folder: str = ""
) -> Iterator[Mapping[str, Any]]:
    """Returns the objects of a listing that are files.

    A marker has no bytes, and the next object in the listing is in its folder. An empty object that is followed by
    something else is a file or the marker of an empty folder, which one request tells.

    Args:
        objects: The listing, sorted by name.
        is_file: Asks the store whether there is a file of a name.
        folder: The name of the listed folder, whose own marker may be in the listing.

    Example:
        >>> names = [("t", 0), ("t/bucket-0", 0), ("t/bucket-0/data", 9), ("t/empty", 0), ("t/_SUCCESS", 0)]
        >>> listed = [{"path": path, "size": size} for path, size in names]
        >>> [each["path"] for each in without_markers(listed, lambda path: path == "t/_SUCCESS", "t")]
        ['t/bucket-0/data', 't/_SUCCESS']
    """
    held: Mapping[str, Any] | None = None
    for each in objects:
        if held is not None and not each["path"].startswith(f"{held['path']}/") and is_file(held["path"]):
            yield held
        held = None
        if each["size"]:
            yield each
        elif each["path"] != folder:
            held = each
    if held is not None and is_file(held["path"]):
        yield held


def delete_marker(location: Location, settings: ObjectSettings) -> None:
    """Deletes the marker of a folder, if there is one."""
    if location.service != "s3":
        return
    url = obstore.sign(open_folder(location, settings), "DELETE", "", _VALID)
    request = urllib.request.Request(url, method="DELETE")  # noqa: S310 - the scheme of the endpoint
    deadline, pause = time.monotonic() + settings.deadline_seconds, _FIRST_PAUSE
    while True:
        is_last = time.monotonic() + pause > deadline
        try:
            urllib.request.urlopen(request, timeout=settings.timeout_seconds).close()  # noqa: S310
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.client.NOT_FOUND:
                return
            if is_last or (error.code < 500 and error.code != http.client.TOO_MANY_REQUESTS):
                raise StorageError(f"cannot delete the folder marker {location}/: status {error.code}") from None
        except (OSError, http.client.HTTPException) as error:
            if is_last:
                raise StorageError(f"cannot delete the folder marker {location}/: {error}") from error
        else:
            return
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
