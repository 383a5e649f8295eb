"""Names of databases and tables in Spark's identifiers, and the options that settings of a session hold for a table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from lakebed.options import find
from lakebed.sql.jvm.jvm_values import Jvm
from lakebed.sql.jvm.proxy import JavaThrow

SETTINGS: Final = "spark.paimon."
_ANY: Final = "*"


def database_of(jvm: Jvm, namespace: Any) -> str:
    """Returns the database of a namespace; a namespace of several parts does not exist."""
    parts = list(namespace)
    if len(parts) != 1:
        raise no_such_namespace(jvm, namespace)
    return str(parts[0])


def no_such_namespace(jvm: Jvm, namespace: Any) -> JavaThrow:
    """Returns Spark's error for a missing database."""
    return JavaThrow(jvm.sql.catalyst.analysis.NoSuchNamespaceException(jvm.strings(list(namespace))))


def no_such_table(jvm: Jvm, ident: Any) -> JavaThrow:
    """Returns Spark's error for a missing table."""
    return JavaThrow(jvm.sql.catalyst.analysis.NoSuchTableException(ident))


def table_name(ident: Any) -> str | None:
    """Returns ``database.table`` of an identifier, ``None`` if it does not have two parts."""
    parts = list(ident.namespace())
    return f"{parts[0]}.{ident.name()}" if len(parts) == 1 else None


def session_options(jvm: Jvm, catalog: str, name: str) -> dict[str, str]:
    """Returns the options for a table in the settings of a session.

    ``spark.paimon.<option>`` is for all tables, ``spark.paimon.<catalog>.<database>.<table>.<option>`` for one table,
    or for several with ``*`` as a part. The more specific setting wins.
    """
    return options_for(catalog, name, json.loads(jvm.bridge.settings(jvm.session_state.conf(), SETTINGS)))


def options_for(catalog: str, name: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Returns the settings for a table, without their prefix. Unknown names apply to all tables, which refuse them.

    >>> options_for("lakebed", "db.t$snapshots", {"branch": "b", "lakebed.db.t.branch": "c", "other.db.t.bucket": "2"})
    {'branch': 'c'}
    """
    database, _, rest = name.partition(".")
    place = (catalog, database, rest.partition("$")[0])
    common: dict[str, str] = {}
    own: dict[str, str] = {}
    for key, value in settings.items():
        parts = key.split(".", 3)
        if len(parts) < 4 or find(key) is not None or find(parts[3]) is None:
            common[key] = value
        elif all(part in {wanted, _ANY} for part, wanted in zip(parts[:3], place, strict=True)):
            own[parts[3]] = value
    return {**common, **own}
