"""Lakebed's errors on their way from Spark's Python workers to the driver.

Spark passes only the text of an exception to the driver. Lakebed therefore sends a record with that text: one line of
JSON with the name of the error's class and its message. The driver decodes the record with a table of known classes.

Users should see one sentence instead of the stack trace of a worker. Spark leaves the trace out if an environment
variable is set in the process that raises the error. Spark ends that process, so setting the variable affects no other
task.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

import lakebed.errors
from lakebed.errors import LakebedError

_HIDE_TRACE: Final = "SPARK_HIDE_TRACEBACK"
_RECORD: Final = "lakebed-error: "
_CLASS, _MESSAGE = "class", "message"
_KNOWN_CLASSES: Final[Mapping[str, type[LakebedError]]] = {
    name: kind
    for name, kind in vars(lakebed.errors).items()
    if isinstance(kind, type) and issubclass(kind, LakebedError)
}


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Hides the stack trace of a Lakebed error. Use it only in code that Spark's workers run."""
    try:
        yield
    except LakebedError:
        os.environ[_HIDE_TRACE] = "1"
        raise


@contextlib.contextmanager
def recorded_errors() -> Iterator[None]:
    """Hides the stack trace of a Lakebed error and adds a record, which :func:`recorded_error` decodes."""
    with plain_errors():
        try:
            yield
        except LakebedError as error:
            error.add_note(error_record(error))
            raise


def error_record(error: LakebedError) -> str:
    """Returns an error as one line of text.

    >>> from lakebed.errors import DataError
    >>> error_record(DataError("no key"))
    'lakebed-error: {"class": "DataError", "message": "no key"}'
    """
    return _RECORD + json.dumps({_CLASS: type(error).__name__, _MESSAGE: str(error)}, ensure_ascii=False)


def recorded_error(error: BaseException) -> LakebedError | None:
    """Returns the Lakebed error whose record is in the text of an exception of Spark, ``None`` if there is none.

    >>> text = 'Job aborted: lakebed-error: {"class": "DataError", "message": "no key"} SQLSTATE: P0001'
    >>> recorded_error(RuntimeError(text))
    DataError('no key')
    """
    _, found, rest = str(error).partition(_RECORD)
    if not found:
        return None
    try:
        record, _ = json.JSONDecoder().raw_decode(rest)
    except ValueError:  # Spark Connect truncates long texts
        return None
    return known_error(record[_CLASS], record[_MESSAGE])


def known_error(class_name: str, message: str) -> LakebedError:
    """Returns an error of the class with this name, or a plain LakebedError if the name is unknown."""
    return _KNOWN_CLASSES.get(class_name, LakebedError)(message)


def java_causes(error: BaseException) -> list[str]:
    """Returns the class names of the Java exception behind an error and of its causes.

    The list is empty with Spark Connect, which does not pass the causes to the client.
    """
    cause: Any = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    names = []
    while cause is not None:
        names.append(str(cause.getClass().getName()))
        cause = cause.getCause()
    return names
