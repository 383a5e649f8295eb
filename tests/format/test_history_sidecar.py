"""The lines of a history index: what is written is read, and half a line harms nobody."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import CorruptError
from lakebed.format.history_sidecar import (
    NO_ROWS,
    chains,
    check_of,
    decode_rows,
    encode_line,
    encode_rows,
    last_by_id,
    quoted,
    segment_of,
)
from lakebed.format.snapshot import NO_WATERMARK, CommitKind, Snapshot

numbers = st.integers(-(2**63), 2**63 - 1)
counts = st.none() | st.integers(0, 10**15).map(str)


@st.composite
def snapshots(draw: st.DrawFn, ids: st.SearchStrategy[int] = numbers) -> Snapshot:
    noted = {f"lakebed.{name}": draw(counts) for name in ("files-added", "files-deleted", "bytes-added")}
    return Snapshot(
        id=draw(ids),
        schema_id=0,
        base_manifest_list=draw(st.text(max_size=5)),
        delta_manifest_list="d",
        commit_user=draw(st.text(max_size=12)),
        commit_identifier=draw(numbers),
        commit_kind=draw(st.sampled_from(CommitKind)),
        time_millis=draw(numbers),
        total_record_count=draw(numbers),
        delta_record_count=draw(numbers),
        changelog_record_count=draw(st.none() | numbers),
        watermark=draw(st.none() | numbers),
        properties={key: value for key, value in noted.items() if value is not None},
    )


def row_of(snapshot: Snapshot, previous: int = 0) -> dict[str, Any]:
    noted = {
        name.replace("-", "_"): snapshot.properties.get(f"lakebed.{name}")
        for name in ("files-added", "files-deleted", "bytes-added", "bytes-deleted")
    }
    names = ("id", "time_millis", "commit_identifier", "total_record_count", "delta_record_count")
    return {
        **{name: getattr(snapshot, name) for name in (*names, "changelog_record_count")},
        **{name: None if text is None else int(text) for name, text in noted.items()},
        "commit_kind": str(snapshot.commit_kind),
        "quoted_user": quoted(snapshot.commit_user),
        "check": check_of(snapshot),
        "previous": previous,
        "watermark": NO_WATERMARK if snapshot.watermark is None else snapshot.watermark,
    }


def decoded(data: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = decode_rows(data, where="here")[0].to_pylist()
    return rows


@given(st.lists(st.tuples(snapshots(), numbers), max_size=6))
def test_what_is_written_is_read(made: list[tuple[Snapshot, int]]) -> None:
    data = b"".join(encode_line(*one) for one in made)
    wanted = {snapshot.id: row_of(snapshot, previous) for snapshot, previous in made}
    assert decoded(data) == [wanted[number] for number in sorted(wanted)], "of each id the last line"
    rows, lines = decode_rows(data, where="here")
    assert lines == len(made)
    assert decode_rows(encode_rows(rows), where="here")[0].equals(rows)


@given(snapshots(), snapshots(), snapshots(), st.data())
def test_what_is_left_of_a_line_harms_no_other(
    one: Snapshot, torn: Snapshot, other: Snapshot, data: st.DataObject
) -> None:
    line = encode_line(torn)
    cut = data.draw(st.integers(0, len(line) - 2))  # without the last line break it is whole
    wanted = {snapshot.id: row_of(snapshot) for snapshot in (one, other)}
    for text in (
        encode_line(one) + line[:cut] + encode_line(other),
        encode_line(one) + encode_line(other) + line[:cut],
        bytes(cut) + encode_line(one) + encode_line(other),
    ):
        assert decoded(text) == [wanted[number] for number in sorted(wanted)]


@given(snapshots(ids=st.integers(1, 2)), snapshots(ids=st.integers(3, 4)))
def test_lines_from_before_watermarks_are_read(old: Snapshot, new: Snapshot) -> None:
    """Their watermark is not known, and stays so if they are written again."""
    *fields, _ = encode_line(old).split(b"\t")
    line = b"\t".join([*fields, b".\n"])
    rows, _ = decode_rows(line + encode_line(new), where="here")
    assert rows.to_pylist() == [{**row_of(old), "watermark": None}, row_of(new)]
    assert decode_rows(encode_rows(rows), where="here")[0].equals(rows)


@pytest.mark.parametrize(
    "change",
    [
        (b"\t-9223372036854775808.", b"\t-9223372036854775809."),
        (b"APPEND", b"APPENT"),
        (b"\t5\t", b"\tfive\t"),
        (b"\t5\t", b"\t\t"),
        (b"user", b"\xff"),
    ],
)
def test_lines_that_make_no_sense_are_refused(change: tuple[bytes, bytes]) -> None:
    snapshot = Snapshot(
        id=7,
        schema_id=0,
        base_manifest_list="b",
        delta_manifest_list="d",
        commit_user="user",
        commit_identifier=1,
        commit_kind=CommitKind.APPEND,
        time_millis=5,
        total_record_count=1,
        delta_record_count=1,
    )
    line = encode_line(snapshot)
    assert change[0] in line
    with pytest.raises(CorruptError, match="here is not a segment"):
        decode_rows(line.replace(*change), where="here")


@given(st.lists(snapshots(), min_size=2, max_size=5, unique_by=check_of))
def test_other_snapshots_have_other_checks(made: list[Snapshot]) -> None:
    assert len({check_of(one) for one in made}) == len(made)
    assert all(-(2**63) <= check_of(one) < 2**63 for one in made)


def chained(ids: list[int], checks: list[int], previous: list[int]) -> pa.Table:
    columns = {"id": ids, "check": checks, "previous": previous}
    rest = {field.name: pa.nulls(len(ids), field.type) for field in NO_ROWS.schema if field.name not in columns}
    return pa.table({**{name: pa.array(part, pa.int64()) for name, part in columns.items()}, **rest})


def test_chains() -> None:
    found = chains(chained([3, 4, 5, 7, 8, 9], [30, 40, 50, 70, 80, 90], [0, 30, 40, 50, 70, 1]))
    assert [part.tolist() for part in found] == [[0, 3, 5], [2, 4, 5]]
    assert [part.tolist() for part in chains(NO_ROWS)] == [[], []]
    assert [part.tolist() for part in chains(chained([3], [1], [0]))] == [[0], [0]]


def test_the_last_row_of_each_id() -> None:
    rows = last_by_id(chained([2, 1, 2], [1, 2, 3], [0, 0, 0]))
    assert rows["id"].to_pylist() == [1, 2]
    assert rows["check"].to_pylist() == [2, 3]


def test_nothing() -> None:
    assert decode_rows(b"", where="here") == (NO_ROWS, 0)
    assert decode_rows(b"\n\n", where="here") == (NO_ROWS, 0)
    assert encode_rows(NO_ROWS) == b""
    assert [segment_of(number) for number in (1, 1023, 1024, 2048)] == [0, 0, 1, 2]
