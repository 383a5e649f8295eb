"""Errors of ours inside of Spark's Python workers, told to the user as one sentence instead of a worker's stack trace.

Spark sends the text of an exception to the driver and ends the process that raised it. A switch in the environment of that
process, read at that moment, makes the text the exception alone; setting it as the exception passes concerns no other.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Final

from lakebed.errors import LakebedError

_SWITCH: Final = "SPARK_HIDE_TRACEBACK"


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Let an error of ours that passes be shown without its trace; use it only in code that Spark's workers run."""
    try:
        yield
    except LakebedError:
        os.environ[_SWITCH] = "1"
        raise
