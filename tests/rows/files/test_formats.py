"""ORC and Avro data files hold what was written to them: rows of any type, and the types that Java expects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc
from tests.effort import examples
from tests.rows.random_tables import plain, tables

from lakebed.errors import CorruptError, DataError, NotFoundError, OptionError
from lakebed.format.types.data_types import Array, Atomic, DataType, Field, Map, Row, parse_type, to_arrow
from lakebed.rows.files.avro_rows import AvroOutput
from lakebed.rows.files.codecs import library_codec
from lakebed.rows.files.orc import OrcOutput
from lakebed.rows.files.read_columns import read_columns
from lakebed.storage.local import LocalStorage

STORAGE = LocalStorage()
FORMATS = ("orc", "avro")
CODECS = {
    "orc": ("zstd", "snappy", "lz4", "zlib", "none", "uncompressed"),
    "avro": ("zstd", "snappy", "deflate", "bzip2", "null", "none", "uncompressed"),
}


def written(folder: Path, form: str, fields: Sequence[Field], rows: pa.Table, codec: str = "zstd") -> str:
    """The path of a file with these rows."""
    path = str(folder / f"data.{form}")
    with STORAGE.arrow_filesystem().open_output_stream(path) as sink:
        named = library_codec(form, codec)
        output = OrcOutput(sink, fields, named, 2**20) if form == "orc" else AvroOutput(sink, fields, named, 1)
        output.write(rows.columns)
        output.close()
    return path


def column(kind: Any, values: list[Any]) -> tuple[list[Field], pa.Table]:
    field = Field(0, "x", parse_type(kind))
    return [field], pa.table({"x": pa.array(values, to_arrow(field.type))})


def storable(data_type: DataType, form: str) -> DataType:
    """The type, or one that the format has instead."""
    match data_type:
        case Atomic(root, params) if root.startswith("TIMESTAMP") and (form == "orc" or params[0] > 6):
            return Atomic("BIGINT", nullable=data_type.nullable)  # negative fractions are refused in ORC
        case Atomic("CHAR") if form == "orc":
            return Atomic("STRING", nullable=data_type.nullable)  # ORC does not keep trailing spaces of CHAR
        case Array(element):
            return replace(data_type, element=storable(element, form))
        case Map(key, value):
            return replace(data_type, key=storable(key, form), value=storable(value, form))
        case Row(fields):
            return replace(data_type, fields=tuple(replace(f, type=storable(f.type, form)) for f in fields))
        case _:
            return data_type


def check_round_trip(folder: Path, form: str, drawn: tuple[tuple[Field, ...], pa.Table], data: st.DataObject) -> None:
    fields, rows = drawn
    path = written(folder, form, fields, rows, data.draw(st.sampled_from(CODECS[form])))
    names = data.draw(st.permutations(rows.column_names))
    found = read_columns(STORAGE, [path, path], fields, names)
    assert found.schema.types == rows.select(names).schema.types
    assert plain(found) == plain(rows.select(names)) * 2


@settings(max_examples=examples(100), deadline=None)
@given(drawn=tables(max_rows=20, shape=partial(storable, form="orc")), data=st.data())
def test_orc_rows_of_any_type_come_back(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[tuple[Field, ...], pa.Table], data: st.DataObject
) -> None:
    check_round_trip(tmp_path_factory.mktemp("f"), "orc", drawn, data)


@settings(max_examples=examples(100), deadline=None)
@given(drawn=tables(max_rows=20, shape=partial(storable, form="avro")), data=st.data())
def test_avro_rows_of_any_type_come_back(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[tuple[Field, ...], pa.Table], data: st.DataObject
) -> None:
    check_round_trip(tmp_path_factory.mktemp("f"), "avro", drawn, data)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.integers(0, 9 * 10**18)), st.sampled_from(["TIMESTAMP", "TIMESTAMP_LTZ"]), st.sampled_from([3, 6, 9])
)
def test_orc_holds_timestamps(
    tmp_path_factory: pytest.TempPathFactory, nanos: list[int], root: str, precision: int
) -> None:
    fields = [Field(0, "x", Atomic(root, (precision,)))]
    values = [number // 10 ** (9 - precision) for number in nanos] + [-5 * 10**precision, None]
    rows = pa.table({"x": pa.array(values, pa.int64()).cast(to_arrow(fields[0].type))})
    path = written(tmp_path_factory.mktemp("f"), "orc", fields, rows)
    assert read_columns(STORAGE, [path], fields, ["x"]).equals(rows)


@pytest.mark.parametrize("value", [-1, 10**13, -(10**13)])
def test_orc_refuses_timestamps_that_not_all_readers_can_read(tmp_path: Path, value: int) -> None:
    inner = {"type": "ARRAY", "element": "TIMESTAMP(3)"}
    for kind, values in (("TIMESTAMP(3)", [value]), (inner, [[value], None])):
        with pytest.raises(DataError, match="column 'x' has a timestamp that an ORC file cannot hold"):
            written(tmp_path, "orc", *column(kind, values))


def test_orc_has_the_types_and_ids_that_java_writes(tmp_path: Path) -> None:
    kind = {"type": "MAP", "key": "INT NOT NULL", "value": {"type": "ARRAY", "element": "TIME(3)"}}
    path = written(tmp_path, "orc", *column(kind, [[(1, [5])]]))
    schema = orc.ORCFile(path).schema
    assert schema.field("x").type == pa.map_(pa.int32(), pa.list_(pa.int32()))
    assert schema.field("x").metadata == {b"paimon.id": b"0"}
    assert schema.field("x").type.item_field.metadata == {b"paimon.id": str((2**31 - 1) // 4 + 1).encode()}


def test_char_in_orc_is_read_without_its_padding(tmp_path: Path) -> None:
    """Java declares CHAR, for which ORC pads; pyarrow returns the spaces."""
    fields, rows = column("CHAR(5)", ["ab   ", "abcde", None])
    path = written(tmp_path, "orc", fields, rows)
    assert read_columns(STORAGE, [path], fields, ["x"])["x"].to_pylist() == ["ab", "abcde", None]


def test_avro_has_the_types_that_java_writes(tmp_path: Path) -> None:
    row = {"type": "ROW", "fields": [{"id": 1, "name": "s", "type": "TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL"}]}
    path = written(tmp_path, "avro", *column({"type": "MAP", "key": "INT NOT NULL", "value": row}, [[(1, {"s": 7})]]))
    with Path(path).open("rb") as file:
        (found,) = fastavro.reader(file).writer_schema["fields"]
    nullable, kind = found["type"]
    assert (nullable, found["default"], kind["type"], kind["logicalType"]) == ("null", None, "array", "map")
    key, value = kind["items"]["fields"]
    assert (key["type"], value["type"][0]) == ("int", "null")
    assert value["type"][1]["fields"][0]["type"] == {"type": "long", "logicalType": "local-timestamp-micros"}


def test_decimals_in_avro_have_the_fewest_bytes(tmp_path: Path) -> None:
    numbers = [Decimal(n) for n in (0, 127, 128, -128, -129, 10**37, -(10**37))]
    fields, rows = column("DECIMAL(38, 0)", [*numbers, None])
    path = written(tmp_path, "avro", fields, rows, "none")
    found = Path(path).read_bytes()[-16 - 80 :]
    for number in (127, 128, -128, -129, 10**37):
        size = next(n for n in range(1, 17) if -(1 << 8 * n - 1) <= number < 1 << 8 * n - 1)
        assert bytes([2, 2 * size]) + number.to_bytes(size, "big", signed=True) in found
    assert read_columns(STORAGE, [path], fields, ["x"]).equals(rows)


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [("a b", "INT", "Avro has no column 'a b'"), ("x", "TIMESTAMP(9)", "Avro has no timestamps of precision 9")],
)
def test_what_avro_lacks_is_refused(tmp_path: Path, name: str, kind: str, message: str) -> None:
    field = Field(0, name, parse_type(kind))
    with pytest.raises(OptionError, match=message):
        written(tmp_path, "avro", [field], pa.table({name: pa.array([1], to_arrow(field.type))}))


@pytest.mark.parametrize(("form", "codec"), [("orc", "gzip"), ("avro", "lz4"), ("parquet", "zlib")])
def test_codecs_that_a_format_lacks_are_refused(tmp_path: Path, form: str, codec: str) -> None:
    with pytest.raises(OptionError, match=f"no codec '{codec}'.*use one of zstd"):
        written(tmp_path, form, *column("INT", [1]), codec)


@pytest.mark.parametrize("form", FORMATS)
def test_a_column_that_a_file_lacks_is_null(tmp_path: Path, form: str) -> None:
    fields, rows = column("INT", [1, 2])
    other = Field(1, "c.d", Atomic("STRING"))
    path = written(tmp_path, form, fields, rows)
    found = read_columns(STORAGE, [path], [*fields, other], ["c.d"])
    assert found["c.d"].to_pylist() == [None, None]
    assert len(read_columns(STORAGE, [path], fields, []).select([])) in {0, 2}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "rubbish"])
def test_a_damaged_file_is_named(tmp_path: Path, form: str, damage: str) -> None:
    fields, rows = column("STRING", [str(number) for number in range(1000)])
    path = Path(written(tmp_path, form, fields, rows))
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        bad = {"empty": b"", "truncated": content[: len(content) // 2], "rubbish": b"x" * len(content)}
        path.write_bytes(bad[damage])
    with pytest.raises(NotFoundError if damage == "missing" else CorruptError, match=path.name):
        read_columns(STORAGE, [str(path)], fields, ["x"])
