"""How Spark's own readers open the files of a storage: under which names, and with which settings.

Spark opens files through Hadoop's file systems. The local disk and HDFS are part of Spark. For S3 a session needs the
jar ``hadoop-aws`` and the AWS SDK. Where they are missing, and on all other object stores, Lakebed's readers read every
file (:func:`hadoop_files` returns ``None``): the result is the same, and no jar is needed.

The settings of a storage are handed over as options of one read, so the configuration of the session is not changed.
Hadoop keeps open file systems by scheme and bucket, whatever their settings are. So that two lakes never share
credentials, files of a storage with settings get a scheme of their own, such as ``s3a-1f0c2a9b://bucket/key``.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from lakebed.metadata.store import TableStore
from lakebed.storage.location import parse_location
from lakebed.storage.storage_options import ObjectSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_BYTES: Final = 16 * 1024 * 1024
"""Spark opens files on an object store from this size on. It sends several requests for each file, some of them before
a query starts: 60 files of a few kilobytes took ten times as long as with Lakebed's readers."""
_LOG: Final = logging.getLogger("lakebed")
_S3A: Final = "s3a"
_S3A_CLASS: Final = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_PROVIDERS: Final = "org.apache.hadoop.fs.s3a."
_NAMES: Final = {
    "s3.endpoint": "endpoint",
    "s3.region": "endpoint.region",
    "s3.path.style.access": "path.style.access",
    "s3.connection.ssl.enabled": "connection.ssl.enabled",
    "s3.access-key": "access.key",
    "s3.secret-key": "secret.key",
    "s3.session-token": "session.token",
}
_NOT_HANDED_OVER: Final = ("s3.role-arn", "fs.oss.endpoint", "fs.oss.accessKeyId", "fs.oss.region")


@dataclass(frozen=True, slots=True)
class HadoopFiles:
    """The scheme under which Spark opens the files of a table, and options of the read, which hold secrets.

    Attributes:
        scheme: Replaces the scheme of a path; ``file`` for local paths, ``None`` if the path stays as it is.
        options: Settings of Hadoop for the read.
    """

    scheme: str | None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_local(self) -> bool:
        return self.scheme == "file"

    @property
    def least_bytes(self) -> int:
        """The size of the smallest file that Spark should open."""
        return 0 if self.is_local else LEAST_BYTES

    def uri(self, path: str) -> str:
        """Returns a path with its scheme: the default file system of a cluster may not be the local one.

        >>> HadoopFiles("file").uri("/data/a"), HadoopFiles("s3a").uri("s3://bucket/a"), HadoopFiles("file").uri("b/a")
        ('file:///data/a', 's3a://bucket/a', 'b/a')
        """
        if "://" in path and self.scheme is not None:
            return f"{self.scheme}://{path.partition('://')[2]}"
        return f"file://{path}" if path.startswith("/") else path


def hadoop_files(spark: SparkSession, store: TableStore) -> HadoopFiles | None:
    """Returns how Spark opens the files of a table, ``None`` if it cannot."""
    location = parse_location(store.paths.root)
    match location.service:
        case "local":
            return HadoopFiles("file")
        case "hdfs":
            return HadoopFiles(None) if hasattr(spark, "_jsparkSession") else None
        case "s3":
            settings = getattr(store.storage, "settings", None)
            files = None if settings is None else s3a_files(settings, location.host)
            return files if files is not None and _opens(spark, files, store.paths.root) else None
        case _:
            return None


def _opens(spark: SparkSession, files: HadoopFiles, path: str) -> bool:
    """Whether the session has Hadoop's file system for S3 and all that it needs; Spark Connect does not tell.

    Hadoop keeps the file system open, so this takes time only once. It sends no request.
    """
    if not hasattr(spark, "_jsparkSession"):
        return False
    configuration = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - no public way
    if configuration.getClassByNameOrNull(_S3A_CLASS) is None:
        return False
    for name, value in files.options.items():
        configuration.set(name, value)
    try:
        spark._jvm.org.apache.hadoop.fs.Path(files.uri(path)).getFileSystem(configuration)  # noqa: SLF001 - no public way
    except Exception as error:  # noqa: BLE001 - whatever it is, Lakebed's readers need no file system of Hadoop
        cause = getattr(error, "java_exception", error)
        _LOG.warning("Spark has %s but cannot open it, so Lakebed reads all files itself: %s", _S3A_CLASS, cause)
        return False
    return True


def s3a_files(settings: ObjectSettings, bucket: str) -> HadoopFiles | None:
    """Returns how Hadoop's file system for S3 opens a bucket; ``None`` for settings that it does not have.

    >>> s3a_files(ObjectSettings({}), "bucket")
    HadoopFiles(scheme='s3a')
    """
    values = settings.values
    if any(name in values for name in _NOT_HANDED_OVER):
        return None
    given = {_NAMES[name]: value for name, value in values.items() if name in _NAMES and value}
    if values.get("s3.anonymous") == "true":
        given["aws.credentials.provider"] = f"{_PROVIDERS}AnonymousAWSCredentialsProvider"
    elif "session.token" in given:
        given["aws.credentials.provider"] = f"{_PROVIDERS}TemporaryAWSCredentialsProvider"
    elif "access.key" in given:
        given["aws.credentials.provider"] = f"{_PROVIDERS}SimpleAWSCredentialsProvider"
    if not given:
        return HadoopFiles(_S3A)
    # Settings of a bucket win over those of all buckets, which the session may have.
    options = {f"fs.s3a.bucket.{bucket}.{name}": value for name, value in given.items()}
    told = "\0".join(f"{name}={value}" for name, value in sorted(options.items()))  # a repr would hide secrets
    scheme = f"{_S3A}-{hashlib.sha256(told.encode()).hexdigest()[:8]}"
    return HadoopFiles(scheme, {**options, f"fs.{scheme}.impl": _S3A_CLASS})
