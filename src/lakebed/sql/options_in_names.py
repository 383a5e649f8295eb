"""Options of a query in table names, for Spark 4.1 and 4.2. ``OptionsInNames.java``, the Java side, says why.

Since Spark 4.3 tables are loaded with the options of a query. Before that, tables that a statement names get them
through their names, and tables of ``spark.read.option(...).table(...)`` get them with their scans.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from lakebed.options import TableOptions
from lakebed.sql.jvm.jvm_values import Jvm, version_numbers

_OPTIONS_WHEN_LOADED: Final = (4, 3)
DELTA_MERGE_SCHEMA: Final = "mergeSchema"


def passes_options(version: str) -> bool:
    """Whether this version of Spark passes the options of a query to the catalog when it loads a table."""
    return version_numbers(version) >= _OPTIONS_WHEN_LOADED


def as_table_options(given: Mapping[Any, Any]) -> dict[str, str]:
    """Returns the options of a query; ``mergeSchema``, as Delta calls it, is ``write.merge-schema``."""
    ours = TableOptions.write_merge_schema.name
    return {ours if str(k).lower() == DELTA_MERGE_SCHEMA.lower() else str(k): str(v) for k, v in dict(given).items()}


def check_parser(jvm: Jvm) -> None:
    """Raises an error of Java if the session has no parser that could be wrapped."""
    jvm.session_state.getClass().getDeclaredField("sqlParser")


def put_options_in_names(jvm: Jvm, catalog: str) -> None:
    """Makes the parser of a session put the options of a query into the names of this catalog's tables."""
    jvm.bridge.putOptionsInNames(jvm.session_state, catalog)


def name_and_options(jvm: Jvm, name: str) -> tuple[str, dict[str, str]]:
    """Returns the name of a table without options, and the options that were in it."""
    plain, options = jvm.bridge.nameAndOptions(name)
    return plain, json.loads(options)


def no_such_table(jvm: Jvm, name: str) -> Any:
    """Returns Spark's exception for a missing ``database.table``; Spark itself would show the options in the name."""
    return jvm.bridge.noSuchTable(*name.split(".", 1))
