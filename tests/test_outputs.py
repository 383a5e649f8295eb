"""Rows in other forms: streams of Arrow, DuckDB, limits, and what notebooks show."""

from __future__ import annotations

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import OptionError

ROWS = [{"id": n, "v": f"<{n}>"} for n in range(25)]


@pytest.fixture
def made(lake: lakebed.Lake) -> lakebed.Table:
    table = lake.create_table("db.t", "id INT COMMENT 'the <key>', v STRING", partition_by="v")
    table.write(ROWS[:20])
    table.write(ROWS[20:])
    return table


def ids(rows: pa.Table) -> list[int]:
    return sorted(rows["id"].to_pylist())


def test_other_libraries_read_tables_and_scans(made: lakebed.Table, lake: lakebed.Lake) -> None:
    scan = made.scan(["id"], where="id < 3")
    for _ in range(2):  # every reader gets a stream of its own
        assert ids(pa.table(scan)) == [0, 1, 2]
        assert sorted(pl.DataFrame(scan)["id"].to_list()) == [0, 1, 2]
        assert duckdb.sql("SELECT sum(id) FROM scan").fetchall() == [(3,)]
    assert len(pa.table(made)) == 25
    snapshots = lake.system_table("db.t$snapshots").scan()
    assert len(pa.table(snapshots)) == len(snapshots.to_duckdb().fetchall()) == 2


def test_rows_of_one_table_are_written_to_another(made: lakebed.Table, lake: lakebed.Lake) -> None:
    scan = made.scan(where="id < 3")
    copy = lake.create_table("db.copy", scan)
    copy.write(scan)
    assert ids(copy.to_arrow()) == [0, 1, 2]
    copy.write(made)
    assert copy.count() == 28


def test_duckdb(made: lakebed.Table) -> None:
    relation = made.to_duckdb()
    assert relation.aggregate("max(id)").fetchall() == relation.aggregate("max(id)").fetchall() == [(24,)]
    with duckdb.connect() as connection:
        assert made.scan(["id"], limit=2).to_duckdb(connection).filter("id >= 0").count("id").fetchall() == [(2,)]


def test_limits(made: lakebed.Table, lake: lakebed.Lake) -> None:
    for limit in (0, 1, 7, 25, 100):
        scan = made.scan(limit=limit)
        expected = min(limit, 25)
        assert scan.count() == len(scan.to_arrow()) == len(scan.to_polars()) == len(scan.to_pandas()) == expected
        assert len(scan.to_batches().read_all()) == len(made.head(limit)) == expected
        assert len(lake.system_table("db.t$files").scan(limit=limit).to_arrow()) == expected
    assert ids(made.scan(["id"], where="id >= 23", limit=5).to_arrow()) == [23, 24]
    for wrong in (-1, 1.5, True, "3"):
        with pytest.raises(OptionError, match=r"limit is .*; it must be a whole number from 0 on"):
            made.scan(limit=wrong)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="leave limit= out"):
        made.scan(limit=1).min_max("id")


def test_a_scan_shows_its_first_rows_in_a_notebook(made: lakebed.Table, lake: lakebed.Lake) -> None:
    scan = made.scan(["id", "v"], where="id >= 0")
    assert repr(scan) == "<Scan of db.t at snapshot 2: id, v, where id >= 0>"
    html = scan._repr_html_()
    assert html.count("<tr>") == 11
    assert html.startswith("<table><caption>Scan of db.t at snapshot 2: id, v, where id &gt;= 0</caption>")
    assert html.endswith("... and more rows")
    assert "<0>" not in html
    assert "more" not in made.scan(where="id < 3")._repr_html_()
    assert repr(made.scan(since=1, limit=3)).endswith(": id, v, limit 3>")
    system = lake.system_table("db.t$snapshots").scan()
    assert (repr(system), system._repr_html_().count("<tr>")) == ("<SystemScan of db.t$snapshots>", 3)


def test_a_wide_scan_shows_its_first_columns(lake: lakebed.Lake) -> None:
    wide = lake.create_table("db.wide", ", ".join(f"c{n} STRING" for n in range(40)))
    wide.write([{"c0": "x" * 100}])
    html = wide.scan()._repr_html_()
    assert (html.count("<th>"), "... and 10 more columns" in html, "x" * 57 + "..." in html) == (30, True, True)


def test_a_table_shows_its_columns_in_a_notebook(made: lakebed.Table) -> None:
    html = made._repr_html_()
    assert "<caption>Table db.t, partitioned by v</caption>" in html
    assert "<tr><td>id</td><td>INT</td><td>the &lt;key&gt;</td></tr>" in html
    assert "Table db.t, branch b, partitioned by v" in made.create_branch("b")._repr_html_()


def test_results_show_their_text_in_a_notebook(made: lakebed.Table) -> None:
    made.create_tag("a")
    results = [made.schema, made.latest_snapshot(), made.tags()["a"], made.history(), made.diff(1), made.verify()]
    for result in [*results, made.expire_snapshots(dry_run=True), made.scan().plan()]:
        assert result is not None
        html = result._repr_html_()
        assert html.startswith("<pre>")
        assert str(result).splitlines()[0].replace("<", "&lt;")[:20] in html
