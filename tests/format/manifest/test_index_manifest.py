from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.format.manifest.avro_records import CODECS, RECORD, describe, fields_of, records_of, schema_on_disk, written
from tests.metadata.entries import blobs, file_names, int32s, int64s, texts

from lakebed.errors import CommitConflictError, CorruptError, UnsupportedError
from lakebed.format.index_files.deletion_vector import VectorRange
from lakebed.format.manifest.index_manifest import (
    DELETION_VECTORS,
    HASH,
    INDEX_MANIFEST_AVRO,
    IndexEntry,
    combine,
    decode_index_manifest,
    encode_index_manifest,
)
from lakebed.format.manifest.manifest import ADD, DELETE

# FORMAT 4.5, with the array's items as Java writes them. "T?" is the union ["null", T] with default null.
INDEX_RECORD = """
_VERSION int
_KIND int
_PARTITION bytes
_BUCKET int
_INDEX_TYPE string
_FILE_NAME string
_FILE_SIZE long
_ROW_COUNT long
_EXTERNAL_PATH string?
_GLOBAL_INDEX record:record__GLOBAL_INDEX?
"""
RANGE_RECORD = """
f0 string
f1 int
f2 int
_CARDINALITY long?
"""
GLOBAL_RECORD = """
_ROW_RANGE_START long
_ROW_RANGE_END long
_INDEX_FIELD_ID int
_EXTRA_FIELD_IDS array<"int">?
_INDEX_META bytes?
_SOURCE_META bytes?
"""

ranges = st.builds(VectorRange, texts, int32s, int32s, st.none() | int64s)
global_indexes = st.fixed_dictionaries(
    {
        "_ROW_RANGE_START": int64s,
        "_ROW_RANGE_END": int64s,
        "_INDEX_FIELD_ID": int32s,
        "_EXTRA_FIELD_IDS": st.none() | st.lists(int32s, max_size=2),
        "_INDEX_META": st.none() | blobs,
        "_SOURCE_META": st.none() | blobs,
    }
)
index_entries = st.builds(
    IndexEntry,
    kind=st.sampled_from([ADD, DELETE]),
    partition=blobs,
    bucket=int32s,
    index_type=texts,
    file_name=file_names,
    file_size=int64s,
    row_count=int64s,
    vectors=st.none() | st.lists(ranges, max_size=3).map(tuple),
    external_path=st.none() | texts,
    global_index=st.none() | global_indexes,
)


def index(
    name: str, *, kind: int = ADD, index_type: str = DELETION_VECTORS, files: str = "", **more: Any
) -> IndexEntry:
    """An index file; ``files`` are the (one letter) data files whose deletion vectors it holds."""
    vectors = tuple(VectorRange(file, 1, 10, 1) for file in files) if index_type == DELETION_VECTORS else None
    given = {"partition": b"p", "bucket": 0, "file_size": 10, "row_count": len(files), **more}
    return IndexEntry(kind=kind, index_type=index_type, file_name=name, vectors=vectors, **given)


def names(listed: list[IndexEntry]) -> list[str]:
    return sorted(entry.file_name for entry in listed)


def test_the_schema_on_disk() -> None:
    schema = schema_on_disk(encode_index_manifest([]))
    assert schema["name"] == RECORD
    order = [field["name"] for field in schema["fields"]]
    assert order.index("_DELETIONS_VECTORS_RANGES") == 8
    (null, array) = fields_of(schema)["_DELETIONS_VECTORS_RANGES"]
    assert null == "null"
    assert schema["fields"][8]["default"] is None
    assert (array["type"], array["items"][0]) == ("array", "null")
    assert array["items"][1]["name"] == f"{RECORD}__DELETIONS_VECTORS_RANGES"
    assert describe(array["items"][1]) == RANGE_RECORD
    assert describe(fields_of(schema)["_GLOBAL_INDEX"][1]) == GLOBAL_RECORD
    del schema["fields"][8]
    assert describe(schema) == INDEX_RECORD


@given(st.lists(index_entries, max_size=4), st.sampled_from(CODECS))
def test_an_index_manifest_round_trips(listed: list[IndexEntry], codec: str) -> None:
    assert decode_index_manifest(encode_index_manifest(listed, codec=codec), where="i") == listed


def test_what_pypaimon_and_older_versions_write_is_read() -> None:
    """pypaimon's items are plain records; paimon-spark 0.9 has 9 fields and no cardinality."""
    schema = json.loads(json.dumps(schema_on_disk(encode_index_manifest([]))))
    array = fields_of(schema)["_DELETIONS_VECTORS_RANGES"][1]
    array["items"] = {**array["items"][1], "name": "DeletionVectorMeta", "fields": array["items"][1]["fields"][:3]}
    schema["fields"] = schema["fields"][:9]
    written_entry = index("i-0", files="ab")
    (read,) = decode_index_manifest(written(schema, records_of(encode_index_manifest([written_entry]))), where="i")
    assert read == replace(written_entry, vectors=(VectorRange("a", 1, 10), VectorRange("b", 1, 10)))


