"""Tables that DataFrames and streams create by name, with and without a format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from lakebed import Lake, UnsupportedError


def rows_of(lake: Lake, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in lake.table(name).scan().to_arrow().to_pylist())


@pytest.mark.parametrize("form", [None, "paimon", "lakebed"])
def test_save_as_table(spark: Any, lake: Lake, db: str, form: str | None) -> None:
    def save(text: str, mode: str | None = None, **options: str) -> None:
        writer = spark.sql(text).write.mode(mode).options(**options)
        (writer if form is None else writer.format(form)).saveAsTable(f"lakebed.{db}.t")

    save("SELECT 1 AS id, 'a' AS v")
    assert lake.table(f"{db}.t").options == {}
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        save("SELECT 2 AS id, 'b' AS v")
    save("SELECT 2 AS id, 'b' AS v", "ignore")
    save("SELECT 'c' AS v, 3 AS id", "append")
    assert rows_of(lake, f"{db}.t") == [(1, "a"), (3, "c")]
    save("SELECT 4 AS id", "overwrite", **{"primary-key": "id", "bucket": "1"})
    assert rows_of(lake, f"{db}.t") == [(4,)]
    assert lake.table(f"{db}.t").schema.primary_keys == ("id",)
    assert lake.table(f"{db}.t").options == {"bucket": "1"}


def test_options_and_partitions_of_a_new_table(spark: Any, lake: Lake, db: str) -> None:
    frame = spark.sql("SELECT 1 AS id, 'a' AS v")
    frame.write.partitionBy("v").option("primary-key", "id,v").saveAsTable(f"lakebed.{db}.t")
    schema = lake.table(f"{db}.t").schema
    assert (schema.primary_keys, schema.partition_keys) == (("id", "v"), ("v",))
    frame.writeTo(f"lakebed.{db}.u").option("bucket", "2").tableProperty("bucket-key", "id").create()
    assert lake.table(f"{db}.u").options == {"bucket": "2", "bucket-key": "id"}
    with pytest.raises(Exception, match="unknown option 'bukcet'"):
        frame.write.option("bukcet", "2").saveAsTable(f"lakebed.{db}.w")
    assert lake.tables(db) == ["t", "u"]


def test_other_formats_are_refused(spark: Any, lake: Lake, db: str) -> None:
    frame = spark.sql("SELECT 1 AS id")
    with pytest.raises(Exception, match=r'format\("orc"\): tables of this catalog are Paimon tables'):
        frame.write.format("orc").saveAsTable(f"lakebed.{db}.t")
    for form in ("parquet", "orc"):  # the default one, too: the user has written it
        for text in ("(id INT) USING {}", "USING {} AS SELECT 1 AS id"):
            with pytest.raises(UnsupportedError, match=f"USING {form}: tables of this catalog are Paimon tables"):
                lake.sql(f"CREATE TABLE {db}.t {text.format(form)}")
    assert lake.tables(db) == []
    spark.sql("CREATE TABLE IF NOT EXISTS of_spark_itself (id INT) USING parquet")
    spark.sql("DROP TABLE of_spark_itself")


@pytest.mark.parametrize("form", [None, "paimon", "lakebed"])
def test_a_stream_creates_its_table(spark: Any, lake: Lake, db: str, tmp_path: Path, form: str | None) -> None:
    lake.create_table(f"{db}.source", "id BIGINT, v STRING").write([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
    writer = spark.readStream.table(f"lakebed.{db}.source").writeStream.trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    (writer if form is None else writer.format(form)).toTable(f"lakebed.{db}.t").awaitTermination()
    assert rows_of(lake, f"{db}.t") == [(1, "a"), (2, "b")]


def test_version_as_of_and_timestamp_as_of(spark: Any, lake: Lake, db: str) -> None:
    table = lake.create_table(f"{db}.t", "id INT")
    for number in range(3):
        table.write([{"id": number}])
    table.create_tag("first", snapshot=1)

    for key, value, count in (
        ("versionAsOf", 1, 1),
        ("versionAsOf", "2", 2),
        ("versionAsOf", "first", 1),
        ("timestampAsOf", "2999-01-01 00:00:00", 3),
    ):
        assert spark.read.option(key, value).table(f"lakebed.{db}.t").count() == count
        assert spark.read.format("lakebed").option(key, value).load(table.path).count() == count
    assert spark.read.format("paimon").option("versionAsOf", 2).load(table.path).count() == 2
    files = f"lakebed.{db}.`t$files`"
    assert spark.read.option("versionAsOf", 2).table(files).count() == 2
    with pytest.raises(Exception, match="snapshot 9 of table"):
        spark.read.option("versionAsOf", 9).table(f"lakebed.{db}.t").count()
    with pytest.raises(AnalysisException, match="TIME_TRAVEL"):
        spark.range(1).selectExpr("id").writeTo(f"lakebed.{db}.t").option("versionAsOf", 1).append()


def test_a_writer_adds_columns_by_the_option_of_paimon_and_of_delta(spark: Any, lake: Lake, db: str) -> None:
    name = f"lakebed.{db}.t"
    spark.sql("SELECT 1 AS id").write.option("mergeSchema", "true").saveAsTable(name)
    assert lake.table(f"{db}.t").options == {}
    more = spark.sql("SELECT '2' AS id, 'b' AS v")
    with pytest.raises(AnalysisException, match="too many data columns"):
        more.write.mode("append").option("mergeSchema", "false").saveAsTable(name)
    more.write.mode("append").option("mergeSchema", "true").saveAsTable(name)
    spark.sql("SELECT 3 AS id, 1.5D AS n").writeTo(name).option("mergeschema", "true").append()
    spark.sql("SELECT 4 AS id, true AS b").writeTo(name).option("write.merge-schema", "true").append()
    assert lake.table(f"{db}.t").schema.field_names == ("id", "v", "n", "b")
    assert [row[0] for row in rows_of(lake, f"{db}.t")] == [1, 2, 3, 4]
