"""Where bytes live. One small interface; local disk for now, object stores behind the same calls later."""

from lakebed.storage.base import FileInfo, Storage
from lakebed.storage.local import LocalStorage, explained

__all__ = ["FileInfo", "LocalStorage", "Storage", "explained"]
