"""Runs statements with the lake as the current catalog, so that ``database.table`` is a table of the lake."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from lakebed.errors import LakebedError, OptionError
from lakebed.sql.jvm.jvm_values import Jvm
from lakebed.sql.jvm.proxy import own_error
from lakebed.sql.split_statements import split_statements

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_USE: Final = re.compile(r"\s*(?:USE|SET\s+CATALOG)\b", re.IGNORECASE)
_lock = threading.RLock()  # the current catalog belongs to the session, which threads share


def run(jvm: Jvm, catalog: str, text: str, arguments: Any = None) -> DataFrame:
    """Runs statements that are separated by ``;`` and returns the result of the last one.

    Raises Lakebed's errors as such, and Spark's errors as Spark does. Statements before the one that fails have run.
    """
    done, rest = split_statements(text)
    statements = [*done, rest] if rest else done
    if len(statements) < 2:
        return _run_one(jvm, catalog, text, arguments)
    if arguments and not isinstance(arguments, Mapping):
        raise OptionError(
            "values of ? are for one statement, and this text has several; name the parameters (:name) and give a dict"
        )
    for statement in statements[:-1]:
        _run_one(jvm, catalog, statement, arguments)
    return _run_one(jvm, catalog, statements[-1], arguments)


def _run_one(jvm: Jvm, catalog: str, text: str, arguments: Any) -> DataFrame:
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - Spark is optional
    from pyspark.errors import PySparkException  # noqa: PLC0415 - Spark is optional

    try:
        with _inside(jvm, catalog, stays=_USE.match(text) is not None):
            return jvm.spark.sql(text, arguments)
    except (PySparkException, Py4JJavaError) as error:
        ours = own_error(error)
        if ours is not None:
            raise ours from None
        if isinstance(error, PySparkException):
            raise
        # PySpark has no class for this exception and would show a Java stack trace.
        raise LakebedError(f"Spark: {_innermost(error.java_exception)}") from error


def _innermost(exception: Any) -> str:
    """Returns the message of the innermost cause of a Java exception, in one line."""
    while exception.getCause() is not None:
        exception = exception.getCause()
    return " ".join(str(exception.getMessage() or exception.toString()).split())


@contextlib.contextmanager
def _inside(jvm: Jvm, catalog: str, *, stays: bool) -> Iterator[None]:
    """Makes a catalog the current one, and restores the previous one unless the statement changes it (``stays``)."""
    with _lock:
        manager = jvm.session_state.catalogManager()
        before, namespace = manager.currentCatalog().name(), list(manager.currentNamespace())
        if before == catalog:
            yield
            return
        manager.setCurrentCatalog(catalog)
        try:
            yield
        except BaseException:
            stays = False
            raise
        finally:
            if not stays:
                manager.setCurrentCatalog(before)
                manager.setCurrentNamespace(jvm.strings(namespace))
