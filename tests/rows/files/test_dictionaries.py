"""Which columns of a file have a dictionary: those whose values repeat, in small files too."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.places import stored_path

from lakebed import Lake
from lakebed.rows.files.dictionaries import dictionary_columns


def rows(count: int) -> pa.Table:
    numbers = range(count)
    return pa.table(
        {
            "region": [f"region {number // 100 % 3}" for number in numbers],
            "id": pa.array(numbers, pa.int64()),
            "customer": pa.array([number * 7919 % 100_003 for number in numbers], pa.int64()),
            "state": [("new", "paid", "returned")[number % 3] for number in numbers],
            "often": pa.array([number * 7919 % (count // 4) for number in numbers], pa.int64()),
        }
    )


@pytest.mark.parametrize("count", [2_000, 50_000, 300_000])
def test_values_that_hardly_repeat_have_no_dictionary(count: int) -> None:
    names = dictionary_columns(rows(count))
    assert isinstance(names, list)
    assert {"region", "state"} <= set(names)
    assert not {"id", "customer"} & set(names)
    assert ("often" in names) == (count < 300_000), "a dictionary of 75,000 values is too large to be of use"


def test_the_writer_decides_for_few_rows_and_nested_columns() -> None:
    assert dictionary_columns(rows(100)) is True
    assert dictionary_columns(rows(2_000).append_column("n", pa.array([[1]] * 2_000))) is True


def test_keys_are_stored_as_their_columns_are(lake: Lake) -> None:
    columns = "region STRING, id BIGINT, customer BIGINT, state STRING, often BIGINT"
    table = lake.create_table("db.t", columns, primary_key=["region", "id"], options={"bucket": 1})
    table.write(rows(50_000))
    (path,) = stored_path(table.path, "bucket-0").glob("*.parquet")
    group = pq.read_metadata(path).row_group(0)
    encoded = {}
    for number in range(group.num_columns):
        chunk = group.column(number)
        encoded[chunk.path_in_schema] = chunk.dictionary_page_offset is not None
    assert {name for name, has in encoded.items() if has} >= {"region", "_KEY_region", "state", "_VALUE_KIND"}
    assert {name for name, has in encoded.items() if not has} >= {"id", "_KEY_id", "customer"}
    assert path.stat().st_size < 14 * 50_000
