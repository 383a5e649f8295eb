from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.format.manifest.avro_records import CODECS, RECORD, describe, fields_of, records_of, schema_on_disk, written
from tests.metadata.entries import (
    adds,
    blobs,
    entries,
    entry,
    file_names,
    int32s,
    int64s,
    names_of,
    random_tables,
    rows,
    same,
)

from lakebed.errors import CorruptError, UnsupportedError
from lakebed.format.manifest.manifest import (
    ADD,
    DELETE,
    ENTRY_SCHEMA,
    MANIFEST_AVRO,
    MANIFEST_LIST_AVRO,
    ManifestMeta,
    as_deletes,
    decode_manifest,
    decode_manifest_list,
    encode_manifest,
    encode_manifest_list,
    fold,
)

# FORMAT 4.2 and 4.3, field by field. "T?" is the union ["null", T] with default null.
STATS = """
_MIN_VALUES bytes
_MAX_VALUES bytes
_NULL_COUNTS array<["null", "long"]>?
"""
LIST_RECORD = """
_VERSION int
_FILE_NAME string
_FILE_SIZE long
_NUM_ADDED_FILES long
_NUM_DELETED_FILES long
_PARTITION_STATS record:record__PARTITION_STATS
_SCHEMA_ID long
_MIN_BUCKET int?
_MAX_BUCKET int?
_MIN_LEVEL int?
_MAX_LEVEL int?
_MIN_ROW_ID long?
_MAX_ROW_ID long?
_TOTAL_BUCKETS int?
_EXTRA_FILES array<"string">?
"""
ENTRY_RECORD = """
_VERSION int
_KIND int
_PARTITION bytes
_BUCKET int
_TOTAL_BUCKETS int
_FILE record:record__FILE
"""
FILE_RECORD = """
_FILE_NAME string
_FILE_SIZE long
_ROW_COUNT long
_MIN_KEY bytes
_MAX_KEY bytes
_KEY_STATS record:record__FILE__KEY_STATS
_VALUE_STATS record:record__FILE__VALUE_STATS
_MIN_SEQUENCE_NUMBER long
_MAX_SEQUENCE_NUMBER long
_SCHEMA_ID long
_LEVEL int
_EXTRA_FILES array<"string">
_CREATION_TIME long:timestamp-millis?
_DELETE_ROW_COUNT long?
_EMBEDDED_FILE_INDEX bytes?
_FILE_SOURCE int?
_VALUE_STATS_COLS array<"string">?
_EXTERNAL_PATH string?
_FIRST_ROW_ID long?
_WRITE_COLS array<"string">?
_WRITE_COLS_SEQUENCES array<"long">?
"""


# --------------------------------------------------------------------------------------------- writer schemas


def test_the_schema_of_a_manifest_list() -> None:
    schema = schema_on_disk(encode_manifest_list([]))
    assert schema["name"] == RECORD
    assert describe(schema) == LIST_RECORD
    stats = fields_of(schema)["_PARTITION_STATS"]
    assert stats["name"] == f"{RECORD}__PARTITION_STATS"
    assert describe(stats) == STATS


def test_the_schema_of_a_manifest() -> None:
    schema = schema_on_disk(encode_manifest(entries()))
    assert schema["name"] == RECORD
    assert describe(schema) == ENTRY_RECORD
    file = fields_of(schema)["_FILE"]
    assert file["name"] == f"{RECORD}__FILE"
    assert describe(file) == FILE_RECORD
    for part in ("_KEY_STATS", "_VALUE_STATS"):
        assert fields_of(file)[part]["name"] == f"{RECORD}__FILE_{part}"
        assert describe(fields_of(file)[part]) == STATS


# ---------------------------------------------------------------------------------------------- manifest lists

maybe_int = st.none() | int32s
metas = st.builds(
    ManifestMeta,
    file_name=file_names,
    file_size=int64s,
    num_added_files=int64s,
    num_deleted_files=int64s,
    partition_min=blobs,
    partition_max=blobs,
    partition_null_counts=st.lists(st.none() | int64s, max_size=3).map(tuple),
    schema_id=int64s,
    min_bucket=maybe_int,
    max_bucket=maybe_int,
    min_level=maybe_int,
    max_level=maybe_int,
    min_row_id=st.none() | int64s,
    max_row_id=st.none() | int64s,
    total_buckets=maybe_int,
    extra_files=st.none() | st.lists(file_names, max_size=2).map(tuple),
)
META = ManifestMeta(
    file_name="manifest-0",
    file_size=10,
    num_added_files=1,
    num_deleted_files=0,
    partition_min=b"",
    partition_max=b"",
    partition_null_counts=(),
    schema_id=0,
)


