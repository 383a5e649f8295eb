"""Folder markers: empty objects with a slash at the end of their names, such as ``db.db/t/``.

The file systems of Hadoop and Arrow create them for folders. Lakebed needs none of them and never lists them as files.
But another engine shows a dropped table or database as long as its marker exists, so a drop deletes them too.

The client library cannot name such an object: it removes the slash at the end of every name. Its listings show a marker
under the name of the folder. So a marker is deleted with a request of its own
(:mod:`~lakebed.storage.signed_requests`). This works for S3 and what speaks its protocol. The services of Google and
Azure keep their markers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lakebed.errors import NotFoundError
from lakebed.storage.location import Location
from lakebed.storage.signed_requests import signed_request
from lakebed.storage.storage_options import ObjectSettings


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
    with contextlib.suppress(NotFoundError):
        signed_request(location, settings, "DELETE")
