"""The parts of a path on a remote storage: ``s3://bucket/warehouse/db.db/t`` is a scheme, a bucket and a key.

Every path that Lakebed handles is a whole text, so that a path in a message or in another engine means the same. Local
paths have no scheme.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Final, Literal

from lakebed.errors import OptionError, UnsupportedError

Service = Literal["local", "s3", "gcs", "azure", "hdfs"]

SCHEMES: Final[dict[str, Service]] = {
    "file": "local",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "oss": "s3",
    "gs": "gcs",
    "az": "azure",
    "abfs": "azure",
    "abfss": "azure",
    "wasb": "azure",
    "wasbs": "azure",
    "hdfs": "hdfs",
}
"""The schemes of paths, and the service that each one belongs to."""

_HOST: Final = re.compile(r"[\w.:\[\]-]+(?:@[\w.-]+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Location:
    """A path in its parts.

    Attributes:
        scheme: The scheme as it was given; empty for a local path.
        host: The bucket or container, as it was given (for Azure with the account); the name node for HDFS.
        key: The rest, without slashes at its ends.
    """

    scheme: str
    host: str
    key: str

    @property
    def service(self) -> Service:
        return SCHEMES[self.scheme] if self.scheme else "local"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}/{self.key}".rstrip("/") if self.scheme else self.key


def parse_location(path: str) -> Location:
    """Splits a path into its parts.

    Raises:
        OptionError: A bucket is missing.
        UnsupportedError: Lakebed does not know the scheme.

    Example:
        >>> parse_location("s3://bucket/warehouse/")
        Location(scheme='s3', host='bucket', key='warehouse')
        >>> parse_location("/data/warehouse").service
        'local'
    """
    scheme, mark, rest = path.partition("://")
    if not mark:
        return Location("", "", path)
    if scheme not in SCHEMES:
        known = ", ".join(f"{name}://" for name in SCHEMES)
        raise UnsupportedError(f"cannot open {path}: Lakebed does not know the scheme {scheme}://. It knows {known}")
    if SCHEMES[scheme] == "local":
        return Location("", "", rest)
    host, _, key = rest.partition("/")
    if not host:
        raise OptionError(f"{path!r} has no bucket; write {scheme}://bucket/folder")
    if _HOST.fullmatch(host) is None or ("@" in host and (SCHEMES[scheme] != "azure" or ":" in host)):
        raise OptionError(  # without the text, which may hold a password
            f"the part after {scheme}:// is not the name of a bucket or host. Credentials are options, never a part of "
            "the path"
        )
    return Location(scheme, host, posixpath.normpath(f"/{key}").strip("/"))


def is_remote_path(path: str) -> bool:
    """Returns whether a path has a scheme other than ``file``."""
    return "://" in path and not path.startswith("file://")
