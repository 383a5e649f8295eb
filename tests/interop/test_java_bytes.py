"""The same rows written by Java and by us must leave the same metadata: everything in the manifests, the schema, the
snapshot and the shape of the Parquet files that does not come from a clock or a random name."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.interop.bytes_on_disk import LATER_THAN_JAVA_2_0, OWN_NAMES_AND_CLOCKS, parquet_line, read_avro
from tests.interop.cases import CASES, Case, table
from tests.interop.matrix import TABLE
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours

SNAPSHOT_OWN = {
    "uuid",
    "commitUser",
    "timeMillis",
    "baseManifestList",
    "baseManifestListSize",
    "deltaManifestList",
    "deltaManifestListSize",
    "writerVersion",  # Java 2.0.0 has none, its newer versions and pypaimon have one
}
# Java changes to another kind of write buffer at the sixth open partition, and then counts from 1.
MANY_PARTITIONS = 6


class Written:
    """What one writer left of a table's first snapshot."""

    def __init__(self, warehouse: Path) -> None:
        self.root = warehouse / "db.db/t"
        self.schema = json.loads((self.root / "schema/schema-0").read_text())
        self.snapshot = json.loads((self.root / "snapshot/snapshot-1").read_text())
        self.list_schema, self.metas = read_avro(self.root / "manifest" / self.snapshot["deltaManifestList"])
        self.base_schema, self.base = read_avro(self.root / "manifest" / self.snapshot["baseManifestList"])
        self.manifest_schema, self.entries = read_avro(self.root / "manifest" / self.metas[0]["_FILE_NAME"])
        self.files = sorted(self.root.glob("**/bucket-*/*.parquet"))

    def folders(self) -> list[str]:
        return sorted(str(file.parent.relative_to(self.root)) for file in self.files)

    def plain_entries(self) -> list[dict[str, Any]]:
        kept = [
            {**entry, "_FILE": {k: v for k, v in entry["_FILE"].items() if k not in OWN_NAMES_AND_CLOCKS}}
            for entry in self.entries
        ]
        for entry in kept:
            entry["_FILE"].pop("_WRITE_COLS_SEQUENCES", None)
        return sorted(kept, key=lambda e: (e["_PARTITION"], e["_BUCKET"]))

    def plain_metas(self) -> list[dict[str, Any]]:
        dropped = OWN_NAMES_AND_CLOCKS | LATER_THAN_JAVA_2_0
        return [{k: v for k, v in meta.items() if k not in dropped} for meta in self.metas]

    def parquet(self) -> list[str]:
        text = str(pq.ParquetFile(self.files[0]).schema).splitlines()[2:]
        return [parquet_line(line) for line in text]


def without(record: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in keys}


def begins_with(ours: dict[str, Any], java: dict[str, Any]) -> bool:
    """Our Avro schema is Java's, but for fields that newer versions append."""
    own, other = ours["fields"], java["fields"]
    same = all(
        begins_with(mine["type"], its["type"]) if mine["name"] == "_FILE" else mine == its
        for mine, its in zip(own, other, strict=False)
    )
    return same and ours["name"] == java["name"] and {f["name"] for f in own[len(other) :]} <= LATER_THAN_JAVA_2_0


def differences(ours: Written, its: Written, *, parquet: bool) -> dict[str, Any]:
    """What is not the same, as name to (ours, Java's)."""
    pairs = {
        "schema": (without(ours.schema, {"timeMillis"}), without(its.schema, {"timeMillis"})),
        "schema key order": (list(ours.schema), list(its.schema)),
        "folders": (ours.folders(), its.folders()),
        "manifest list": (ours.plain_metas(), its.plain_metas()),
        "base list": (ours.base, its.base),
        "manifest list schema": (begins_with(ours.list_schema, its.list_schema), True),
        "manifest schema": (begins_with(ours.manifest_schema, its.manifest_schema), True),
        "number of entries": (len(ours.entries), len(its.entries)),
        "parquet": (ours.parquet(), its.parquet()) if parquet else ("", ""),
    }
    for i, (mine, other) in enumerate(zip(ours.plain_entries(), its.plain_entries(), strict=False)):
        pairs |= {f"entry {i} {key}": (mine[key], other[key]) for key in mine if key != "_FILE"}
        keys = sorted({*mine["_FILE"], *other["_FILE"]})
        pairs |= {f"entry {i} {key}": (mine["_FILE"].get(key), other["_FILE"].get(key)) for key in keys}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def written_by_both(case: Case, java: Oracle, warehouse: Path) -> tuple[Written, Written]:
    for side in (Ours(), java):
        side.create_table(warehouse / side.name, TABLE, case.fields, case.partition_by, options=case.options)
        side.write(warehouse / side.name, TABLE, table(case.fields, case.first))
    return Written(warehouse / "lakebed"), Written(warehouse / "java")


@pytest.mark.parametrize("case", [c for c in CASES if c.first], ids=lambda c: c.name)
def test_same_metadata(case: Case, java: Oracle, tmp_path: Path) -> None:
    ours, its = written_by_both(case, java, tmp_path)
    # Java writes INT96 for TIMESTAMP(9); we write INT64 in nanoseconds, which it reads too and which has statistics.
    nanoseconds = "(9)" in str(case.fields)
    found = differences(ours, its, parquet=not nanoseconds)
    if nanoseconds:
        found.pop("entry 0 _VALUE_STATS", None)
    if len(ours.entries) >= MANY_PARTITIONS and not case.options:
        found = {name: pair for name, pair in found.items() if not name.endswith("SEQUENCE_NUMBER")}
    assert found == {}


def test_same_snapshot(java: Oracle, tmp_path: Path) -> None:
    ours, its = written_by_both(next(c for c in CASES if c.first), java, tmp_path)
    facts = ours.snapshot.pop("properties")  # what Lakebed adds for itself, and nobody needs to read a table
    assert all(key.startswith("lakebed.") for key in facts)
    assert without(ours.snapshot, SNAPSHOT_OWN) == without(its.snapshot, SNAPSHOT_OWN)
    assert [key for key in ours.snapshot if key != "writerVersion"] == list(its.snapshot)
