"""Temporary settings of a Spark session.

Most settings of Spark belong to the session, not to a query. Several threads may need the same setting at once: the
first one sets it, the last one restores the previous value.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(slots=True)
class _Lent:
    """The values to restore, and the number of users of the temporary ones."""

    before: Mapping[str, str | None] = field(default_factory=dict)
    users: int = 0


_lock: Final = threading.Lock()
_lent: weakref.WeakKeyDictionary[Any, dict[str, _Lent]] = weakref.WeakKeyDictionary()


@contextlib.contextmanager
def set_for_now(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Applies settings within a ``with`` block, unless the user has set the first of them."""
    guard = next(iter(settings))
    with _lock:
        lent = _lent.setdefault(spark, {}).setdefault(guard, _Lent())
        if not lent.users:
            given = spark.conf.getAll
            lent.before = {} if guard in given else {name: given.get(name) for name in settings}
            for name in lent.before:
                spark.conf.set(name, settings[name])
        lent.users += 1
    try:
        yield
    finally:
        with _lock:
            lent.users -= 1
            if not lent.users:
                for name, earlier in lent.before.items():
                    spark.conf.unset(name) if earlier is None else spark.conf.set(name, earlier)
