"""What results show when they are printed: short texts with counts, sizes in units, and the first few of many."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import lakebed

SIZE = r"\d+(\.\d)? (B|KiB)"


def written(lake: lakebed.Lake, count: int = 3, **more: Any) -> lakebed.Table:
    table = lake.create_table("db.t", "id INT, v STRING", **more)
    for number in range(count):
        table.write([{"id": number, "v": "x"}])
    return table


def shown(result: object) -> str:
    """The text of a result, which is short, and whose first line is also in its repr."""
    text = str(result)
    assert len(text) < 2000
    assert repr(result) == f"<{type(result).__name__}: {text.splitlines()[0].removesuffix(':')}>"
    return text


def matches(pattern: str, text: str) -> None:
    assert re.fullmatch(pattern.replace("SIZE", SIZE), text), text


def test_an_expiry_shows_counts_and_the_first_files(lake: lakebed.Lake) -> None:
    table = written(lake, 12)
    table.compact(full=True)
    expiry = table.expire_snapshots(retain_max=1, dry_run=True)
    head, *lines = shown(expiry).splitlines()
    matches(r"would expire 12 snapshots \(1 to 12\) and delete \d+ files, SIZE:", head)
    assert [line.split()[0] for line in lines[:2]] == ["snapshot", "data"]
    matches(r"  snapshot +12 files +SIZE", lines[0])
    assert f"first files, below {table.path}/snapshot:" in lines
    matches(r"  \.\.\. and \d+ more files", lines[-1])
    done = table.expire_snapshots(retain_max=1)
    assert shown(done) == shown(expiry).replace("would expire", "expired").replace("and delete", "and deleted")
    assert shown(table.expire_snapshots(retain_max=1)) == "nothing to expire"


def test_one_file_is_one_file(lake: lakebed.Lake) -> None:
    table = written(lake)
    table.create_tag("a")
    head, kind, first, path = shown(table.drop_tag("a", dry_run=True)).splitlines()
    matches("would delete 1 file, SIZE:", head)
    matches("  tag  1 file  SIZE", kind)
    assert first == f"first files, below {table.path}/tag:"
    matches(r"  tag-a \(SIZE\)", path)


def test_snapshots_tags_and_schemas(lake: lakebed.Lake) -> None:
    table = written(lake, primary_key=["id"], options={"bucket": 1})
    snapshot = table.snapshot(1)
    matches(r"snapshot 1, APPEND at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d, 1 row in its files \(\+1\)", shown(snapshot))
    assert shown(table.create_tag("a", snapshot=1)) == f"tag a: {snapshot}"
    kept = table.create_tag("b", snapshot=1, time_retained="1 d")
    matches(re.escape(f"tag b: {snapshot}") + r", expires \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", shown(kept))
    assert shown(table.schema).splitlines() == [
        "schema 0, 2 columns:",
        "  id  INT NOT NULL",
        "  v   STRING",
        "primary key id",
        "option bucket = 1",
    ]


def test_tags_by_name(lake: lakebed.Lake) -> None:
    table = written(lake)
    assert (str(table.tags()), table.tags()) == ("no tags", {})
    for name in ("a", "longer"):
        table.create_tag(name, snapshot=1)
    snapshot = table.snapshot(1)
    assert str(table.tags()).splitlines() == ["2 tags:", f"  a       {snapshot}", f"  longer  {snapshot}"]
    assert table.tags() == {"a": snapshot, "longer": snapshot}
    assert table.tags()._repr_html_().startswith("<pre>2 tags:")  # type: ignore[attr-defined]


def test_pages_are_small_tables(lake: lakebed.Lake) -> None:
    table = written(lake)
    head, titles, *rows, more = shown(table.history(limit=2)).splitlines()
    assert (head, titles.split()) == ("2 snapshots of 3, newest first:", ["id", "kind", "time", "rows", "user"])
    assert [row.split()[:2] for row in rows] == [["3", "APPEND"], ["2", "APPEND"]]
    assert more == "  ... more with cursor=page.next_cursor"
    assert shown(table.compactions()) == "no compactions"
    table.compact(full=True)
    page = table.compactions()
    head, titles, row = shown(page).splitlines()
    assert head == "1 compaction, newest first:"
    matches(r"  +4  \w+  [\d: -]+  3 -> 1  SIZE -> SIZE  \d\.\d s", row)
    matches(r"\w+ compaction, snapshot 4: 3 files \(SIZE\) to 1 file \(SIZE\) in \d\.\d s", shown(page.compactions[0]))


def test_differences(lake: lakebed.Lake) -> None:
    table = written(lake)
    table.alter(lakebed.changes.AddColumn("note", "STRING"))
    table.write([{"id": 9, "v": "y", "note": "z"}])
    head, schema, files, rows = shown(table.diff(1)).splitlines()
    assert (head, schema) == ("from snapshot 1 to snapshot 4:", "  column note: new, STRING")
    matches(r"  3 files added \(SIZE\), 0 files removed \(0 B\)", files)
    assert rows == "  3 rows added, 0 rows removed"
    assert shown(table.diff(1, sample=1)).splitlines()[-1].endswith("in the sample; there are more")


def test_manifests_indexes_branches_and_caches(lake: lakebed.Lake, tmp_path: Path) -> None:
    table = written(lake)
    compaction = table.compact_manifests(dry_run=True)
    matches(r"would rewrite 3 manifests \(3 entries, SIZE\) to 1 manifest \(3 entries, SIZE\)", shown(compaction))
    table.create_branch("b", snapshot=2).write([{"id": 5, "v": "b"}])
    assert shown(table.fast_forward("b", dry_run=True)).splitlines() == [
        "would fast-forward to branch 'b':",
        "  copy snapshot 3",
        "  delete snapshot 3",
    ]
    assert shown(table.rollback_to(snapshot=1, dry_run=True)).endswith("would delete 2 snapshots (2, 3)")
    assert shown(table.verify()).startswith(
        "db.t: sound, no problems\nchecked the structure of 2 branches, 5 snapshots"
    )
    own = lakebed.connect(tmp_path / "warehouse", options={"manifest.cache.max-size": "1 mb"})
    assert own.table("db.t").count() == 3
    matches(r"\d+ manifests asked for, \d+% known .*; holds \d+ manifests?, SIZE", str(own.cache_statistics()))