@given(st.lists(metas, max_size=4), st.sampled_from(CODECS))
def test_a_list_round_trips(listed: list[ManifestMeta], codec: str) -> None:
    assert decode_manifest_list(encode_manifest_list(listed, codec=codec), where="l") == listed


def test_the_version_on_disk_is_2() -> None:
    assert records_of(encode_manifest_list([META]))[0]["_VERSION"] == 2
    assert records_of(encode_manifest(adds("x")))[0]["_VERSION"] == 2


@pytest.mark.parametrize("version", [1, 3])
def test_another_version_of_a_list_is_refused(version: int) -> None:
    records = [{**record, "_VERSION": version} for record in records_of(encode_manifest_list([META]))]
    with pytest.raises(UnsupportedError, match=f"^manifest/l-0 has manifest version {version}, .*version 2; upgrade"):
        decode_manifest_list(written(MANIFEST_LIST_AVRO, records), where="manifest/l-0")


@pytest.mark.parametrize("fields", range(7, 16))
def test_older_lists_are_read(fields: int) -> None:
    """paimon-spark 0.9 writes 7 fields, Java 2.0 13, pypaimon 2.1 15."""
    schema = schema_on_disk(encode_manifest_list([]))
    schema["fields"] = schema["fields"][:fields]
    (meta,) = decode_manifest_list(written(schema, records_of(encode_manifest_list([META]))), where="l")
    assert meta == META


def test_what_is_no_list_is_named() -> None:
    with pytest.raises(CorruptError, match=r"^l is not a manifest list"):
        decode_manifest_list(encode_manifest(adds("x")), where="l")
    with pytest.raises(CorruptError, match=r"^l is not a manifest list"):
        decode_manifest_list(written({"type": "array", "items": "int"}, [[1]]), where="l")  # type: ignore[list-item]
    with pytest.raises(CorruptError, match=r"^l is not an Avro file"):
        decode_manifest_list(b"", where="l")


LIST = {codec: encode_manifest_list([META] * 3, codec=codec) for codec in CODECS}


@settings(max_examples=examples(200))
@given(st.sampled_from(CODECS), st.data())
def test_a_damaged_list_never_gives_another_error(codec: str, data: st.DataObject) -> None:
    broken = bytearray(LIST[codec])
    for place in data.draw(st.lists(st.integers(0, len(broken) - 1), max_size=2)):
        broken[place] ^= 1 << data.draw(st.integers(0, 7))
    cut = data.draw(st.just(len(broken)) | st.integers(0, len(broken)))
    try:
        decode_manifest_list(bytes(broken[:cut]), where="manifest/l-0")
    except (CorruptError, UnsupportedError) as error:
        assert str(error).startswith("manifest/l-0 ")  # noqa: PT017 - one of several outcomes


# ---------------------------------------------------------------------------------------------------- entries


@settings(max_examples=examples(60), deadline=None)
@given(random_tables, st.sampled_from(CODECS))
def test_a_manifest_round_trips(table: pa.Table, codec: str) -> None:
    decoded = decode_manifest(encode_manifest(table, codec=codec), where="m")
    assert decoded.schema.equals(ENTRY_SCHEMA)
    assert same(decoded, table)


@pytest.mark.parametrize("version", [1, 3])
def test_another_version_of_a_manifest_is_refused(version: int) -> None:
    records = records_of(encode_manifest(adds("a", "b")))
    records[1]["_VERSION"] = version
    with pytest.raises(UnsupportedError, match=f"^manifest/m-0 has manifest version {version}, .*upgrade"):
        decode_manifest(written(MANIFEST_AVRO, records), where="manifest/m-0")


@pytest.mark.parametrize("absent", ["_FILE_NAME", "_KEY_STATS", "_EXTRA_FILES", "_LEVEL"])
def test_an_entry_without_what_it_needs_is_named(absent: str) -> None:
    schema = schema_on_disk(encode_manifest(entries()))
    file = fields_of(schema)["_FILE"]
    file["fields"] = [field for field in file["fields"] if field["name"] != absent]
    with pytest.raises(CorruptError, match=f"^m is not a manifest: .*entries lack {absent}"):
        decode_manifest(written(schema, records_of(encode_manifest(adds("x")))), where="m")


def test_the_creation_time_is_wall_clock_time_labelled_as_utc() -> None:
    (record,) = records_of(encode_manifest(adds("x")))
    assert record["_FILE"]["_CREATION_TIME"].isoformat() == "2025-01-02T03:04:05.678000+00:00"


def test_as_deletes_changes_nothing_but_the_kind() -> None:
    table = adds("a", "b", level=3, extra_files=["x"], embedded_index=b"1", external_path="p")
    deletes = as_deletes(table)
    assert deletes.schema.equals(table.schema)
    assert rows(deletes) == [{**row, "kind": DELETE} for row in rows(table)]
    assert len(as_deletes(entries())) == 0


# ------------------------------------------------------------------------------------------------------ folding


def identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    names = ("partition", "bucket", "level", "file_name", "embedded_index", "external_path")
    return (*(row[name] for name in names), tuple(row["extra_files"]))


def model(listed: list[dict[str, Any]], *, partial: bool) -> list[dict[str, Any]] | None:
    """What folding means, one entry after the other; ``None`` for damage."""
    standing: dict[tuple[Any, ...], dict[str, Any]] = {}
    last: dict[tuple[Any, ...], int] = {}
    for row in listed:
        key = identity(row)
        if last.get(key) == row["kind"]:
            return None
        last[key] = row["kind"]
        if standing.pop(key, None) is None:
            standing[key] = row
    left = list(standing.values())
    if not partial and any(row["kind"] == DELETE for row in left):
        return None
    return sorted(left, key=lambda row: int(row["file_size"]))


few = st.fixed_dictionaries(
    {
        "kind": st.sampled_from([ADD, ADD, DELETE]),
        "partition": st.sampled_from([b"p", b"q"]),
        "bucket": st.sampled_from([0, 1]),
        "level": st.sampled_from([0, 5]),
        "file_name": st.sampled_from(["a", "b", "c"]),
        "extra_files": st.sampled_from([[], ["x"], ["x", "y"]]),
        "embedded_index": st.sampled_from([None, None, b"", b"i"]),
        "external_path": st.sampled_from([None, None, "", "e"]),
    }
)
one_place = few.map(
    lambda row: {
        **row,
        "partition": b"p",
        "bucket": 0,
        "extra_files": [],
        "embedded_index": None,
        "external_path": None,
    }
)


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(few | one_place, max_size=12), st.booleans())
def test_folding_is_what_the_model_says(changes: list[dict[str, Any]], partial: bool) -> None:
    listed = [entry(**change, file_size=number) for number, change in enumerate(changes)]
    wanted = model(listed, partial=partial)
    if wanted is None:
        with pytest.raises(CorruptError, match=r"^place: file . is (added twice|deleted twice|deleted but was never)"):
            fold(entries(*listed), partial=partial, where="place")
    else:
        assert same(fold(entries(*listed), partial=partial, where="place"), entries(*wanted))


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_folding_in_parts_is_folding(data: st.DataObject) -> None:
    """A history that makes sense, cut anywhere: folding the parts and then their results gives the same."""
    live: list[dict[str, Any]] = []
    history: list[dict[str, Any]] = []
    for number in range(data.draw(st.integers(0, 12))):
        action = data.draw(st.sampled_from(["add", "delete", "upgrade"]))
        if action == "add" or not live:
            live.append(entry(f"f{number}"))
            history.append(live[-1])
        else:
            gone = live.pop(data.draw(st.integers(0, len(live) - 1)))
            history.append({**gone, "kind": DELETE})
            if action == "upgrade":  # the same file on another level is another file
                live.append({**gone, "level": gone["level"] + 1})
                history.append(live[-1])
    cut = data.draw(st.integers(0, len(history)))
    parts = [fold(entries(*part), partial=True) for part in (history[:cut], history[cut:])]
    folded = fold(pa.concat_tables(parts))
    assert sorted(map(identity, rows(folded)), key=str) == sorted(map(identity, live), key=str)
    assert same(folded.sort_by("file_name"), fold(entries(*history)).sort_by("file_name"))


def test_folding_keeps_the_order_of_entries() -> None:
    table = pa.concat_tables([adds("c", "a"), adds("b"), as_deletes(adds("a")), adds("d")])
    assert names_of(fold(table)) == ["c", "b", "d"]


def test_the_same_name_in_two_partitions_is_two_files() -> None:
    table = pa.concat_tables([adds("a", partition=b"p"), adds("a", partition=b"q")])
    assert len(fold(table)) == 2
    assert len(fold(pa.concat_tables([table, as_deletes(adds("a", partition=b"q"))]))) == 1


def test_a_delete_must_repeat_the_whole_identity() -> None:
    for change in (
        {"level": 1},
        {"extra_files": ["x"]},
        {"embedded_index": b"i"},
        {"external_path": "p"},
        {"bucket": 1},
    ):
        table = pa.concat_tables([adds("a"), as_deletes(adds("a", **change))])
        with pytest.raises(CorruptError, match="file a is deleted but was never added"):
            fold(table)


def test_folding_chunked_and_sliced_tables() -> None:
    table = pa.concat_tables([adds("a", "b"), as_deletes(adds("a")), adds("c")])
    assert table["kind"].num_chunks > 1
    assert names_of(fold(table)) == ["b", "c"]
    assert names_of(fold(table.slice(1, 1))) == ["b"]
    assert names_of(fold(table.slice(1), partial=True)) == ["b", "a", "c"]
    assert len(fold(table.slice(0, 0))) == 0
