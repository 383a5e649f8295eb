"""0.0 and -0.0 are two partitions: an overwrite or a drop of one leaves the other, as in Java."""

from __future__ import annotations

import math

import pytest

import lakebed


@pytest.fixture(params=["FLOAT", "DOUBLE"])
def table(lake: lakebed.Lake, request: pytest.FixtureRequest) -> lakebed.Table:
    made = lake.create_table("db.t", f"id INT, p {request.param}", partition_by=["p"])
    for number, value in enumerate([0.0, -0.0, 1.0, None]):
        made.write([{"id": number, "p": value}])
    return made


def ids(table: lakebed.Table) -> list[int]:
    return sorted(row["id"] for row in table.to_arrow().to_pylist())


@pytest.mark.parametrize(("value", "left"), [(0.0, [1, 2, 3]), (-0.0, [0, 2, 3]), ("-0.0", [0, 2, 3]), (0, [1, 2, 3])])
def test_a_drop_takes_one_of_them(table: lakebed.Table, value: object, left: list[int]) -> None:
    assert table.drop_partition({"p": value}) is not None
    assert ids(table) == left


@pytest.mark.parametrize(("value", "left"), [(0.0, [1, 2, 3, 9]), (-0.0, [0, 2, 3, 9])])
def test_an_overwrite_replaces_one_of_them(table: lakebed.Table, value: float, left: list[int]) -> None:
    table.overwrite([{"id": 9, "p": value}], {"p": value})
    assert ids(table) == left
    signs = {row["id"]: math.copysign(1, row["p"]) for row in table.to_arrow().to_pylist() if row["p"] == 0}
    assert signs[9] == math.copysign(1, value)


def test_rows_of_the_other_one_are_outside(table: lakebed.Table) -> None:
    with pytest.raises(lakebed.LakebedError, match=r"p is 0\.0"):
        table.overwrite([{"id": 9, "p": -0.0}], {"p": 0.0})
    assert ids(table) == [0, 1, 2, 3]


def test_a_query_finds_both(table: lakebed.Table) -> None:
    assert sorted(row["id"] for row in table.scan(where="p = 0.0").to_arrow().to_pylist()) == [0, 1]
