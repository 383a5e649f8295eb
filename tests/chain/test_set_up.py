"""Setting up a chain table in Paimon's order: the table, its branches, then the options that name them."""

from __future__ import annotations

import pytest

from lakebed import Lake
from lakebed.errors import AlreadyExistsError
from lakebed.format.schema.evolution import SetOption

OPTIONS = {
    "bucket": "1",
    "chain-table.enabled": "true",
    "partition.timestamp-pattern": "$dt",
    "partition.timestamp-formatter": "yyyyMMdd",
}


@pytest.mark.parametrize("names", [("snapshot", "delta"), ("full", "changes")])
def test_branches_can_be_created_and_named_after_the_table(lake: Lake, names: tuple[str, str]) -> None:
    lake.create_database("shop")
    table = lake.create_table(
        "shop.t", "k INT, v STRING, dt STRING", partition_by=["dt"], primary_key=["dt", "k"], options=OPTIONS
    )
    naming = dict(zip(("scan.fallback-snapshot-branch", "scan.fallback-delta-branch"), names, strict=True))
    full, delta = (table.create_branch(name) for name in names)
    for branch in (table, full, delta):
        branch.alter(*(SetOption(key, value) for key, value in naming.items()))
    main = lake.table("shop.t")
    main.branch(names[0]).write([{"k": 1, "v": "a", "dt": "20250101"}])
    main.branch(names[1]).write([{"k": 2, "v": "b", "dt": "20250102"}])
    assert main.scan(where="dt = '20250102'").count() == 2
    with pytest.raises(AlreadyExistsError, match=names[1]):
        main.create_branch(names[1])
