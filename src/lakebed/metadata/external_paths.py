"""Files outside of the table: which paths an entry of a manifest may give to its file.

Paimon can place data files outside of the table. The entry of such a file has its whole path. Lakebed reads, lists and
deletes it only if a schema of the table declares a root above it, in the option ``data-file.external-paths``. Any other
path is refused, because it could be a file of another table.
"""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import CorruptError
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions

_LOCAL_URI: Final = r"^file:(?://)?(/)"
_LEADS_UP: Final = r"(?:^|/)\.\.(?:/|$)|\x00"
_OPTION: Final = TableOptions.data_file_external_paths.name


def local_paths(external: pa.Array) -> pa.Array:
    """Returns external paths; those on the local disk without ``file:``."""
    return pc.replace_substring_regex(external, _LOCAL_URI, r"\1")


def declared_roots(schema: TableSchema) -> tuple[str, ...]:
    """Returns the folders outside of the table that a schema declares for its files, without a trailing slash."""
    given = TableOptions(schema.options).data_file_external_paths
    roots = (re.sub(_LOCAL_URI, r"\1", root).rstrip("/") for root in given)
    return tuple(root for root in roots if root)


def all_declared_roots(store: TableStore) -> tuple[str, ...]:
    """Returns the folders that any schema of the branch declares, because old files stay where they were written."""
    schemas = map(store.schemas.get, store.schemas.ids())
    return tuple(dict.fromkeys(root for schema in schemas for root in declared_roots(schema)))


def is_undeclared(store: TableStore, schema: TableSchema, paths: pa.Array) -> pa.Array:
    """Returns which external paths no declared root covers; null is not an external path."""
    undeclared = _is_outside(paths, declared_roots(schema))
    return _is_outside(paths, all_declared_roots(store)) if pc.any(undeclared).as_py() else undeclared


def _is_outside(paths: pa.Array, roots: tuple[str, ...]) -> pa.Array:
    outside = pc.is_valid(paths)
    for root in roots:
        outside = pc.and_not(outside, pc.starts_with(paths, f"{root}/").fill_null(False))
    return pc.or_(outside, pc.match_substring_regex(paths, _LEADS_UP).fill_null(False))


def checked_paths(store: TableStore, schema: TableSchema, external: pa.Array, names: pa.Array) -> pa.Array:
    """Returns external paths on the local disk without ``file:``, and raises CorruptError for an undeclared one."""
    paths = local_paths(external)
    undeclared = is_undeclared(store, schema, paths)
    if pc.any(undeclared).as_py():
        name, path = names.filter(undeclared)[0].as_py(), paths.filter(undeclared)[0].as_py()
        raise CorruptError(f"table {store.name}: {undeclared_text(name, path)}. {HOW_TO_DECLARE}")
    return paths


def undeclared_text(name: str, path: str) -> str:
    """Returns what is wrong with the path of a file."""
    return (
        f"file {name} has the external path {path!r}, which is not below a root that option {_OPTION!r} of the table "
        "declares, so the file is neither read nor deleted"
    )


HOW_TO_DECLARE: Final = (
    f"If it belongs to the table, add its root to {_OPTION!r} with Apache Paimon; otherwise restore the manifest from "
    "a backup, or roll back"
)
