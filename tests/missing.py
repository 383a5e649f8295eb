"""What tests need and a machine may lack: a browser, Java, other readers of the format, rights.

A test that cannot run is skipped, and the summary of the run says so in capitals. In CI (``CI=true``) it fails instead,
unless only rights are lacking.
"""

from __future__ import annotations

import os
from typing import Any, NoReturn

import pytest

DID_NOT_RUN = "DID NOT RUN: "


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() not in {"", "0", "false"}


def missing(why: str) -> NoReturn:
    """End a test that needs something which is not installed: a skip, in CI a failure."""
    if in_ci():
        pytest.fail(f"{DID_NOT_RUN}{why}", pytrace=False)
    pytest.skip(f"{DID_NOT_RUN}{why}")


def not_allowed(why: str) -> NoReturn:
    """End a test that needs rights which this process lacks: a skip everywhere."""
    pytest.skip(f"{DID_NOT_RUN}{why}")


def report_missing(reporter: Any) -> None:
    """Tell at the end of a test run what did not run, and how many tests that are."""
    counts: dict[str, int] = {}
    for report in reporter.stats.get("skipped", []):
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if DID_NOT_RUN in why:
            reason = why.partition(DID_NOT_RUN)[2]
            counts[reason] = counts.get(reason, 0) + 1
    if counts:
        reporter.section("THESE TESTS DID NOT RUN", sep="!", red=True, bold=True)
        for reason, count in sorted(counts.items()):
            reporter.write_line(f"{count:5}  {reason}")
