"""How much the tests try.

``make test`` tries little, so that people wait for it: few examples of each property, short histories, a few steps of
each fault matrix, and no test that has the marker ``long``. ``make check`` sets ``LAKEBED_EFFORT=full`` and tries
everything. It runs those tests again whose marker, ``scales`` or ``hypothesis``, says that they try more then.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest

FULL = os.environ.get("LAKEBED_EFFORT") == "full"
ON_SERVER = os.environ.get("LAKEBED_TEST_STORAGE", "local") != "local"
"""Whether warehouses are on a storage server, where every step takes longer (``tests/places.py``)."""
STRIDE = 1 if FULL else 25 if ON_SERVER else 5
"""Fault matrices break an operation at each of its steps in ``make check``, else at some of them."""


def examples(full: int) -> int:
    """The number of examples of a property, or of steps of a history: a fifth of the full number in ``make test``.

    On a storage server it is a twentieth.
    """
    return full if FULL else min(full, max(full // (20 if ON_SERVER else 5), 3))


def long_except(kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Values for ``parametrize``, all but some of them with the marker ``long``."""
    return [value if value in kept else pytest.param(value, marks=pytest.mark.long) for value in values]
