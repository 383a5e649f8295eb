"""Counts the faults that were tried and says so at the end of a test run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

_TRIED: Counter[tuple[str, str]] = Counter()


@pytest.fixture
def tried() -> Callable[[str, str], None]:
    """Call it for each fault tried: the operation, and what happened to it."""

    def count(operation: str, fault: str) -> None:
        _TRIED[operation, fault] += 1

    return count


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not _TRIED:
        return
    terminalreporter.section("faults tried")
    for operation in dict.fromkeys(operation for operation, _ in _TRIED):
        faults = {fault: count for (name, fault), count in _TRIED.items() if name == operation}
        parts = ", ".join(f"{fault} {count}" for fault, count in faults.items())
        terminalreporter.write_line(f"{operation:25} {sum(faults.values()):5}  ({parts})")
    terminalreporter.write_line(f"{'all':25} {_TRIED.total():5}")
