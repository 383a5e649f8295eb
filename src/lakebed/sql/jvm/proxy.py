"""Python objects that implement Java interfaces for Spark, and the errors that they raise.

A Lakebed error that a proxy raises becomes a Java exception with the same message and the name of its class
(``Failure.java``). :func:`own_error` converts it back.
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
"""Marks errors that are passed from Python to Java on purpose and should not be logged."""


class Proxy:
    """Implements Java interfaces: ``class Some(Proxy, implements=("java.util.function.Supplier",))``.

    All methods of the interfaces must exist in Python, also those with a default in Java.
    """

    Java: ClassVar[type]

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm

    def __init_subclass__(cls, implements: Sequence[str] = ()) -> None:
        """Tells Py4J which interfaces are implemented, and makes all public methods raise Java exceptions."""
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
        except CapturedException as error:  # an exception of Spark, which is passed back
            if error._origin is None:  # noqa: SLF001 - no public way
                raise
            exception = _unchecked(self._jvm, error._origin)  # noqa: SLF001 - no public way
        except LakebedError as error:
            exception = self._jvm.bridge.failure(str(error), type(error).__name__)
        except Py4JJavaError as error:  # any other exception of the JVM
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
    """Returns an unchecked exception: most methods declare none, and Py4J would wrap a checked one."""
    from py4j.java_gateway import is_instance_of  # noqa: PLC0415 - Spark is optional

    if is_instance_of(jvm.gateway, exception, "java.lang.RuntimeException"):
        return exception
    return jvm.bridge.failure(str(exception.getMessage()), LakebedError.__name__)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def own_error(error: BaseException) -> LakebedError | None:
    """Returns the Lakebed error behind an exception of Spark, ``None`` if there is none."""
    origin = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    while origin is not None and origin.getClass().getName() != _FAILURE:
        origin = origin.getCause()
    if origin is None:
        return None
    return known_error(origin.kind(), origin.getMessage())
