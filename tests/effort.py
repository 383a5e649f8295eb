"""How much the tests try.

``make test`` tries little, so that people wait for it: few examples of each property, short histories, and no test that has
the marker ``long``. ``make check`` sets ``LAKEBED_EFFORT=full`` and tries everything.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest

FULL = os.environ.get("LAKEBED_EFFORT") == "full"


def examples(full: int) -> int:
    """The number of examples of a property: the full number in ``make check``, a fifth of it in ``make test``."""
    return full if FULL else min(full, max(full // 5, 3))


def long_except(kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Values for ``parametrize``, all but some of them with the marker ``long``."""
    return [value if value in kept else pytest.param(value, marks=pytest.mark.long) for value in values]
