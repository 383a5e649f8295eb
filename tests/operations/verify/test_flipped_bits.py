"""A flipped bit in a data file or a snapshot changes nothing, or it is found: no read returns other rows."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.operations.verify.damage import rows

import lakebed
from lakebed.format.commit_facts import CHECKSUM
from lakebed.format.snapshot import is_intact, snapshot_from_json
from lakebed.format.tag import tag_from_json
from lakebed.metadata.tags import create_tag
from lakebed.operations.verify.verify import verify

pytestmark = pytest.mark.local_disk

FLIPS = 150


@pytest.fixture(params=["none", "zstd"])
def table(lake: lakebed.Lake, request: pytest.FixtureRequest) -> lakebed.Table:
    made = lake.create_table("db.f", "id BIGINT, v STRING", options={"bucket": "-1", "file.compression": request.param})
    made.write(rows(*range(2000)))
    create_tag(made._store, "t", snapshot=1)
    return made


def the_file(table: lakebed.Table, pattern: str) -> Path:
    (found,) = Path(table.path).glob(pattern)
    return found


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def read(table: lakebed.Table) -> pa.Table | None:
    """Returns the rows; ``None`` if a read tells of the damage."""
    try:
        return table.to_arrow().sort_by("id")
    except lakebed.LakebedError:
        return None


def test_no_flip_in_a_data_file_gives_other_rows(table: lakebed.Table) -> None:
    path, before = the_file(table, "bucket-0/*.parquet"), read(table)
    data, dice = the_file(table, "bucket-0/*.parquet").read_bytes(), random.Random(7)
    found = 0
    for bit in dice.sample(range(8 * len(data)), FLIPS):
        path.write_bytes(flipped(data, bit))
        seen = read(table)
        assert seen is None or seen == before, f"bit {bit} of {len(data)} bytes: a read returned other rows"
        told = [problem.code for problem in verify(table._store, deep=True).problems]
        assert told or seen == before, f"bit {bit}: a read fails, and verify found nothing"
        found += bool(told)
    assert found > FLIPS // 2
    path.write_bytes(data)
    assert verify(table._store, deep=True).ok


@pytest.mark.parametrize(("folder", "code"), [("snapshot/snapshot-1", "snapshot"), ("tag/tag-t", "tag")])
def test_every_flip_in_a_snapshot_is_found(lake: lakebed.Lake, folder: str, code: str) -> None:
    table = lake.create_table("db.s", "id BIGINT, v STRING")
    table.write(rows(1, 2, 3))
    create_tag(table._store, "t", snapshot=1)
    path = Path(table.path, folder)
    data = path.read_bytes()
    before = snapshot_from_json(data, where="here")
    assert is_intact(before)
    for bit in range(8 * len(data)):
        changed = flipped(data, bit)
        try:
            snapshot = snapshot_from_json(changed, where="here")
            tag_from_json("t", changed, where="here")
        except lakebed.LakebedError:
            continue
        same = replace(snapshot, writer_version=before.writer_version) == before  # others write no checksum
        assert not is_intact(snapshot) or same, changed.decode(errors="replace")
    path.write_bytes(data.replace(b'"schemaId": 0', b'"schemaId": 4').replace(b'"schemaId" : 0', b'"schemaId" : 4'))
    assert f"damaged-{code}" in [problem.code for problem in verify(table._store).problems]


def test_a_snapshot_of_another_writer_has_no_checksum(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.o", "id BIGINT, v STRING")
    table.write(rows(1))
    path = Path(table.path, "snapshot/snapshot-1")
    content = json.loads(path.read_text())
    assert CHECKSUM in content.pop("properties")
    path.write_text(json.dumps({**content, "writerVersion": "2.1.0"}))
    assert verify(lake.table("db.o")._store).ok


def test_an_older_paimon_may_write_a_snapshot_again(lake: lakebed.Lake) -> None:
    """It leaves out the keys that it does not know."""
    table = lake.create_table("db.p", "id BIGINT, v STRING")
    table.write(rows(1))
    path = Path(table.path, "snapshot/snapshot-1")
    kept = [
        line for line in path.read_text().splitlines() if not line.lstrip().startswith(('"uuid"', '"writerVersion"'))
    ]
    path.write_text("\n".join(kept))
    assert verify(lake.table("db.p")._store).ok
