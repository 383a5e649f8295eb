"""The bytes of the history index, a sidecar: one line per snapshot, with what a page of history filters and shows.

:data:`ROW_SCHEMA` lists the fields of a line. A segment of the index is a text file for a range of :data:`SEGMENT` ids.
Its lines are in any order; if two lines have the same id, the later one counts. Lines are only appended, each in one
write. A line begins and ends with a line break, so an incomplete line after a crash cannot damage the next one, and its
last field ends with an end mark. Incomplete lines are skipped. A file with a complete line that is not valid is refused
and rebuilt.

The last field is the watermark and the mark. Lines of earlier versions have the mark alone: their watermark is not
known.

``check`` identifies the snapshot: after a rollback the same id belongs to another snapshot with another check.
``previous`` is the check of the snapshot before. Consecutive lines whose checks match form a chain. An id is only used
again after all later snapshots were deleted, so if the last line of a chain is up to date, the whole chain is
(:func:`chains`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import quote, unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from lakebed.errors import CorruptError
from lakebed.format.commit_facts import BYTES_ADDED, BYTES_DELETED, FILES_ADDED, FILES_DELETED, read_count
from lakebed.format.snapshot import NO_WATERMARK, CommitKind, Snapshot

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
"""The check of an unknown snapshot."""

ROW_SCHEMA: Final = pa.schema(
    [
        *((name, pa.int64()) for name in _NUMBERS),
        ("commit_kind", pa.string()),
        ("quoted_user", pa.string()),
        ("watermark", pa.int64()),
    ]
)
"""The fields of a line. Counts of files and bytes are null if the writer did not record them.

The watermark is :data:`~lakebed.format.snapshot.NO_WATERMARK` if there is none, and null if the line does not tell.
"""

NO_ROWS: Final = ROW_SCHEMA.empty_table()
_KINDS: Final = pa.array([str(kind) for kind in CommitKind])
_COLUMN_TYPES: Final = {
    **{field.name: field.type for field in ROW_SCHEMA if field.name != "watermark"},
    "end": pa.string(),
}
_WHOLE: Final = r"^(?:-?[0-9]+)?\.$"


def segment_of(snapshot_id: int) -> int:
    """Returns the number of the segment that a snapshot belongs to.

    >>> segment_of(1), segment_of(1023), segment_of(1024)
    (0, 0, 1)
    """
    return snapshot_id // SEGMENT


def quoted(user: str) -> str:
    r"""Returns a commit user as a field of a line.

    >>> quoted("flink job\t1")
    'flink%20job%091'
    """
    return quote(user, safe="", errors="surrogatepass")


def unquoted(fields: pa.ChunkedArray) -> pa.Array:
    """Returns the commit users of fields of lines; what is no text becomes a replacement character.

    >>> unquoted(pa.chunked_array([["flink%20job", "a"]])).to_pylist()
    ['flink job', 'a']
    """
    coded = fields.combine_chunks().dictionary_encode()
    users = pa.array([unquote(user, errors="replace") for user in coded.dictionary.to_pylist()], pa.string())
    return users.take(coded.indices)


def check_of(snapshot: Snapshot) -> int:
    """Returns a number that identifies a snapshot among all that ever had its id."""
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
    """Returns the line of a snapshot; ``previous`` is the check of the snapshot before it."""
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
        f"{NO_WATERMARK if snapshot.watermark is None else _clipped(snapshot.watermark)}{_END}",
    )
    return ("\n" + "\t".join(map(str, fields)) + "\n").encode()


def chains(rows: pa.Table) -> tuple[Places, Places]:
    """Returns the first and the last row of each chain; the rows are sorted by id."""
    ids, checks, previous = (rows[name].to_numpy() for name in ("id", "check", "previous"))
    breaks = np.flatnonzero((ids[1:] != ids[:-1] + 1) | (previous[1:] != checks[:-1]))
    last = np.full(min(1, len(ids)), len(ids) - 1)
    return np.concatenate([last * 0, breaks + 1]), np.concatenate([breaks, last])


def encode_rows(rows: pa.Table) -> bytes:
    """Returns the lines of rows that were decoded before."""
    texts = [column.cast(pa.string()).combine_chunks().fill_null("") for column in rows.select(ROW_SCHEMA.names)]
    *texts, watermarks = texts
    lines = pc.binary_join_element_wise(*texts, pc.binary_join_element_wise(watermarks, _END, ""), "\t")
    return ("\n" + "\n\n".join(lines.to_pylist()) + "\n").encode() if len(rows) else b""


def _clipped(number: int) -> int:
    """Returns a number limited to 64 bits.

    Other writers may exceed them; pages show numbers from the snapshot itself.
    """
    return min(max(number, _LEAST), _GREATEST)


def _count(properties: Mapping[str, str], key: str) -> int | str:
    count = read_count(properties, key)
    return "" if count is None else count


def decode_rows(data: bytes, *, where: str) -> tuple[pa.Table, int]:
    """Returns the rows of a segment, sorted by id without duplicates, and the number of all its lines."""
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
    whole = lines.filter(pc.match_substring_regex(lines["end"], _WHOLE))
    known = pc.all(pc.is_in(whole["commit_kind"], value_set=_KINDS), min_count=0).as_py()
    if not known or any(whole[name].null_count for name in ("id", "check", "previous", "time_millis")):
        raise CorruptError(f"{where} is not a segment of a history index; delete it")
    try:
        watermarks = _watermarks(whole["end"])
    except pa.ArrowException:
        raise CorruptError(f"{where} is not a segment of a history index; delete it") from None
    return last_by_id(whole.drop(["end"]).append_column(ROW_SCHEMA.field("watermark"), watermarks)), len(lines)


def _watermarks(ends: pa.ChunkedArray) -> pa.ChunkedArray:
    texts = pc.utf8_rtrim(ends, _END)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts).cast(pa.int64())


def last_by_id(rows: pa.Table) -> pa.Table:
    """Returns the last row of each id, by id."""
    ids = rows["id"].to_numpy()
    _, from_the_end = np.unique(ids[::-1], return_index=True)
    return rows.take(pa.array(len(ids) - 1 - from_the_end))
