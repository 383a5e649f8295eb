"""The same tables on MinIO, in turns: Lakebed, Apache Paimon itself (Java) and pypaimon, each with its own S3 client.

Java is Paimon's core 2.0.0 with its own S3 file system, paimon-s3 1.4.2: the newest on Maven Central, where there is
none of 2.0. It works with the newer core. pypaimon uses the S3 file system of pyarrow. Both leave folder markers, which
are empty objects with a slash at the end of their names (``lakebed.storage.folder_markers``).

Not tried: the Spark connector with Hadoop's s3a, because the file system of paimon-s3 is Hadoop's s3a too.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.interop.cases import ID_V, ID_V_DT, Fields, Rows, comparable, expected, table
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours
from tests.servers.minio import MinIO

TABLE = "db.t"
KEYED: Fields = [("id", "INT NOT NULL"), ("v", "STRING"), ("dt", "STRING NOT NULL")]
SPECIAL = ["plain", "a b", "a/b", "50%", "k=v", "ä€😀", "x:y", "a+b&c?d#e", "%2F", "'\"\\", "~.-_"]


@dataclass(frozen=True)
class Layout:
    """A kind of table."""

    name: str
    fields: Fields
    partition_keys: list[str] = field(default_factory=list)
    primary_keys: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)

    def merged(self, *batches: Rows) -> Rows:
        """The rows of all batches, as the table shows them."""
        rows = [row for batch in batches for row in batch]
        if not self.primary_keys:
            return rows
        return list({(row[0], row[2]): row for row in rows}.values())


LAYOUTS = [
    Layout("append", ID_V_DT),
    Layout("partitions", ID_V_DT, ["dt"]),
    Layout("keys", KEYED, ["dt"], ["id", "dt"], {"bucket": "2"}),
    Layout("keys with vectors", KEYED, ["dt"], ["id", "dt"], {"bucket": "2", "deletion-vectors.enabled": "true"}),
]


@pytest.fixture
def warehouse(minio: MinIO) -> str:
    return f"{minio.create_bucket(f'interop-{uuid.uuid4().hex[:12]}')}/some folder/warehouse"


@pytest.fixture
def lakebed_on_s3(minio: MinIO) -> Ours:
    return Ours(minio.options)


@pytest.fixture(params=["java", "pypaimon"])
def other(request: pytest.FixtureRequest) -> Oracle:
    oracle: Oracle = request.getfixturevalue(f"{request.param}_on_s3")
    return oracle


def agree(warehouse: str, layout: Layout, rows: Rows, *sides: Ours | Oracle) -> None:
    for side in sides:
        found = side.read(warehouse, TABLE)
        assert comparable(found, layout.fields) == expected(layout.fields, rows), side.name


def is_whole(ours: Ours, warehouse: str) -> None:
    """Nothing is missing in the table, and nothing is left over."""
    target = ours.lake(warehouse).table(TABLE)
    report = target.verify(deep=True)
    assert report.ok, report.problems
    found = target.remove_orphan_files(older_than=time.time_ns() // 1_000_000 + 60_000, dry_run=True)
    assert not found.files, found


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@pytest.mark.parametrize("creator", ["lakebed", "other"])
def test_in_turns(creator: str, layout: Layout, lakebed_on_s3: Ours, other: Oracle, warehouse: str) -> None:
    ours = lakebed_on_s3
    if other.name == "pypaimon" and "deletion-vectors.enabled" in layout.options:
        pytest.skip("pypaimon cannot write deletion vectors: its upserts would be invisible until a compaction")
    first, second = (ours, other) if creator == "lakebed" else (other, ours)
    first.create_table(
        warehouse, TABLE, layout.fields, layout.partition_keys, primary_keys=layout.primary_keys, options=layout.options
    )
    batches: list[Rows] = [
        [(i, f"a{i}", "xy"[i % 2]) for i in range(6)],
        [(i, f"b{i}", "xy"[i % 2]) for i in range(4, 9)],
        [(i, f"c{i}", "yz"[i % 2]) for i in range(0, 9, 3)],
        [(i, f"d{i}", "xz"[i % 2]) for i in range(7, 12)],
    ]
    for number, side in enumerate((first, second, first, second)):
        side.write(warehouse, TABLE, table(layout.fields, batches[number]))
        agree(warehouse, layout, layout.merged(*batches[: number + 1]), ours, other)
    is_whole(ours, warehouse)
    ours.compact(warehouse, TABLE, full=True)
    agree(warehouse, layout, layout.merged(*batches), ours, other)
    last: Rows = [(1, "e", "x"), (50, "e", "new")]
    other.write(warehouse, TABLE, table(layout.fields, last))
    if layout.primary_keys and other.name == "java":
        other.compact(warehouse, TABLE, full=True)
        agree(warehouse, layout, layout.merged(*batches, last), other)
    agree(warehouse, layout, layout.merged(*batches, last), ours)
    is_whole(ours, warehouse)


@pytest.mark.parametrize("creator", ["lakebed", "other"])
def test_deleted_rows(creator: str, lakebed_on_s3: Ours, other: Oracle, warehouse: str) -> None:
    """Deletion vectors of an append table."""
    ours = lakebed_on_s3
    layout = Layout("vectors", ID_V_DT, ["dt"], [], {"deletion-vectors.enabled": "true"})
    side = ours if creator == "lakebed" else other
    side.create_table(warehouse, TABLE, ID_V_DT, ["dt"], options=layout.options)
    rows: Rows = [(i, f"v{i}", "x y" if i < 5 else "z/%") for i in range(10)]
    other.write(warehouse, TABLE, table(ID_V_DT, rows[:7]))
    ours.write(warehouse, TABLE, table(ID_V_DT, rows[7:]))
    ours.delete(warehouse, TABLE, "id IN (1, 6, 8)")
    left = [row for row in rows if row[0] not in {1, 6, 8}]
    agree(warehouse, layout, left, ours, other)
    other.write(warehouse, TABLE, table(ID_V_DT, [(20, "w", "z/%")]))
    ours.delete(warehouse, TABLE, "id = 0")
    left = [*left[1:], (20, "w", "z/%")]
    agree(warehouse, layout, left, ours, other)
    is_whole(ours, warehouse)
    ours.compact(warehouse, TABLE, full=True)
    agree(warehouse, layout, left, ours, other)


@pytest.mark.parametrize("creator", ["lakebed", "other"])
def test_partition_values_with_special_characters(
    creator: str, lakebed_on_s3: Ours, other: Oracle, minio: MinIO, warehouse: str
) -> None:
    """Every side gives a partition the same folder, so a value never has two."""
    ours = lakebed_on_s3
    layout = Layout("special", ID_V_DT, ["dt"])
    sides: tuple[Ours | Oracle, ...] = (ours, other) if creator == "lakebed" else (other, ours)
    sides[0].create_table(warehouse, TABLE, ID_V_DT, ["dt"])
    rows: Rows = []
    folders = []
    for number, side in enumerate(sides):
        batch: Rows = [(100 * number + i, side.name, value) for i, value in enumerate(SPECIAL)]
        side.write(warehouse, TABLE, table(ID_V_DT, batch))
        rows += batch
        agree(warehouse, layout, rows, ours, other)
        folders.append(partition_folders(minio, warehouse))
    assert folders[0] == folders[1]
    assert len(folders[0]) == len(SPECIAL)
    for value in SPECIAL:
        quoted = value.replace("'", "''").replace("\\", "\\\\")
        found = ours.lake(warehouse).table(TABLE).scan(where=f"dt = '{quoted}'").to_arrow()
        assert sorted(found["v"].to_pylist()) == sorted(side.name for side in sides), value
    ours.compact(warehouse, TABLE, full=True)
    agree(warehouse, layout, rows, ours, other)
    assert partition_folders(minio, warehouse) == folders[0]
    is_whole(ours, warehouse)


def test_folder_markers(lakebed_on_s3: Ours, other: Oracle, minio: MinIO, warehouse: str) -> None:
    """Markers of other engines are no files, and no marker keeps a dropped table or database visible."""
    ours = lakebed_on_s3
    other.create_table(warehouse, TABLE, ID_V_DT, ["dt"])
    other.create_table(warehouse, "db.empty", ID_V)
    other.create_table(warehouse, "bare.t", ID_V)
    other.write(warehouse, TABLE, table(ID_V_DT, [(1, "a", "x"), (2, "b", "y z")]))
    assert markers(minio, warehouse), "this engine leaves no markers; then this test is not needed"
    lake = ours.lake(warehouse)
    assert (lake.databases(), lake.tables()) == (["bare", "db"], ["bare.t", "db.empty", "db.t"])
    is_whole(ours, warehouse)
    renamed = lake.rename_table("db.empty", "db.other")
    assert renamed.count() == 0
    lake.drop_table(TABLE)
    assert lake.tables("db") == other.call("tables", warehouse=warehouse, database="db") == ["other"]
    lake.drop_table("bare.t")
    lake.drop_database("bare")
    lake.drop_database("db", cascade=True)
    assert lake.databases() == other.call("databases", warehouse=warehouse) == []
    assert [name for name in markers(minio, warehouse) if ".db" in name] == []
    other.create_table(warehouse, TABLE, ID_V)
    ours.write(warehouse, TABLE, table(ID_V, [(1, "again")]))
    assert other.read(warehouse, TABLE).to_pylist() == [{"id": 1, "v": "again"}]


def test_the_other_drops(lakebed_on_s3: Ours, other: Oracle, warehouse: str) -> None:
    ours = lakebed_on_s3
    ours.create_table(warehouse, TABLE, ID_V)
    ours.write(warehouse, TABLE, table(ID_V, [(1, "a")]))
    other.call("drop_table", warehouse=warehouse, table=TABLE)
    assert ours.lake(warehouse).tables("db") == []
    other.call("drop_database", warehouse=warehouse, database="db")
    assert ours.lake(warehouse).databases() == []


# MinIO keeps an object in a folder of its name, and a folder marker in one with this suffix.
_MARKER = "__XLDIR__"


def _stored(minio: MinIO, warehouse: str) -> Iterator[str]:
    root = minio.folder / "data" / warehouse.removeprefix("s3://").partition("/")[0]
    return (str(path.parent.relative_to(root)) for path in Path(root).rglob("xl.meta"))


def markers(minio: MinIO, warehouse: str) -> list[str]:
    return sorted(name.replace(_MARKER, "/") for name in _stored(minio, warehouse) if name.endswith(_MARKER))


def partition_folders(minio: MinIO, warehouse: str) -> set[str]:
    names = (name for name in _stored(minio, warehouse) if "/dt=" in name and not name.endswith(_MARKER))
    return {name[name.index("/dt=") + 1 : name.index("/bucket-")] for name in names}
