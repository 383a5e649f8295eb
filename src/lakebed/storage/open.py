"""Opens the storage of a path: the local disk, an object store or HDFS, by the scheme of the path."""

from __future__ import annotations

import os
from collections.abc import Mapping

from lakebed.errors import OptionError
from lakebed.storage.base import Storage
from lakebed.storage.local import LocalStorage
from lakebed.storage.location import parse_location
from lakebed.storage.storage_options import check_no_object_settings, hadoop_settings, object_settings


def open_storage(path: str, options: Mapping[str, str]) -> Storage:
    """Returns the storage of a warehouse; the options are those of the warehouse, other ones are ignored.

    Raises:
        OptionError: A setting of the storage is wrong, or belongs to another storage.
        UnsupportedError: Lakebed does not know the scheme, or a library for it is not installed.
    """
    location = parse_location(path)
    match location.service:
        case "local":
            check_no_object_settings(options, location)
            return LocalStorage()
        case "hdfs":
            from lakebed.storage.hdfs import HdfsStorage  # noqa: PLC0415 - optional

            return HdfsStorage(hadoop_settings(options, location))
        case service:
            from lakebed.storage.object_store import ObjectStorage  # noqa: PLC0415 - its import takes long

            return ObjectStorage(service, object_settings(options, location), str(location))


def plain_path(path: str) -> str:
    """Returns the path of a folder as Lakebed writes it: absolute, or a URL, without a slash at the end.

    ``~`` at the beginning of a local path is the user's home folder.

    Raises:
        OptionError: The path is empty.
    """
    location = parse_location(path)
    if location.scheme:
        return str(location)
    if not location.key.strip():
        raise OptionError("the path of a warehouse is empty; give a folder, or '.' for the current one")
    return os.path.abspath(os.path.expanduser(location.key))  # noqa: PTH100, PTH111 - paths are strings here
