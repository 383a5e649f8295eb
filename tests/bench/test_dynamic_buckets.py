"""The benchmark of dynamic buckets: a small run of ours gives complete results."""

from __future__ import annotations

import pytest
from bench.dynamic_buckets import assigner, show, table


@pytest.mark.long
def test_a_small_run(capsys: pytest.CaptureFixture[str]) -> None:
    found = {
        "assigner": {name: assigner(name, 20_000) for name in ("lakebed", "dict")},
        "table": {"lakebed": table("lakebed", 20_000)},
    }
    assert found["assigner"]["lakebed"]["bytes_per_key"] <= 8
    assert set(found["assigner"]["dict"]["millions_per_second"]) == {"first", "known", "new"}
    assert {"first load", "upsert of 10,000", "one new key", "lookup", "lookup without index"} < set(
        found["table"]["lakebed"]
    )
    show(20_000, found)
    assert "20,000 keys" in capsys.readouterr().out