@pytest.mark.parametrize("version", [0, 2])
def test_another_version_is_refused(version: int) -> None:
    records = [{**record, "_VERSION": version} for record in records_of(encode_index_manifest([index("i-0")]))]
    with pytest.raises(UnsupportedError, match=f"^manifest/i has index manifest version {version}, .*version 1"):
        decode_index_manifest(written(INDEX_MANIFEST_AVRO, records), where="manifest/i")


def test_what_is_no_index_manifest_is_named() -> None:
    for data in (
        written({"type": "record", "name": "r", "fields": [{"name": "x", "type": "int"}]}, [{"x": 1}]),
        written({"type": "array", "items": "int"}, [[1]]),  # type: ignore[list-item]
    ):
        with pytest.raises(CorruptError, match=r"^i is not an index manifest"):
            decode_index_manifest(data, where="i")
    with pytest.raises(CorruptError, match=r"^i is not an Avro file"):
        decode_index_manifest(b"x", where="i")


GOOD = {codec: encode_index_manifest([index("i-0", files="ab"), index("i-1")], codec=codec) for codec in CODECS}


@settings(max_examples=examples(200))
@given(st.sampled_from(CODECS), st.data())
def test_damage_never_gives_another_error(codec: str, data: st.DataObject) -> None:
    broken = bytearray(GOOD[codec])
    for place in data.draw(st.lists(st.integers(0, len(broken) - 1), max_size=2)):
        broken[place] ^= 1 << data.draw(st.integers(0, 7))
    cut = data.draw(st.just(len(broken)) | st.integers(0, len(broken)))
    try:
        decode_index_manifest(bytes(broken[:cut]), where="manifest/i")
    except (CorruptError, UnsupportedError) as error:
        assert str(error).startswith("manifest/i ")  # noqa: PT017 - one of several outcomes


def test_truncated_files_are_named() -> None:
    data = GOOD["zstd"]
    for cut in (5, 50, len(data) - 20, len(data) - 1):
        with pytest.raises(CorruptError, match=r"^manifest/i cannot be decoded"):
            decode_index_manifest(data[:cut], where="manifest/i")
    assert fastavro.is_avro(io.BytesIO(data))


# ----------------------------------------------------------------------------------------------------- combining


def test_an_addition_replaces_the_file_of_its_bucket() -> None:
    live = [index("h-0", index_type=HASH), index("d-0", files="a"), index("h-1", index_type=HASH, bucket=1)]
    after = combine(live, [index("h-2", index_type=HASH), index("d-1", files="ab")], bucketed=True)
    assert names(after) == ["d-1", "h-1", "h-2"]
    assert {entry.kind for entry in after} == {ADD}


def test_deletes_come_before_adds() -> None:
    after = combine([index("d-0", files="a")], [index("d-1", files="a"), index("d-0", kind=DELETE)], bucketed=False)
    assert names(after) == ["d-1"]


@pytest.mark.parametrize("bucketed", [True, False])
def test_a_delete_must_hit(bucketed: bool) -> None:
    with pytest.raises(
        CommitConflictError, match="index file d-0, which the commit deletes, is no longer part of the table"
    ):
        combine([], [index("d-0", kind=DELETE)], bucketed=bucketed)


@pytest.mark.parametrize("bucketed", [True, False])
def test_a_delete_must_hit_the_very_file(bucketed: bool) -> None:
    """Else the file that another commit put in its place would be lost."""
    with pytest.raises(
        CommitConflictError, match="index file d-0, which the commit deletes, is no longer part of the table"
    ):
        combine([index("d-1", files="a")], [index("d-0", kind=DELETE)], bucketed=bucketed)


def test_without_buckets_files_are_known_by_name() -> None:
    live = [index("d-0", files="a"), index("d-1", files="b")]
    assert names(combine(live, [index("d-2", files="c")], bucketed=False)) == ["d-0", "d-1", "d-2"]
    with pytest.raises(CommitConflictError, match="index file d-1 is already part of the table"):
        combine(live, [index("d-1", files="c")], bucketed=False)


def test_a_data_file_has_one_deletion_vector() -> None:
    live = [index("d-0", files="ab")]
    with pytest.raises(CommitConflictError, match="data file b would have two deletion vectors"):
        combine(live, [index("d-1", files="b")], bucketed=False)
    elsewhere = index("d-1", files="b", partition=b"q")
    assert names(combine(live, [elsewhere], bucketed=False)) == ["d-0", "d-1"]
    replaced = combine(live, [index("d-0", files="ab", kind=DELETE), index("d-1", files="ab")], bucketed=False)
    assert names(replaced) == ["d-1"]


def test_global_indexes_are_known_by_name_even_with_buckets() -> None:
    live = [index("g-0", index_type="btree")]
    assert names(combine(live, [index("g-1", index_type="btree")], bucketed=True)) == ["g-0", "g-1"]
    with pytest.raises(CommitConflictError, match="g-0 is already part"):
        combine(live, [index("g-0", index_type="btree")], bucketed=True)
