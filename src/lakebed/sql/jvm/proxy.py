"""Python objects that Spark holds as Java objects, and how errors get across.

What a proxy raises on purpose becomes an exception of Spark with the same sentence, so users see no trace of the way it took;
``own_error`` is the way back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import wraps
from types import FunctionType
from typing import Any, ClassVar, Final

from lakebed.errors import LakebedError
from lakebed.spark.worker_errors import known_error
from lakebed.sql.jvm.jvm_values import Jvm

_LOG: Final = logging.getLogger("lakebed")
_FAILURE: Final = "lakebed.Failure"


MEANT: Final = "lakebed_meant"
"""Marks errors that are on their way from Python to Java, and need no line in Python's log."""


class Proxy:
    """Implements Java interfaces: ``class Some(Proxy, implements=("java.util.function.Supplier",))``.

    All of their methods must exist in Python: those with a default in Java are asked of Python too.
    """

    Java: ClassVar[type]

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm

    def __init_subclass__(cls, implements: Sequence[str] = ()) -> None:
        """Tell Py4J what is implemented, and let every method that Spark may call raise Spark's exceptions."""
        if implements:
            cls.Java = type("Java", (), {"implements": list(implements)})
        for name, member in list(vars(cls).items()):
            if isinstance(member, FunctionType) and not name.startswith("_"):
                setattr(cls, name, _translated(member))

    def toString(self) -> str:  # noqa: N802 - Java's name
        return repr(self)

    def hashCode(self) -> int:  # noqa: N802 - Java's name
        return hash(self) & 0x7FFFFFFF

    def equals(self, other: object) -> bool:
        return other is self


class JavaThrow(Exception):  # noqa: N818 - carries one
    """Ends a call from Spark with a Java exception."""

    def __init__(self, exception: Any) -> None:
        super().__init__(str(exception))
        self.exception = exception


def _translated(method: Callable[..., Any]) -> Callable[..., Any]:
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - Spark is optional
    from pyspark.errors.exceptions.captured import CapturedException  # noqa: PLC0415 - Spark is optional

    @wraps(method)
    def run(self: Proxy, *arguments: Any) -> Any:
        try:
            return method(self, *arguments)
        except JavaThrow as thrown:
            exception = thrown.exception
        except CapturedException as error:  # Spark's own, on its way back
            if error._origin is None:  # noqa: SLF001 - no public way
                raise
            exception = _unchecked(self._jvm, error._origin)  # noqa: SLF001 - no public way
        except LakebedError as error:
            exception = self._jvm.bridge.failure(str(error), type(error).__name__)
        except Py4JJavaError as error:  # an exception of the JVM that nobody foresaw
            exception = error.java_exception
        except Exception as error:  # noqa: BLE001 - whatever it is, users get a sentence and the log the trace
            _LOG.exception("an error inside of Lakebed")
            told = f"an error inside of Lakebed, {type(error).__name__}: {_line(error)}; please report it"
            exception = self._jvm.bridge.failure(told, LakebedError.__name__)
        meant = Py4JJavaError("", exception)
        setattr(meant, MEANT, True)
        raise meant

    return run


def _unchecked(jvm: Jvm, exception: Any) -> Any:
    """An exception that Java lets pass everywhere: most methods declare none, and Py4J would wrap it in one of its own."""
    from py4j.java_gateway import is_instance_of  # noqa: PLC0415 - Spark is optional

    if is_instance_of(jvm.gateway, exception, "java.lang.RuntimeException"):
        return exception
    return jvm.bridge.failure(str(exception.getMessage()), LakebedError.__name__)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def own_error(error: BaseException) -> LakebedError | None:
    """The error of ours that an exception of Spark stands for."""
    origin = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    while origin is not None and origin.getClass().getName() != _FAILURE:
        origin = origin.getCause()
    if origin is None:
        return None
    return known_error(origin.kind(), origin.getMessage())
