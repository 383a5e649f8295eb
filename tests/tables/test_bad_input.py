"""Bad input gets one clear error and leaves the table as it was.

Each case says which error it expects (exactly that class), which words its message must have, and that not a byte of
the table's folder is different afterwards.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.lakes import open_lake
from tests.places import stored_path
from tests.refusals import fingerprint, refused
from tests.rows.files.deletions import delete_positions

import lakebed
from lakebed import changes
from lakebed.errors import (
    CommitConflictError,
    CorruptError,
    DataError,
    ExpressionError,
    LakebedError,
    NotFoundError,
    OptionError,
    SchemaError,
    StorageError,
    UnsupportedError,
)

SCHEMA = "id INT NOT NULL, name VARCHAR(5), t TIMESTAMP(3), p STRING"
ROWS: list[dict[str, Any]] = [{"id": 1, "name": "a", "t": None, "p": "x"}, {"id": 2, "name": None, "t": None, "p": "y"}]


def typed(rows: list[dict[str, Any]]) -> pa.Table:
    kinds = {"id": pa.int32(), "name": pa.string(), "t": pa.timestamp("ms"), "p": pa.string()}
    return pa.Table.from_pylist(rows, schema=pa.schema(kinds))


def make(folder: Path) -> lakebed.Table:
    """A table of two snapshots, an index manifest not among its files."""
    lake = open_lake(folder)
    table = lake.create_table("db.t", SCHEMA, partition_by=["p"])
    table.write(typed(ROWS))
    table.write(typed([ROWS[0] | {"id": 3}]))
    return table


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    make(folder)
    return folder


@pytest.fixture(autouse=True)
def _same_files(lake: lakebed.Lake, template: Path) -> None:
    """The same table in a folder that nobody has read from, so that nothing of it is in a cache."""
    shutil.copytree(template, lake.warehouse, dirs_exist_ok=True)


@pytest.fixture
def table(lake: lakebed.Lake) -> lakebed.Table:
    opened: lakebed.Table = lake.table("db.t")
    return opened


# -------------------------------------------------------------------------------------------------------------- options

BAD_OPTIONS: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"bukcet": "2"}, ("unknown option 'bukcet'", "table db.", "did you mean 'bucket'?")),
    ({"target-file-sizes": "1 mb"}, ("did you mean 'target-file-size'?",)),
    ({"branch-merge.enabled": "true", "primary-key": "id"}, ("primary-key",)),
    ({"bucket": "many"}, ("option 'bucket'", "'many'", "-1 (dynamic")),
    ({"target-file-size": "big"}, ("target-file-size", "a size such as 128 mb")),
    ({"file.format": "lance"}, ("file.format", "Parquet, ORC and Avro only")),
    ({"file.compression": "brotli"}, ("file.compression", "use zstd")),
    ({"row-tracking.enabled": "true"}, ("row-tracking.enabled",)),
    ({"commit.max-retries": None}, ("commit.max-retries",)),
]


@pytest.mark.parametrize(("options", "words"), BAD_OPTIONS, ids=str)
def test_options_nobody_can_honour(
    lake: lakebed.Lake, table: lakebed.Table, options: dict[str, Any], words: tuple[str, ...]
) -> None:
    refused(lake.warehouse, lambda: lake.create_table("db.new", "id INT", options=options), OptionError, *words)
    sets = [changes.SetOption(key, value) for key, value in options.items()]
    refused(lake.warehouse, lambda: table.alter(changes.AddColumn("ok", "INT"), *sets), OptionError, *words)


# ---------------------------------------------------------------------------------------------------------------- types

UNSUPPORTED: list[tuple[str, Any]] = [
    ("VARIANT", "VARIANT"),
    ("BLOB", "BLOB"),
    ("GEOMETRY", "GEOMETRY"),
    ("GEOGRAPHY", "GEOGRAPHY NOT NULL"),
    ("VECTOR", {"type": "VECTOR", "element": "FLOAT", "length": 3}),
    ("MULTISET", {"type": "MULTISET", "element": "INT"}),
    ("VARIANT", {"type": "ARRAY", "element": "VARIANT"}),
    ("BLOB", {"type": "ROW", "fields": [{"id": 90, "name": "deep", "type": "BLOB NOT NULL"}]}),
]


@pytest.mark.parametrize(("kind", "stored"), UNSUPPORTED, ids=str)
def test_unsupported_types_on_disk(lake: lakebed.Lake, kind: str, stored: Any) -> None:
    path = stored_path(lake.warehouse) / "db.db/t/schema/schema-0"
    raw = json.loads(path.read_text())
    raw["fields"].append({"id": 80, "name": "odd", "type": stored})
    path.write_text(json.dumps(raw))
    words = (f"type {kind} is not supported", "schema-0", "'odd'", "Apache Paimon")
    refused(lake.warehouse, lambda: lake.table("db.t"), UnsupportedError, *words)
    refused(lake.warehouse, lambda: lake.system_table("db.t$files"), UnsupportedError, *words)
    assert lake.tables("db") == ["t"]


@pytest.mark.parametrize("ddl", ["VARIANT", "BLOB", "GEOMETRY", "GEOGRAPHY", "VECTOR<FLOAT>", "MULTISET<INT>"])
@pytest.mark.parametrize("around", ["{}", "ARRAY<{}>", "ROW<a {}>", "MAP<STRING, {}>"])
def test_unsupported_types_in_ddl(lake: lakebed.Lake, table: lakebed.Table, ddl: str, around: str) -> None:
    kind = around.format(ddl)
    word = f"{ddl.split('<', maxsplit=1)[0]} is not supported"
    refused(lake.warehouse, lambda: lake.create_table("db.new", f"id INT, odd {kind}"), UnsupportedError, word)
    refused(lake.warehouse, lambda: table.alter(changes.AddColumn("odd", kind)), UnsupportedError, word)


@pytest.mark.parametrize("kind", [pa.duration("s"), pa.month_day_nano_interval(), pa.uint64(), pa.float16()], ids=str)
def test_arrow_types_without_a_counterpart(lake: lakebed.Lake, kind: pa.DataType) -> None:
    act = lambda: lake.create_table("db.new", pa.schema({"id": pa.int32(), "odd": kind}))  # noqa: E731
    refused(lake.warehouse, act, UnsupportedError, str(kind), "cast the column first")


def test_types_that_are_no_types(lake: lakebed.Lake, table: lakebed.Table) -> None:
    refused(lake.warehouse, lambda: lake.create_table("db.new", "id INTT"), SchemaError, "INTT")
    refused(lake.warehouse, lambda: lake.create_table("db.new", "id DECIMAL(99)"), SchemaError, "DECIMAL")
    refused(lake.warehouse, lambda: table.alter(changes.UpdateColumnType("id", "TINYINT")), SchemaError, "'id'")
    refused(lake.warehouse, lambda: table.alter(changes.DropColumn("p")), SchemaError, "partition column 'p'")


# ----------------------------------------------------------------------------------------------------------------- rows

GOOD = typed(ROWS)
BAD_ROWS: list[tuple[str, Any, tuple[str, ...]]] = [
    ("missing column", GOOD.drop(["name"]), ("lacks column(s) 'name'", "table db.t")),
    ("missing columns", pa.table({"id": [1]}), ("'name', 't', 'p'",)),
    (
        "extra column",
        GOOD.append_column("nmae", pa.array(["x", "y"])),
        ("unknown column 'nmae'", "did you mean 'name'?"),
    ),
    ("repeated column", GOOD.append_column("id", GOOD["id"]), ("column 'id' more than once",)),
    ("null", typed([ROWS[0], ROWS[1] | {"id": None}]), ("column 'id' of table db.t is NOT NULL", "row 1")),
    ("wrong type", GOOD.set_column(0, "id", pa.array(["1", "2"])), ("column 'id'", "is INT", "has string")),
    ("another wrong type", GOOD.set_column(3, "p", pa.array([1, 2])), ("column 'p'", "is STRING", "has int64")),
    ("overflow", GOOD.set_column(0, "id", pa.array([1, 2**40])), ("column 'id'", "does not fit INT", str(2**40))),
    ("too long", GOOD.set_column(1, "name", pa.array(["x", "abcdef"])), ("VARCHAR(5)", "6 characters")),
    ("zone", GOOD.set_column(2, "t", pa.array([0, 0], pa.timestamp("ms", "UTC"))), ("column 't'", "tz=UTC")),
    ("too fine", GOOD.set_column(2, "t", pa.array([0, 1], pa.timestamp("us"))), ("column 't'", "would lose data")),
    ("no rows at all", None, ("cannot write NoneType",)),
    ("a number", 5, ("cannot write int",)),
    ("mixed dictionaries", [{"id": 1}, {"id": "x"}], ("row 1 of the data: 'x' (str) does not fit column 'id'",)),
    ("uneven dictionaries", [ROWS[0], {"name": "a"}], ("row 1 of the data lacks column 'id'", "NOT NULL")),
    ("a mixed frame", pd.DataFrame({"id": [1, "x"]}), ("cannot take columns from a DataFrame",)),
    ("a frame that lacks columns", pl.DataFrame({"id": [1]}), ("lacks column(s)",)),
]


@pytest.mark.parametrize(("data", "words"), [case[1:] for case in BAD_ROWS], ids=[case[0] for case in BAD_ROWS])
@pytest.mark.parametrize("how", ["write", "overwrite", "stream"])
def test_rows_that_do_not_fit(table: lakebed.Table, data: Any, words: tuple[str, ...], how: str) -> None:
    if how == "stream":
        if not isinstance(data, pa.Table) or len(set(data.column_names)) < data.num_columns:
            return
        refused(table.path, lambda: table.write(data.to_reader()), DataError, *words)
    else:
        refused(table.path, lambda: getattr(table, how)(data), DataError, *words)


def test_rows_outside_of_a_partition(table: lakebed.Table) -> None:
    words = ("outside of the partition", "p = 'x'", "Nothing was written")
    refused(table.path, lambda: table.overwrite(GOOD, partition={"p": "x"}), DataError, *words)
    refused(
        table.path, lambda: table.overwrite(GOOD, partition={"q": "x"}), SchemaError, "unknown partition column 'q'"
    )
    refused(table.path, lambda: table.drop_partition({"p": 5}), DataError, "partition column 'p' is STRING, not 5")


def test_a_stream_that_raises(table: lakebed.Table) -> None:
    """An error of the user's own code stays the user's, and what was written before is gone."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield from GOOD.to_batches()
        raise RuntimeError("boom")

    before = fingerprint(table.path)
    with pytest.raises(RuntimeError, match="boom"):
        table.write(pa.RecordBatchReader.from_batches(GOOD.schema, batches()))
    assert fingerprint(table.path) == before


