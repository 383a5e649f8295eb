from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.metadata.entries import entries, entry, random_tables, same

from lakebed.errors import CorruptError, OptionError, UnsupportedError
from lakebed.format.manifest import avro
from lakebed.format.manifest.manifest import MANIFEST_AVRO, decode_manifest, encode_manifest

CODECS = ["null", "deflate", "snappy", "bzip2", "zstd"]
ROWS, COLUMNS = 2**62, 0  # from how many bytes on the columnar decoder is used


@contextlib.contextmanager
def columnar_from(size: int) -> Iterator[None]:
    before = avro.COLUMNAR_FROM_BYTES
    avro.COLUMNAR_FROM_BYTES = size  # type: ignore[misc]
    try:
        yield
    finally:
        avro.COLUMNAR_FROM_BYTES = before  # type: ignore[misc]


def decoded_both_ways(data: bytes) -> pa.Table:
    with columnar_from(ROWS):
        by_rows = decode_manifest(data, where="m")
    with columnar_from(COLUMNS):
        by_columns = decode_manifest(data, where="m")
    assert same(by_rows, by_columns)
    return by_rows


def manifest_schema() -> dict[str, Any]:
    """The writer schema as plain JSON, to be changed."""
    schema: dict[str, Any] = json.loads(header(encode_manifest(entries()))["avro.schema"])
    return schema


def header(data: bytes) -> dict[str, str]:
    found: dict[str, str] = fastavro.reader(io.BytesIO(data)).metadata
    return found


def written_with(schema: dict[str, Any], data: bytes, *, codec: str = "null") -> bytes:
    """The records of a file under another writer schema."""
    records = list(fastavro.reader(io.BytesIO(data)))
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), records, codec=codec)
    return out.getvalue()


# ------------------------------------------------------------------------------------------------ containers


@pytest.mark.parametrize(
    ("option", "codec"),
    [
        ("zstd", "zstandard"),
        ("ZSTD", "zstandard"),
        ("zstandard", "zstandard"),
        ("snappy", "snappy"),
        ("deflate", "deflate"),
        ("bzip2", "bzip2"),
        ("null", "null"),
        ("none", "null"),
        ("uncompressed", "null"),
    ],
)
def test_codecs(option: str, codec: str) -> None:
    data = encode_manifest(entries(entry()), codec=option)
    assert header(data)["avro.codec"] == codec
    assert set(header(data)) == {"avro.codec", "avro.schema"}


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(OptionError, match=r"manifest.compression: 'lzo' is not one of .*zstd"):
        avro.encode(MANIFEST_AVRO, [], codec="lzo")


@pytest.mark.parametrize("data", [b"", b"Obj", b"PAR1....", b"\x00" * 100])
def test_what_is_no_avro_file_is_named(data: bytes) -> None:
    for decode in (avro.decode, avro.decode_records):
        with pytest.raises(CorruptError, match=rf"^manifest/m-0 is not an Avro file \({len(data)} bytes\)"):
            decode(data, where="manifest/m-0")


def test_decode_records_gives_dictionaries() -> None:
    (record,) = avro.decode_records(encode_manifest(entries(entry("x"))), where="m")
    assert record["_FILE"]["_FILE_NAME"] == "x"


# -------------------------------------------------------------------------------------------- the two decoders


@settings(max_examples=examples(60), deadline=None)
@given(random_tables, st.sampled_from(CODECS))
def test_the_two_decoders_agree(table: pa.Table, codec: str) -> None:
    assert same(decoded_both_ways(encode_manifest(table, codec=codec)), table)


@pytest.mark.parametrize("codec", CODECS)
def test_the_two_decoders_agree_on_many_blocks(codec: str) -> None:
    table = entries(*(entry(f"data-{i}.parquet", file_size=i, extra_files=["x"] * (i % 3)) for i in range(3000)))
    assert same(decoded_both_ways(encode_manifest(table, codec=codec)), table)


@settings(max_examples=examples(20), deadline=None)
@given(random_tables, st.sampled_from(["null", "zstandard"]))
def test_the_decoders_agree_on_pypaimon_s_names(table: pa.Table, codec: str) -> None:
    schema = manifest_schema()
    schema["name"] = "ManifestEntry"
    file = schema["fields"][5]["type"]
    file["name"] = "DataFileMeta"
    for field in file["fields"]:
        if field["name"] in {"_KEY_STATS", "_VALUE_STATS"}:
            field["type"]["name"] = "record" + field["name"]
    assert same(decoded_both_ways(written_with(schema, encode_manifest(table), codec=codec)), table)


@settings(max_examples=examples(20), deadline=None)
@given(random_tables)
def test_the_decoders_agree_on_one_record_used_twice(table: pa.Table) -> None:
    schema = manifest_schema()
    schema["name"], schema["fields"][5]["type"]["name"] = "ManifestEntry", "DataFileMeta"
    stats = {field["name"]: field for field in schema["fields"][5]["type"]["fields"]}
    stats["_KEY_STATS"]["type"]["name"] = stats["_VALUE_STATS"]["type"] = "SimpleStats"
    assert same(decoded_both_ways(written_with(schema, encode_manifest(table))), table)


