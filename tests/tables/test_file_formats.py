"""Tables with ORC and Avro data files: every kind of write and read, and several formats in one table."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.places import stored_path
from tests.storage.remote import open_remote

import lakebed
from lakebed import changes
from lakebed.errors import CorruptError, DataError, OptionError

FORMATS = ("orc", "avro")


def create(lake: lakebed.Lake, columns: str, **more: Any) -> lakebed.Table:
    return lake.create_table("db.t", columns, **more)


def suffixes(table: lakebed.Table, prefix: str = "data-") -> list[str]:
    """The formats of all files of a table, by their names."""
    return sorted(path.suffix for path in stored_path(table.path).glob(f"**/bucket-*/{prefix}*"))


def rows(table: lakebed.Table, **how: Any) -> list[dict[str, Any]]:
    return sorted(table.scan(**how).to_arrow().to_pylist(), key=repr)


@pytest.mark.parametrize("form", FORMATS)
def test_append_tables(lake: lakebed.Lake, form: str) -> None:
    table = create(lake, "p STRING, v INT, s STRING", partition_by="p", options={"file.format": form})
    table.write([{"p": "a", "v": 1, "s": "x"}, {"p": "b", "v": 2, "s": None}])
    table.write([{"p": "a", "v": 3, "s": "y"}])
    assert suffixes(table) == [f".{form}"] * 3
    assert rows(table, where="s = 'y'") == [{"p": "a", "v": 3, "s": "y"}]
    assert rows(table, columns=["v"], where="s IS NULL") == [{"v": 2}]
    assert table.count() == 3
    table.delete("v = 1")
    table.compact()
    table.overwrite([{"p": "b", "v": 4, "s": "w"}])
    assert rows(table) == [{"p": "a", "v": 3, "s": "y"}, {"p": "b", "v": 4, "s": "w"}]
    assert set(suffixes(table)) == {f".{form}"}
    assert table.verify(deep=True).problems == ()


@pytest.mark.parametrize("form", FORMATS)
def test_statistics_are_those_of_the_rows(lake: lakebed.Lake, form: str) -> None:
    columns = "v INT, d DOUBLE, n DOUBLE, s STRING, b BYTES, t TIMESTAMP(6), a ARRAY<INT>"
    seen = []
    for name, options in (("db.p", {}), ("db.o", {"file.format": form})):
        table = lake.create_table(name, columns, options=options)
        data = {
            "v": [3, None, 1], "d": [0.0, 1.5, None], "n": [float("nan"), 1.0, 2.0], "s": ["b" * 20, "a", None],
            "b": [b"x", None, b"\x00"], "t": [None, 5, 1_700_000_000_000_000], "a": [[1], None, [2, 3]],
        }  # fmt: skip
        schema = table.arrow_schema
        table.write(pa.table([pa.array(data[f.name]).cast(f.type) for f in schema], schema=schema))
        (file,) = lake.system_table(f"{name}$files").scan().to_arrow().to_pylist()
        seen.append([file[key] for key in ("record_count", "min_value_stats", "max_value_stats", "null_value_counts")])
        assert "to read: 0 files" in table.scan(where="v > 5").explain()
    assert seen[0] == seen[1]


@pytest.mark.parametrize("form", FORMATS)
def test_files_stay_near_the_target_size(lake: lakebed.Lake, form: str) -> None:
    options = {"file.format": form, "target-file-size": "100 kb", "file.compression": "none"}
    table = create(lake, "v BIGINT", options=options)
    numbers = np.random.default_rng(1).integers(0, 2**62, 100_000)
    table.write(pa.table({"v": pa.array(numbers)}))
    assert len(suffixes(table)) > 2
    assert sorted(table.scan().to_arrow()["v"].to_pylist()) == sorted(numbers.tolist())


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("options", [{"bucket": 2}, {"bucket": 1, "deletion-vectors.enabled": "true"}, {}], ids=str)
def test_primary_key_tables(lake: lakebed.Lake, form: str, options: dict[str, Any]) -> None:
    table = create(
        lake,
        "k CHAR(3) NOT NULL, v INT, r ROW<x INT, y STRING>",
        primary_key="k",
        options={"file.format": form, **options},
    )
    table.write([{"k": f"k{i}", "v": i, "r": {"x": i, "y": None}} for i in range(9)])
    table.compact(full=True)
    table.write([{"k": f"k{i}", "v": -i, "r": None} for i in range(5, 12)])
    table.delete("v = 3")
    expected: dict[str, tuple[int, Any]] = {f"k{i}": (i, {"x": i, "y": None}) for i in range(5) if i != 3}
    expected |= {f"k{i}": (-i, None) for i in range(5, 12)}
    for _ in range(2):
        assert {row["k"]: (row["v"], row["r"]) for row in rows(table)} == expected
        assert rows(table, columns=["v"], where="v < -10") == [{"v": -11}]
        assert rows(table, columns=["v"], where="k = 'k7'") == [{"v": -7}]
        table.compact(full=True)
    assert set(suffixes(table)) == {f".{form}"}
    assert table.verify(deep=True).problems == ()


@pytest.mark.parametrize("form", FORMATS)
def test_deletion_vectors_of_append_tables(lake: lakebed.Lake, form: str) -> None:
    table = create(lake, "v INT", options={"file.format": form, "deletion-vectors.enabled": "true"})
    table.write([{"v": v} for v in range(10)])
    table.delete("v % 3 = 0")
    assert [row["v"] for row in rows(table)] == [1, 2, 4, 5, 7, 8]
    assert rows(table, where="v > 6") == [{"v": 7}, {"v": 8}]


@pytest.mark.parametrize("form", FORMATS)
def test_columns_are_found_by_id_after_changes_of_the_schema(lake: lakebed.Lake, form: str) -> None:
    table = create(lake, "a INT, b STRING, r ROW<x INT, y STRING>", options={"file.format": form})
    table.write([{"a": 1, "b": "old", "r": {"x": 1, "y": "y"}}])
    table.alter(
        changes.RenameColumn("a", "c"), changes.RenameColumn("b", "a"), changes.UpdateColumnType("c", "BIGINT"),
        changes.AddColumn("b", "DATE"), changes.RenameColumn(("r", "x"), "z"), changes.DropColumn(("r", "y")),
    )  # fmt: skip
    table = lake.table("db.t")
    table.write([{"c": 2**40, "a": "new", "b": None, "r": {"z": 2}}])
    assert rows(table) == [
        {"c": 1, "a": "old", "r": {"z": 1}, "b": None},
        {"c": 2**40, "a": "new", "r": {"z": 2}, "b": None},
    ]
    assert rows(table, columns=["c"], where="a = 'old'") == [{"c": 1}]


def test_a_table_has_files_of_several_formats(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT, s STRING")
    for number, form in enumerate(("parquet", "orc", "avro", "parquet")):
        table.alter(changes.SetOption("file.format", form))
        lake.table("db.t").write([{"v": number, "s": form}])
    assert suffixes(table) == [".avro", ".orc", ".parquet", ".parquet"]
    assert [row["s"] for row in rows(table)] == ["parquet", "orc", "avro", "parquet"]
    assert rows(table, columns=["v"], where="s = 'parquet'") == [{"v": 0}, {"v": 3}]
    assert sorted(batch["v"][0].as_py() for batch in table.scan().to_batches() if len(batch)) == [0, 1, 2, 3]
    assert table.verify(deep=True).problems == ()


def test_levels_and_changelogs_have_formats_of_their_own(lake: lakebed.Lake) -> None:
    options = {
        "bucket": 1, "file.format.per.level": "0:avro,5:orc", "file.compression.per.level": "0:snappy,5:zstd",
        "changelog-producer": "input", "changelog-file.format": "parquet", "changelog-file.compression": "none",
        "file.suffix.include.compression": "true",
    }  # fmt: skip
    table = create(lake, "k INT NOT NULL, v INT", primary_key="k", options=options)
    table.write([{"k": 1, "v": 1}])
    names = [path.name.partition(".")[2] for path in stored_path(table.path).glob("bucket-0/data-*")]
    assert names == ["snappy.avro"]
    assert suffixes(table, "changelog-") == [".parquet"]
    table.write([{"k": 1, "v": 2}])
    table.compact(full=True)
    assert suffixes(table) == [".avro", ".avro", ".orc"]
    assert rows(table) == [{"k": 1, "v": 2}]


@pytest.mark.parametrize("form", FORMATS)
def test_a_damaged_file_is_reported(lake: lakebed.Lake, form: str) -> None:
    table = create(lake, "s STRING", options={"file.format": form})
    table.write([{"s": str(v)} for v in range(100)])
    (path,) = stored_path(table.path).glob("bucket-0/data-*")
    content = bytearray(path.read_bytes())
    content[20:] = bytes(len(content) - 20)
    path.write_bytes(content)
    with pytest.raises(CorruptError, match=path.name):
        table.to_arrow()
    assert [problem.code for problem in table.verify(deep=True).problems] == ["unreadable-data-file"]


def test_rows_that_a_format_cannot_hold_leave_the_table_as_it_was(lake: lakebed.Lake) -> None:
    table = create(lake, "v INT, t TIMESTAMP(6)", options={"file.format": "orc"})
    with pytest.raises(DataError, match="column 't' has a timestamp that an ORC file cannot hold"):
        table.write([{"v": 1, "t": dt.datetime(9999, 12, 31)}])
    assert suffixes(table) == []
    assert table.latest_snapshot() is None


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("`a b` INT", {"file.format": "avro"}, "table db.t: option file.format: Avro has no column 'a b'"),
        ("t TIMESTAMP(9)", {"file.format": "avro"}, "Avro has no timestamps of precision 9"),
        (
            "v INT",
            {"file.format": "orc", "file.compression": "gzip"},
            "orc files have no codec 'gzip'; use one of zstd",
        ),
        ("v INT", {"file.compression": "bzip2"}, "parquet files have no codec 'bzip2'"),
    ],
)
def test_tables_whose_files_no_format_could_hold(
    lake: lakebed.Lake, columns: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        create(lake, columns, options=options)
    table = create(lake, columns)
    with pytest.raises(OptionError, match=message):
        table.alter(*(changes.SetOption(name, value) for name, value in options.items()))


def test_formats_of_levels_are_checked_where_a_table_has_levels(lake: lakebed.Lake) -> None:
    options = {"file.format.per.level": "0:avro", "file.compression.per.level": "0:lz4"}
    create(lake, "k INT", options=options)
    with pytest.raises(OptionError, match="avro files have no codec 'lz4'"):
        lake.create_table("db.k", "k INT NOT NULL", primary_key="k", options=options)


def test_paths_are_named_after_the_codec(lake: lakebed.Lake) -> None:
    options = {"file.format": "orc", "file.suffix.include.compression": "true"}
    table = create(lake, "v INT", options=options)
    table.write([{"v": 1}])
    (path,) = stored_path(table.path).glob("bucket-0/data-*")
    assert Path(path).name.endswith("-0.zst.orc")


@pytest.mark.parametrize("form", FORMATS)
def test_on_an_object_store(tmp_path: Path, form: str) -> None:
    remote = open_remote(tmp_path)
    table = create(remote, "k INT NOT NULL, v STRING", primary_key="k", options={"file.format": form})
    table.write([{"k": k, "v": str(k)} for k in range(100)])
    table.write([{"k": k, "v": "new"} for k in range(50, 150)])
    assert rows(table, where="k >= 49 AND k < 51") == [{"k": 49, "v": "49"}, {"k": 50, "v": "new"}]
    table.compact(full=True)
    assert table.count() == 150
