"""The lines of a history index: what a page of history asks of a snapshot, without the snapshot's file.

A segment of the index is a text file with a line for each snapshot of a range of :data:`SEGMENT` ids, in any order; of two
lines about one id the later counts. Lines are only ever added at the end, each in one write, and begin and end with a line
break: what a crash leaves of one cannot run into the next. The last field of a line is its end mark. A line that is not
whole is skipped; a file with a line that is whole and makes no sense is refused, and made anew.

``check`` tells whether a line is about the snapshot that has its id now, or about one that had it before a rollback;
``previous`` is the check of the snapshot that it was built on. Lines whose checks meet are a chain: ids are used again only
after every later snapshot went, so if the last line of a chain holds, all of it does (:func:`chains`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from lakebed.errors import CorruptError
from lakebed.format.commit_facts import BYTES_ADDED, BYTES_DELETED, FILES_ADDED, FILES_DELETED, read_count
from lakebed.format.snapshot import CommitKind, Snapshot

Places: TypeAlias = npt.NDArray[np.int64]

SEGMENT: Final = 1024
_NUMBERS: Final = (
    "id",
    "check",
    "previous",
    "time_millis",
    "commit_identifier",
    "total_record_count",
    "delta_record_count",
    "changelog_record_count",
    "files_added",
    "files_deleted",
    "bytes_added",
    "bytes_deleted",
)
_LEAST, _GREATEST = -(2**63), 2**63 - 1
_END: Final = "."
UNKNOWN: Final = 0
"""The check of a snapshot that nobody knows."""

ROW_SCHEMA: Final = pa.schema(
    [*((name, pa.int64()) for name in _NUMBERS), ("commit_kind", pa.string()), ("quoted_user", pa.string())]
)
"""What the index knows of a snapshot. Files and bytes are null where the writer did not note them."""

NO_ROWS: Final = ROW_SCHEMA.empty_table()
_KINDS: Final = pa.array([str(kind) for kind in CommitKind])
_COLUMN_TYPES: Final = {**{field.name: field.type for field in ROW_SCHEMA}, "end": pa.string()}


def segment_of(snapshot_id: int) -> int:
    """The number of the segment that a snapshot belongs to.

    >>> segment_of(1), segment_of(1023), segment_of(1024)
    (0, 0, 1)
    """
    return snapshot_id // SEGMENT


def quoted(user: str) -> str:
    r"""A commit user as a field of a line.

    >>> quoted("flink job\t1")
    'flink%20job%091'
    """
    return quote(user, safe="", errors="surrogatepass")


def check_of(snapshot: Snapshot) -> int:
    """A number that another snapshot under the same id would not have."""
    parts = (
        snapshot.id,
        snapshot.uuid,
        snapshot.base_manifest_list,
        snapshot.delta_manifest_list,
        snapshot.commit_user,
        snapshot.commit_identifier,
        snapshot.commit_kind,
        snapshot.time_millis,
        snapshot.total_record_count,
        snapshot.delta_record_count,
    )
    text = "\0".join(map(str, parts)).encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), signed=True)


def encode_line(snapshot: Snapshot, previous: int = UNKNOWN) -> bytes:
    """The line of one snapshot, that was built on the one with this check."""
    properties = snapshot.properties
    fields: tuple[Any, ...] = (
        _clipped(snapshot.id),
        check_of(snapshot),
        previous,
        _clipped(snapshot.time_millis),
        _clipped(snapshot.commit_identifier),
        _clipped(snapshot.total_record_count),
        _clipped(snapshot.delta_record_count),
        "" if snapshot.changelog_record_count is None else _clipped(snapshot.changelog_record_count),
        _count(properties, FILES_ADDED),
        _count(properties, FILES_DELETED),
        _count(properties, BYTES_ADDED),
        _count(properties, BYTES_DELETED),
        snapshot.commit_kind,
        quoted(snapshot.commit_user),
        _END,
    )
    return ("\n" + "\t".join(map(str, fields)) + "\n").encode()


def chains(rows: pa.Table) -> tuple[Places, Places]:
    """Where the chains of rows, which are sorted by id, begin and end (the last row of each, included)."""
    ids, checks, previous = (rows[name].to_numpy() for name in ("id", "check", "previous"))
    breaks = np.flatnonzero((ids[1:] != ids[:-1] + 1) | (previous[1:] != checks[:-1]))
    last = np.full(min(1, len(ids)), len(ids) - 1)
    return np.concatenate([last * 0, breaks + 1]), np.concatenate([breaks, last])


def encode_rows(rows: pa.Table) -> bytes:
    """The lines of rows that were decoded before."""
    texts = [column.cast(pa.string()).combine_chunks().fill_null("") for column in rows.select(ROW_SCHEMA.names)]
    lines = pc.binary_join_element_wise(*texts, _END, "\t")
    return ("\n" + "\n\n".join(lines.to_pylist()) + "\n").encode() if len(rows) else b""


def _clipped(number: int) -> int:
    """Others may write numbers that fit no column; a page shows them from the snapshot itself."""
    return min(max(number, _LEAST), _GREATEST)


def _count(properties: Mapping[str, str], key: str) -> int | str:
    count = read_count(properties, key)
    return "" if count is None else count


def decode_rows(data: bytes, *, where: str) -> tuple[pa.Table, int]:
    """The rows of a segment, each id once, by id; and the number of lines, to tell when many are outdated."""
    if not data.strip():
        return NO_ROWS, 0
    if not data.isascii():
        raise CorruptError(f"{where} is not a segment of a history index; delete it")
    try:
        lines = csv.read_csv(
            pa.BufferReader(data),
            read_options=csv.ReadOptions(column_names=list(_COLUMN_TYPES), use_threads=False, block_size=len(data) + 1),
            parse_options=csv.ParseOptions(
                delimiter="\t", quote_char=False, double_quote=False, invalid_row_handler=lambda _: "skip"
            ),
            convert_options=csv.ConvertOptions(column_types=_COLUMN_TYPES, null_values=[""], strings_can_be_null=False),
        )
    except pa.ArrowException as error:
        raise CorruptError(f"{where} is not a segment of a history index ({error}); delete it") from None
    whole = lines.filter(pc.equal(lines["end"], _END))
    known = pc.all(pc.is_in(whole["commit_kind"], value_set=_KINDS), min_count=0).as_py()
    if not known or any(whole[name].null_count for name in ("id", "check", "previous", "time_millis")):
        raise CorruptError(f"{where} is not a segment of a history index; delete it")
    return last_by_id(whole.select(ROW_SCHEMA.names)), len(lines)


def last_by_id(rows: pa.Table) -> pa.Table:
    """The last row of each id, by id."""
    ids = rows["id"].to_numpy()
    _, from_the_end = np.unique(ids[::-1], return_index=True)
    return rows.take(pa.array(len(ids) - 1 - from_the_end))
