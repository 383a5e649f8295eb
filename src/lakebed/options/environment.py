"""Variables of the environment that several parts of the package read."""

from __future__ import annotations

from typing import Final

WAREHOUSE_VARIABLE: Final = "LAKEBED_WAREHOUSE"
"""The warehouse that is opened if none is named: a path, a URL or a name in ``lakebed.toml``."""