@settings(max_examples=examples(40), deadline=None)
@given(random_tables, st.integers(12, 20))
def test_the_decoders_agree_on_older_manifests(table: pa.Table, kept: int) -> None:
    schema = manifest_schema()
    file = schema["fields"][5]["type"]
    absent = [field["name"] for field in file["fields"][kept:]]
    file["fields"] = file["fields"][:kept]
    decoded = decoded_both_ways(written_with(schema, encode_manifest(table)))
    optional = decoded.schema.names[-9:]
    assert decoded.drop_columns(optional).equals(table.drop_columns(optional))
    assert len(absent) == 21 - kept
    for number, name in enumerate(optional, start=12):
        wanted = table[name] if number < kept else pa.nulls(len(table), table[name].type)
        assert decoded[name].to_pylist() == wanted.to_pylist()


@settings(max_examples=examples(20), deadline=None)
@given(random_tables)
def test_the_decoders_agree_on_fields_from_the_future(table: pa.Table) -> None:
    schema = manifest_schema()
    schema["fields"][5]["type"]["fields"].append({"name": "_NEW", "type": ["null", "long"], "default": None})
    schema["fields"].append({"name": "_NEWER", "type": {"type": "array", "items": "int"}, "default": []})
    assert same(decoded_both_ways(written_with(schema, encode_manifest(table))), table)


# ------------------------------------------------------------------------------------------------------ damage

GOOD = {codec: encode_manifest(entries(*(entry(f"data-{i}") for i in range(5))), codec=codec) for codec in CODECS}


def body_of(data: bytes) -> int:
    """Where the first block begins: after the first sync marker."""
    return data.index(data[-16:]) + 16


@pytest.mark.parametrize("size", [ROWS, COLUMNS])
@pytest.mark.parametrize("codec", CODECS)
def test_a_truncated_file_is_named(codec: str, size: int) -> None:
    data = GOOD[codec]
    whole = body_of(data)  # cut right here it is a file without records
    cuts = {4, 5, 20, whole - 20, whole - 1, whole + 1, whole + 5, len(data) - 17, len(data) - 16, len(data) - 1}
    for cut in cuts:
        with columnar_from(size), pytest.raises(CorruptError, match=r"^manifest/m-0 "):
            decode_manifest(data[:cut], where="manifest/m-0")


@pytest.mark.parametrize("size", [ROWS, COLUMNS])
@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(CODECS), st.data())
def test_flipped_bits_never_give_another_error(size: int, codec: str, data: st.DataObject) -> None:
    broken = bytearray(GOOD[codec])
    start = data.draw(st.sampled_from([0, body_of(GOOD[codec])]))
    for place in data.draw(st.lists(st.integers(start, len(broken) - 1), min_size=1, max_size=3)):
        broken[place] ^= 1 << data.draw(st.integers(0, 7))
    with columnar_from(size):
        try:
            decode_manifest(bytes(broken), where="manifest/m-0")
        except CorruptError as error:
            assert str(error).startswith("manifest/m-0 ")  # noqa: PT017 - one of several outcomes
        except UnsupportedError as error:  # the bit was one of the version's
            assert "manifest/m-0 has manifest version" in str(error)  # noqa: PT017


@pytest.mark.parametrize("size", [ROWS, COLUMNS])
@pytest.mark.parametrize("records", [1, 4, 6, 2**20, 2**40, 2**62, -3])
def test_a_wrong_number_of_records(records: int, size: int) -> None:
    """Bytes left over after the last record send DataFusion's reader into an endless loop; too many could use up
    memory.
    """
    data = GOOD["null"]
    at = body_of(data)
    assert data[at] == 2 * 5
    number = (records << 1) ^ (records >> 63)
    groups = bytearray()
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    broken = data[:at] + bytes(groups) + data[at + 1 :]
    with columnar_from(size):
        if 0 <= records < 5:
            assert len(decode_manifest(broken, where="m")) == records
        elif records < 0:
            with contextlib.suppress(CorruptError):
                assert len(decode_manifest(broken, where="m")) == 0
        else:
            with pytest.raises(CorruptError, match=r"^m cannot be decoded"):
                decode_manifest(broken, where="m")


@pytest.mark.parametrize("size", [ROWS, COLUMNS])
def test_other_avro_files_are_no_manifests(size: int) -> None:
    schemas: list[Any] = [
        {"type": "record", "name": "r", "fields": [{"name": "x", "type": "int"}]},
        {"type": "record", "name": "r", "fields": [{"name": "_FILE", "type": "int"}]},
    ]
    for schema in schemas:
        out = io.BytesIO()
        fastavro.writer(out, schema, [{"x": 1, "_FILE": 1}])
        with columnar_from(size), pytest.raises(CorruptError, match=r"^m is not a manifest"):
            decode_manifest(out.getvalue(), where="m")
    out = io.BytesIO()
    fastavro.writer(out, {"type": "array", "items": "int"}, [[1]])
    with columnar_from(size), pytest.raises(CorruptError, match=r"^m "):
        decode_manifest(out.getvalue(), where="m")


@pytest.mark.parametrize("size", [ROWS, COLUMNS])
def test_a_union_of_several_types_is_refused(size: int) -> None:
    schema = deepcopy(manifest_schema())
    schema["fields"][5]["type"]["fields"][17]["type"] = ["null", "string", "long"]
    data = written_with(schema, encode_manifest(entries(entry(external_path="x"))))
    with columnar_from(size), pytest.raises(CorruptError, match=r"^m "):
        decode_manifest(data, where="m")
