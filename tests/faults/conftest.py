"""Counts the faults that were tried and says so at the end of a test run, also of one in several processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

_PROPERTY = "faults tried"


@pytest.fixture
def tried(request: pytest.FixtureRequest) -> Iterator[Callable[[str, str], None]]:
    """Call it for each fault tried: the operation, and what happened to it."""
    counts: Counter[tuple[str, str]] = Counter()

    def count(operation: str, fault: str) -> None:
        counts[operation, fault] += 1

    yield count
    request.node.user_properties += [(_PROPERTY, (*which, number)) for which, number in counts.items()]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The counts travel with the reports of the tests; those of the teardown have them all."""
    found: dict[str, Counter[str]] = {}
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        if getattr(report, "when", None) != "teardown":
            continue
        for name, value in report.user_properties:
            if name == _PROPERTY:
                operation, fault, number = value
                found.setdefault(operation, Counter())[fault] += number
    if not found:
        return
    terminalreporter.section("faults tried")
    for operation, faults in found.items():
        parts = ", ".join(f"{fault} {count}" for fault, count in faults.items())
        terminalreporter.write_line(f"{operation:33}{faults.total():5}  ({parts})")
    terminalreporter.write_line(f"{'all':33}{sum(faults.total() for faults in found.values()):5}")
