"""SQL on tables whose buckets grow by themselves: every key has one row, whatever statement wrote it."""

from __future__ import annotations

from lakebed import Lake


def test_all_statements(lake: Lake, db: str) -> None:
    lake.sql(
        f"CREATE TABLE {db}.t (id INT, v STRING, n INT) "
        "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '-1', 'dynamic-bucket.target-row-num' = '3')"
    )
    lake.sql(f"INSERT INTO {db}.t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4), (5, 'e', 5)")
    lake.sql(f"UPDATE {db}.t SET n = n * 10 WHERE id > 3")
    lake.sql(
        f"MERGE INTO {db}.t t USING (SELECT 5 id, 'E' v, 51 n UNION ALL SELECT 6, 'f', 6) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    lake.sql(f"DELETE FROM {db}.t WHERE id = 1")
    found = [tuple(row) for row in lake.sql(f"SELECT * FROM {db}.t ORDER BY id").collect()]
    assert found == [(2, "b", 2), (3, "c", 3), (4, "d", 40), (5, "E", 51), (6, "f", 6)]
    assert lake.sql(f"SELECT count(*) FROM {db}.`t$table_indexes`").collect()[0][0] >= 2
    assert lake.table(f"{db}.t").verify(deep=True).ok
    lake.sql(f"INSERT OVERWRITE {db}.t VALUES (9, 'z', 9)")
    assert [tuple(row) for row in lake.sql(f"SELECT * FROM {db}.t").collect()] == [(9, "z", 9)]
    assert lake.table(f"{db}.t").verify(deep=True).ok
