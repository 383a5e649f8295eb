"""Storages of table files: one small interface (``base``) and its implementations (``local``)."""

from lakebed.storage.base import FileInfo, Storage, Sync
from lakebed.storage.local import LocalStorage, explained

__all__ = ["FileInfo", "LocalStorage", "Storage", "Sync", "explained"]
