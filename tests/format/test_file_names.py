"""Names in metadata that are not the name of one file are refused by every decoder."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from tests.metadata.entries import adds, entries, entry, texts

from lakebed.errors import CorruptError
from lakebed.format.file_names import check_file_names, is_file_name
from lakebed.format.manifest.index_manifest import IndexEntry, decode_index_manifest, encode_index_manifest
from lakebed.format.manifest.manifest import (
    ManifestMeta,
    decode_manifest,
    decode_manifest_list,
    decode_manifests,
    encode_manifest,
    encode_manifest_list,
)
from lakebed.format.snapshot import snapshot_from_json
from lakebed.format.tag import tag_from_json

BAD = ["../x", "a/b", "/etc/passwd", "..", ".", "", "a\x00b", "../../other/bucket-0/data-1.parquet"]
GOOD = ["data-1.parquet", "..a", "a..b", "...", "a b", "ä", "a\\b", "a\n", "-", "~"]

META = ManifestMeta(
    file_name="manifest-1",
    file_size=1,
    num_added_files=1,
    num_deleted_files=0,
    partition_min=b"",
    partition_max=b"",
    partition_null_counts=(),
    schema_id=0,
)
INDEX = IndexEntry(kind=0, partition=b"", bucket=0, index_type="HASH", file_name="index-1", file_size=4, row_count=1)
SNAPSHOT: dict[str, Any] = {
    "version": 3,
    "id": 1,
    "schemaId": 0,
    "baseManifestList": "a",
    "deltaManifestList": "b",
    "commitUser": "u",
    "commitIdentifier": 1,
    "commitKind": "APPEND",
    "timeMillis": 1,
    "totalRecordCount": 0,
    "deltaRecordCount": 0,
}
NAMING = ["baseManifestList", "deltaManifestList", "changelogManifestList", "indexManifest", "statistics"]


def test_what_is_a_name() -> None:
    assert [name for name in BAD if is_file_name(name)] == []
    assert [name for name in GOOD if not is_file_name(name)] == []


@given(texts)
def test_a_column_is_judged_like_one_name(name: str) -> None:
    column = pa.array(["data-1", name, "data-2"])
    if is_file_name(name):
        check_file_names(column, "m")
    else:
        with pytest.raises(CorruptError, match="m refers to a file named"):
            check_file_names(column, "m")


@pytest.mark.parametrize("name", BAD)
def test_slices_and_chunks(name: str) -> None:
    whole = pa.array(["data-1", name, "data-2", "data-3"])
    for fine in (
        whole.slice(2),
        whole.slice(0, 1),
        whole.slice(4),
        pa.chunked_array([whole.slice(3), whole.slice(0, 1)]),
    ):
        check_file_names(fine, "m")
    for bad in (whole.slice(1, 1), whole.slice(1), pa.chunked_array([whole.slice(2), whole.slice(0, 2)])):
        with pytest.raises(CorruptError, match="m refers to a file named"):
            check_file_names(bad, "m")


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("change", ["file_name", "extra_files"])
@pytest.mark.parametrize("count", [1, 2000])  # small manifests are decoded by other code than large ones
def test_manifests(name: str, change: str, count: int) -> None:
    bad = entry(**{change: name}) if change == "file_name" else entry("last", extra_files=["x", name])
    data = encode_manifest(entries(*(entry(f"data-{i}") for i in range(count)), bad))
    with pytest.raises(CorruptError, match="db/t/manifest-1 refers to a file named") as error:
        decode_manifest(data, where="db/t/manifest-1")
    assert repr(name) in str(error.value)


def test_of_many_manifests_the_damaged_one_is_named() -> None:
    good, bad = encode_manifest(adds("a")), encode_manifest(adds("../a"))
    found = decode_manifests([("m-1", good), ("m-2", bad), ("m-3", good)])
    assert [isinstance(one, CorruptError) for one in found] == [False, True, False]
    assert str(found[1]).startswith("m-2 refers to a file named '../a'")


@pytest.mark.parametrize("name", BAD)
def test_manifest_lists(name: str) -> None:
    for meta in (replace(META, file_name=name), replace(META, extra_files=("x", name))):
        with pytest.raises(CorruptError, match="list-1 refers to a file named"):
            decode_manifest_list(encode_manifest_list([META, meta]), where="list-1")


@pytest.mark.parametrize("name", BAD)
def test_index_manifests(name: str) -> None:
    data = encode_index_manifest([INDEX, replace(INDEX, file_name=name)])
    with pytest.raises(CorruptError, match="index-manifest-1 refers to a file named"):
        decode_index_manifest(data, where="index-manifest-1")


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("key", NAMING)
def test_snapshots_and_tags(key: str, name: str) -> None:
    text = json.dumps({**SNAPSHOT, key: name})
    with pytest.raises(CorruptError, match="snapshot-1 refers to a file named"):
        snapshot_from_json(text, where="snapshot-1")
    with pytest.raises(CorruptError, match="tag-x refers to a file named"):
        tag_from_json("x", text.encode(), where="tag-x")
