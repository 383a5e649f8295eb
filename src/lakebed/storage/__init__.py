"""Storages of table files: one small interface (``base``) and its implementations (``local``)."""

from lakebed.storage.base import FileInfo, Storage, Sync
from lakebed.storage.local import LocalStorage, explained
from lakebed.storage.round_trips import run_all, run_both, run_together

__all__ = ["FileInfo", "LocalStorage", "Storage", "Sync", "explained", "run_all", "run_both", "run_together"]