# ---------------------------------------------------------------------------------------------------------- the unknown


def test_names_nobody_knows(lake: lakebed.Lake, table: lakebed.Table) -> None:
    folder = lake.warehouse
    refused(folder, lambda: lake.table("dbs.t"), NotFoundError, "unknown database 'dbs'", "did you mean 'db'?")
    refused(folder, lambda: lake.tables("nope"), NotFoundError, "unknown database 'nope'")
    refused(folder, lambda: lake.drop_database("nope"), NotFoundError, "unknown database 'nope'")
    refused(folder, lambda: lake.create_table("nope.t", "id INT"), NotFoundError, "create_database('nope')")
    refused(folder, lambda: lake.table("db.tt"), NotFoundError, "unknown table 'tt'")
    refused(folder, lambda: lake.drop_table("db.tt"), NotFoundError, "unknown table 'tt'")
    refused(folder, lambda: lake.rename_table("db.tt", "db.u"), NotFoundError, "unknown table 'tt'")
    refused(folder, lambda: lake.table("db.t$branch_b"), NotFoundError, "no branch 'b'", "its branches: main")
    refused(folder, lambda: table.branch("b"), NotFoundError, "no branch 'b'")
    refused(folder, lambda: lake.system_table("db.t$snapshot"), NotFoundError, "did you mean 'snapshots'?")
    refused(folder, lambda: table.snapshot(7), NotFoundError, "snapshot 7", "snapshots 1 to 2 exist")
    refused(folder, lambda: table.scan(version=7), NotFoundError, "snapshot 7", "snapshots 1 to 2 exist")
    refused(folder, lambda: table.scan(tag="v1"), NotFoundError, "no tag 'v1'", "its tags: none")
    refused(folder, lambda: table.scan(version="v1"), NotFoundError, "no tag 'v1'")
    refused(folder, lambda: table.scan(timestamp=5), NotFoundError, "no snapshot at or before", "the earliest is of")
    refused(folder, lambda: table.scan(["nmae"]), NotFoundError, "unknown column 'nmae'", "did you mean 'name'?")
    refused(folder, lambda: table.scan(where="nmae = 1"), ExpressionError, "unknown column 'nmae'", "'name'")
    refused(folder, lambda: table.delete("nmae = 1"), ExpressionError, "unknown column 'nmae'")
    refused(folder, lambda: table.delete("id = "), ExpressionError, "cannot parse the condition")
    refused(folder, lambda: table.alter(changes.DropColumn("nmae")), SchemaError, "unknown column 'nmae'")


