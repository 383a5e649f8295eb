"""Many manifests decoded at once are what each of them is alone, and damage stays where it is."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.metadata.entries import adds, random_tables, same

from lakebed.errors import CorruptError, UnsupportedError
from lakebed.format.manifest import avro
from lakebed.format.manifest.manifest import MANIFEST_AVRO, decode_manifest, decode_manifests, encode_manifest


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(random_tables, max_size=4), st.sampled_from(["zstd", "null"]))
def test_together_as_alone(tables: list[pa.Table], codec: str) -> None:
    files = [(str(i), encode_manifest(table, codec=codec)) for i, table in enumerate(tables)]
    for (where, data), found in zip(files, decode_manifests(files), strict=True):
        assert isinstance(found, pa.Table)
        assert same(found, decode_manifest(data, where=where))


def test_large_and_small_ones_keep_their_places() -> None:
    large = adds(*(f"data-{i}.parquet" for i in range(3000)))
    tables = [adds("a"), large, adds("b", "c"), large.slice(0, 0)]
    found = decode_manifests([(str(i), encode_manifest(table)) for i, table in enumerate(tables)])
    assert all(same(one, other) for one, other in zip(found, tables, strict=True))


def test_a_damaged_one_does_not_spoil_the_others() -> None:
    good = encode_manifest(adds("a", "b"))
    versions = avro.encode(
        MANIFEST_AVRO, [{**record, "_VERSION": 9} for record in avro.decode_records(good, where="g")]
    )
    found = decode_manifests([("1", good), ("2", good[:-30]), ("3", b""), ("4", versions), ("5", good)])
    kinds = [type(one) for one in found]
    assert kinds == [pa.Table, CorruptError, CorruptError, UnsupportedError, pa.Table]
    assert "2 cannot be decoded" in str(found[1])
    assert all(same(found[i], adds("a", "b")) for i in (0, 4))
