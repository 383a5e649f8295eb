"""Libraries that are optional: the error for one that is not installed says what to run.

A caller that asks before it imports (:func:`check_installed`) never shows a bare ``ModuleNotFoundError``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from lakebed.errors import UnsupportedError

LIBRARIES: Final[Mapping[str, tuple[str, str]]] = {
    "duckdb": ("DuckDB", "duckdb"),
    "fastapi": ("FastAPI", "service"),
    "hdfs_native": ("hdfs-native", "hdfs"),
    "pandas": ("pandas", "pandas"),
    "polars": ("Polars", "polars"),
    "prometheus_client": ("prometheus-client", "service"),
    "pyspark": ("Spark", "spark"),
    "uvicorn": ("uvicorn", "service"),
}
"""The optional libraries: the name for people, and the extra of Lakebed that installs it."""


class NotInstalledError(UnsupportedError, ImportError):
    """A library that a call needs is not installed. It is an ``ImportError``, too, for code that expects one."""


def is_installed(library: str) -> bool:
    """Returns whether a library can be imported, without importing it."""
    if library in sys.modules:
        return sys.modules[library] is not None
    try:
        return find_spec(library) is not None
    except (ImportError, ValueError):  # an import hook that refuses it, or a module without a specification
        return False


def check_installed(needed_by: str, *libraries: str) -> None:
    """Raises an error that says what to install, if one of these libraries is missing.

    Args:
        needed_by: What needs the libraries, as the beginning of the message.
        libraries: The names under which they are imported, all of ``LIBRARIES``.

    Raises:
        NotInstalledError: A library is missing.

    Example:
        >>> check_installed("to_pandas()", "pandas")
    """
    for library in libraries:
        if not is_installed(library):
            name, extra = LIBRARIES[library]
            raise NotInstalledError(f"{needed_by} needs {name}, which is not installed: pip install 'lakebed[{extra}]'")
