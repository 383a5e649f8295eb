"""Mark partitions as done: writes a file ``_SUCCESS`` to the folder of each, for jobs that wait for it.

The file contains the times when the partition was first and last marked, as Paimon writes it. A partition that is
marked as done can still be written to.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lakebed.errors import NotFoundError, OptionError, SchemaError, UnsupportedError
from lakebed.format.partition_names import partition_folder, partition_value
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions

SUCCESS_FILE: Final = "_SUCCESS"
_CREATED, _MODIFIED = "creationTime", "modificationTime"


def mark_partitions_done(store: TableStore, partitions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Mark partitions as done; returns the paths of the files. Values may be given as text."""
    schema = store.schema()
    options = TableOptions(schema.options)
    if not schema.partition_keys:
        raise OptionError(f"table {store.name} has no partitions, so none can be marked done")
    actions = options.partition_mark_done_action
    if actions != ("success-file",):
        raise UnsupportedError(
            f"table {store.name}: option 'partition.mark-done-action' is {','.join(actions)!r}, and Lakebed marks "
            "partitions with a file only; set it to 'success-file'"
        )
    now = time.time_ns() // 1_000_000
    paths = [_success_path(store, schema, options, partition) for partition in partitions]
    for path in paths:
        times = {_CREATED: _created(store, path, now), _MODIFIED: now}
        store.storage.replace(path, json.dumps(times, indent=2).encode(), sync=store.syncing())
    return paths


def _success_path(store: TableStore, schema: TableSchema, options: TableOptions, partition: Mapping[str, Any]) -> str:
    if set(partition) != set(schema.partition_keys):
        raise SchemaError(
            f"table {store.name}: a partition to be marked done has a value of each of "
            f"{', '.join(schema.partition_keys)}, not of {', '.join(partition) or 'none'}"
        )
    values = [partition_value(partition[field.name], field).as_py() for field in schema.partition_fields]
    folder = partition_folder(schema, values, options)
    parts = (store.paths.data_root(options.data_file_directory), folder, SUCCESS_FILE)
    return "/".join(part for part in parts if part)


def _created(store: TableStore, path: str, now: int) -> int:
    """Returns the time when the partition was marked for the first time."""
    try:
        known = json.loads(store.storage.read(path))
        return int(known[_CREATED])
    except (
        NotFoundError,
        ValueError,
        KeyError,
        TypeError,
    ):  # missing or not readable: this is the first time
        return now