# ----------------------------------------------------------------------------------------------------- damaged metadata


def first(table_folder: Path, what: str) -> Path:
    """A metadata file of the latest snapshot."""
    if what in {"snapshot", "schema"}:
        return table_folder / ("snapshot/snapshot-2" if what == "snapshot" else "schema/schema-0")
    snapshot = json.loads((table_folder / "snapshot/snapshot-2").read_text())
    name: str = snapshot["deltaManifestList" if what == "delta list" else "baseManifestList"]
    if what == "manifest":
        (meta,) = fastavro.reader(io.BytesIO((table_folder / "manifest" / name).read_bytes()))
        name = meta["_FILE_NAME"]
    return table_folder / "manifest" / name


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "almost whole": lambda content: content[:-3],
    "rubbish": lambda _: b"\x00\xff rubbish" * 50,
    "of another kind": lambda content: b"[1, 2]" if content.startswith(b"{") else b'{"id": 1}',
}


@pytest.mark.parametrize("what", ["snapshot", "schema", "base list", "delta list", "manifest"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_metadata_is_named(lake: lakebed.Lake, what: str, damage: str) -> None:
    folder = stored_path(lake.warehouse) / "db.db/t"
    victim = first(folder, what)
    victim.write_bytes(DAMAGES[damage](victim.read_bytes()))
    refused(folder, lambda: lake.table("db.t").scan().to_arrow(), CorruptError, victim.name)
    refused(folder, lambda: lake.system_table("db.t$files").scan().to_arrow(), CorruptError, victim.name)
    refused(folder, lambda: lake.table("db.t").delete("id = 1"), CorruptError, victim.name)
    refused(folder, lambda: lake.table("db.t").truncate(), CorruptError, victim.name)
    if what != "manifest":  # an append does not look into manifests
        refused(folder, lambda: lake.table("db.t").write(GOOD), CorruptError, victim.name)
    if what == "schema":
        refused(folder, lambda: lake.table("db.t"), CorruptError, victim.name)


@pytest.mark.parametrize("what", ["base list", "delta list", "manifest"])
def test_missing_metadata_is_named(lake: lakebed.Lake, what: str) -> None:
    folder = stored_path(lake.warehouse) / "db.db/t"
    victim = first(folder, what)
    victim.unlink()
    refused(folder, lambda: lake.table("db.t").scan().to_arrow(), NotFoundError, victim.name, "does not exist")
    refused(folder, lambda: lake.table("db.t").truncate(), NotFoundError, victim.name)


def test_a_missing_schema_of_a_file_is_named(lake: lakebed.Lake, table: lakebed.Table) -> None:
    table.alter(changes.AddColumn("n", "INT"))
    (stored_path(table.path) / "schema/schema-0").unlink()
    refused(table.path, lambda: lake.table("db.t").scan().to_arrow(), NotFoundError, "schema-0", "restore it")


BAD_SNAPSHOTS: list[tuple[dict[str, Any], type[LakebedError], str]] = [
    ({"schemaId": None}, CorruptError, "lacks schemaId"),
    ({"deltaManifestList": None, "commitUser": None}, CorruptError, "lacks commitUser, deltaManifestList"),
    ({"totalRecordCount": "five"}, CorruptError, "totalRecordCount must be a whole number"),
    ({"commitKind": "MERGE"}, UnsupportedError, "commitKind 'MERGE'"),
    ({"version": 4}, UnsupportedError, "format version 4"),
    ({"version": "new"}, CorruptError, "version must be a whole number"),
]


@pytest.mark.parametrize(("change", "error", "word"), BAD_SNAPSHOTS, ids=str)
def test_snapshots_that_say_nonsense(
    lake: lakebed.Lake, change: dict[str, Any], error: type[LakebedError], word: str
) -> None:
    folder = stored_path(lake.warehouse) / "db.db/t"
    path = folder / "snapshot/snapshot-2"
    raw = json.loads(path.read_text()) | change
    path.write_text(json.dumps({key: value for key, value in raw.items() if value is not None}))
    refused(folder, lambda: lake.table("db.t").scan(), error, "snapshot-2", word)
    refused(folder, lambda: lake.table("db.t").write(GOOD), error, "snapshot-2", word)
    assert lake.table("db.t").scan(version=1).to_arrow().num_rows == 2


BAD_SCHEMAS: list[tuple[dict[str, Any], type[LakebedError], str]] = [
    ({"version": 4}, UnsupportedError, "format version 4"),
    ({"highestFieldId": None}, CorruptError, "lacks highestFieldId"),
    ({"fields": [{"id": 0, "name": "id"}]}, CorruptError, "'type'"),
    ({"fields": [{"id": 0, "name": "id", "type": "INTT"}]}, CorruptError, "INTT"),
    ({"partitionKeys": ["nope"]}, CorruptError, "'nope'"),
    ({"options": []}, CorruptError, "is not a table schema"),
]


@pytest.mark.parametrize(("change", "error", "word"), BAD_SCHEMAS, ids=str)
def test_schemas_that_say_nonsense(
    lake: lakebed.Lake, change: dict[str, Any], error: type[LakebedError], word: str
) -> None:
    path = stored_path(lake.warehouse) / "db.db/t/schema/schema-0"
    raw = json.loads(path.read_text()) | change
    path.write_text(json.dumps({key: value for key, value in raw.items() if value is not None}))
    refused(lake.warehouse, lambda: lake.table("db.t"), error, "schema-0", word)


def change_version(path: Path, version: int) -> None:
    """The same Avro records, of another version of the format."""
    reader = fastavro.reader(io.BytesIO(path.read_bytes()))
    records = [record | {"_VERSION": version} for record in reader]
    assert records
    out = io.BytesIO()
    fastavro.writer(out, reader.writer_schema, records)
    path.write_bytes(out.getvalue())


@pytest.mark.parametrize("what", ["base list", "delta list", "manifest"])
@pytest.mark.parametrize("version", [1, 3])
def test_manifests_of_other_versions(lake: lakebed.Lake, what: str, version: int) -> None:
    folder = stored_path(lake.warehouse) / "db.db/t"
    victim = first(folder, what)
    change_version(victim, version)
    words = (victim.name, f"manifest version {version}", "knows version 2", "upgrade Lakebed")
    refused(folder, lambda: lake.table("db.t").scan().to_arrow(), UnsupportedError, *words)
    refused(folder, lambda: lake.table("db.t").truncate(), UnsupportedError, *words)


@pytest.mark.parametrize("damage", ["missing", "newer", *DAMAGES])
def test_damaged_index_manifests_are_named(lake: lakebed.Lake, damage: str) -> None:
    table = lake.create_table("db.u", "id INT", options={"deletion-vectors.enabled": "true"})
    table.write([{"id": 1}, {"id": 2}])
    (data_file,) = (stored_path(table.path) / "bucket-0").iterdir()
    delete_positions(table, {data_file.name: [0]})
    (victim,) = (stored_path(table.path) / "manifest").glob("index-manifest-*")
    error: type[LakebedError] = CorruptError
    if damage == "missing":
        victim.unlink()
        error = NotFoundError
    elif damage == "newer":
        change_version(victim, 2)
        error = UnsupportedError
    else:
        victim.write_bytes(DAMAGES[damage](victim.read_bytes()))
    refused(table.path, lambda: table.scan().to_arrow(), error, victim.name)
    refused(table.path, lambda: table.delete("id = 2"), error, victim.name)
    refused(table.path, table.truncate, error, victim.name)


@pytest.mark.parametrize(
    "hint", [b"", b"rubbish", b"\xff\xfe\x00", b"-1", b"1", b"99", b"2\n", b"9" * 400, b"2.0", "²".encode()]
)
def test_hints_full_of_rubbish(lake: lakebed.Lake, table: lakebed.Table, hint: bytes) -> None:
    for name in ("LATEST", "EARLIEST"):
        (stored_path(table.path) / "snapshot" / name).write_bytes(hint)
    opened = lake.table("db.t")
    assert sorted(opened.scan(["id"]).to_arrow()["id"].to_pylist()) == [1, 2, 3]
    assert (latest := opened.latest_snapshot()) is not None
    assert latest.id == 2
    refused(table.path, lambda: opened.scan(timestamp=5), NotFoundError, "the earliest is of")
    assert (made := opened.write(GOOD)) is not None
    assert made.id == 3
    assert (stored_path(table.path) / "snapshot/LATEST").read_bytes() == b"3"


# --------------------------------------------------------------------------------------------------- damaged data files


@pytest.mark.parametrize("damage", ["missing", *DAMAGES])
def test_damaged_data_files_are_named(lake: lakebed.Lake, table: lakebed.Table, damage: str) -> None:
    victim = next(stored_path(table.path).glob("p=y/bucket-0/*"))
    if damage == "missing":
        victim.unlink()
    else:
        victim.write_bytes(DAMAGES[damage](victim.read_bytes()))
    error = NotFoundError if damage == "missing" else CorruptError
    refused(table.path, lambda: table.scan().to_arrow(), error, victim.name)
    refused(table.path, lambda: table.scan().to_batches().read_all(), error, victim.name)
    refused(table.path, lambda: table.scan(where="id + 0 = 2").to_arrow(), error, victim.name)
    refused(table.path, lambda: table.delete("id + 0 = 2"), error, victim.name)
    assert table.scan(where="p = 'x'").to_arrow().num_rows == 2  # the other partition can still be read
    assert table.drop_partition({"p": "y"}) is not None  # and this one be given up
    assert table.scan().to_arrow().num_rows == 2


# ---------------------------------------------------------------------------------------- storage that does not give in


@contextlib.contextmanager
def nobody_may_write(folder: Path) -> Iterator[None]:
    """The folder is read-only, also for root, who becomes nobody for the while."""
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        for path in folders:
            path.chmod(0o755)


@pytest.fixture
def open_folder(template: Path) -> Iterator[Path]:
    """A copy of the table in a place that everybody can look into (pytest's own folders are private)."""
    folder = Path(tempfile.mkdtemp(prefix="lakebed-test-"))
    folder.chmod(0o755)
    shutil.copytree(template, folder, dirs_exist_ok=True)
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_read_only_folder(open_folder: Path) -> None:
    lake = lakebed.connect(open_folder)
    table = lake.table("db.t")
    table.scan().to_arrow()  # whatever is imported late is there now
    pl.DataFrame(ROWS).to_arrow()
    acts: list[Callable[[], Any]] = [
        lambda: table.write(GOOD),
        lambda: table.write(typed([ROWS[0] | {"p": "new"}])),
        lambda: table.overwrite(GOOD),
        lambda: table.delete("id = 1"),
        lambda: table.delete("p = 'x'"),
        table.truncate,
        lambda: table.drop_partition({"p": "x"}),
        lambda: table.alter(changes.AddColumn("n", "INT")),
        lambda: lake.create_table("db.new", "id INT"),
        lambda: lake.create_database("new"),
        lambda: lake.drop_table("db.t"),
        lambda: lake.drop_database("db", cascade=True),
        lambda: lake.rename_table("db.t", "db.u"),
    ]
    with nobody_may_write(open_folder):
        assert table.scan().to_arrow().num_rows == 3
        assert lake.system_table("db.t$files").scan().to_arrow().num_rows == 3
        for act in acts:
            refused(open_folder, act, StorageError, "permission denied", str(open_folder))
    assert table.write(GOOD) is not None


@contextlib.contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """A file that grows beyond the size fails, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def noise(rows: int) -> pa.Table:
    """Rows that do not compress: about four bytes each."""
    ids = np.random.default_rng(rows).integers(0, 2**31 - 1, rows, np.int32)
    nothing = pa.nulls(rows)
    return pa.table({"id": ids, "name": nothing, "t": nothing, "p": pa.repeat("x", rows)})


@pytest.mark.parametrize("limit", [0, 100, 1000, 20_000])
def test_files_that_cannot_grow(lake: lakebed.Lake, table: lakebed.Table, limit: int) -> None:
    rows = noise(20_000)

    def within(act: Callable[[], Any]) -> Callable[[], Any]:
        def limited() -> Any:
            with files_no_larger_than(limit):
                return act()

        return limited

    words = ("cannot write", "File too large")
    refused(lake.warehouse, within(lambda: table.write(rows)), StorageError, *words)
    refused(lake.warehouse, within(lambda: table.overwrite(rows)), StorageError, *words)
    if limit == 0:
        refused(lake.warehouse, within(table.truncate), StorageError, *words)
        refused(lake.warehouse, within(lambda: table.delete("id = 1")), StorageError, *words)
        refused(
            lake.warehouse, within(lambda: table.alter(changes.AddColumn("n", "INT"))), StorageError, "cannot create"
        )
        refused(lake.warehouse, within(lambda: lake.create_table("db.new", "id INT")), StorageError, "cannot create")
    assert table.write(rows) is not None


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[bool]:
    """A disk of its own for a folder, where that is allowed; says whether it was."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def problem_of(act: Callable[[], Any]) -> Exception | None:
    try:
        act()
    except Exception as problem:
        return problem
    return None


def test_a_full_disk(template: Path, tmp_path: Path) -> None:
    """Whatever is the first file that finds no room: the table is as it was, and works again when there is some."""
    with small_disk(tmp_path / "disk", "1m") as mounted:
        if not mounted:  # the same through a limit on the size of files, which needs no rights
            table = make(tmp_path / "disk/lake")
            with files_no_larger_than(0):
                refused(table.path, lambda: table.write(GOOD), StorageError, "cannot write")
            return
        folder = tmp_path / "disk/lake"
        shutil.copytree(template, folder)
        table = lakebed.connect(folder).table("db.t")
        refused(folder, lambda: table.write(noise(400_000)), StorageError, "cannot write", "no space left", "free some")
        acts: list[Callable[[], Any]] = [lambda: table.write(noise(50)), lambda: table.delete("id >= 0 AND name = 'a'")]
        failed = 0
        filler = tmp_path / "disk/filler"
        for pages in range(14):  # a data file, two lists, a manifest, the snapshot: each of them fails once
            free = shutil.disk_usage(folder).free
            filler.write_bytes(b"x" * (free - pages * 4096))
            for act in acts:
                before = fingerprint(folder)
                problem = problem_of(act)
                if problem is not None:
                    assert type(problem) is StorageError
                    assert "no space left" in str(problem)
                    assert fingerprint(folder) == before
                    failed += 1
            filler.unlink()
            assert (latest := table.latest_snapshot()) is not None
            assert table.scan().to_arrow().num_rows == latest.total_record_count
        assert failed >= 5
        assert table.write(noise(50)) is not None


# -------------------------------------------------------------------------------------------------------------- commits


def test_a_writer_that_gives_up(table: lakebed.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit on retries, a commit that always loses leaves nothing behind."""
    table.alter(changes.SetOption("commit.max-retries", "2"), changes.SetOption("commit.max-retry-wait", "1 ms"))
    monkeypatch.setattr(table._store.snapshots, "create", lambda *_: False)
    refused(
        table.path, lambda: table.write(GOOD), CommitConflictError, "gave up after 3 attempts", "Nothing was committed"
    )
    refused(table.path, table.truncate, CommitConflictError, "gave up after 3 attempts")
