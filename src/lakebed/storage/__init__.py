"""Storages of table files: one small interface (``base``) and its implementations.

``local`` is the local disk, ``object_store`` S3, Google Cloud Storage and Azure, ``hdfs`` HDFS; ``open`` chooses one by
the scheme of a path.
"""

from lakebed.storage.base import FileInfo, Storage, Sync, UnfinishedUpload
from lakebed.storage.local import LocalStorage, explained
from lakebed.storage.location import is_remote_path
from lakebed.storage.open import open_storage, plain_path
from lakebed.storage.round_trips import run_all, run_both, run_together

__all__ = [
    "FileInfo",
    "LocalStorage",
    "Storage",
    "Sync",
    "UnfinishedUpload",
    "explained",
    "is_remote_path",
    "open_storage",
    "plain_path",
    "run_all",
    "run_both",
    "run_together",
]
