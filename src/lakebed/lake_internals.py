"""What the autopilot needs of a lake, and users do not."""

from __future__ import annotations

from collections.abc import Mapping

from lakebed.lake import Lake
from lakebed.storage import Storage


def storage_of(lake: Lake) -> Storage:
    """Returns the storage of the warehouse."""
    return lake._catalog.storage  # noqa: SLF001 - this module is the one way to it


def options_of(lake: Lake) -> Mapping[str, str]:
    """Returns the options that the lake was opened with."""
    return lake._options  # noqa: SLF001 - this module is the one way to it
