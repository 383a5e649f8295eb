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
STRIDE = 1 if FULL else 5
"""Fault matrices break an operation at each of its steps in ``make check``, at every fifth in ``make test``."""


def examples(full: int) -> int:
    """The number of examples of a property, or of steps of a history: a fifth of the full number in ``make test``."""
    return full if FULL else min(full, max(full // 5, 3))


def long_except(kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Values for ``parametrize``, all but some of them with the marker ``long``."""
    return [value if value in kept else pytest.param(value, marks=pytest.mark.long) for value in values]
