"""A time has one meaning wherever a user gives one: Python, table options, streams, the command line and HTTP."""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pyarrow as pa
import pytest
from tests.cli.runner import Lakebed
from tests.places import stored_path
from tests.service.running import TABLES, get, refused, running

import lakebed
from lakebed.errors import OptionError
from lakebed.service import Settings
from lakebed.streams.table_stream import TableStream

DAYS = (30, 20, 10)
"""How many days ago the three snapshots were committed."""


def ago(days: float) -> int:
    return time.time_ns() // 1_000_000 - round(days * 24 * 3600 * 1000)


FORMS: dict[str, Callable[[], Any]] = {
    "milliseconds": lambda: ago(15),
    "text of milliseconds": lambda: str(ago(15)),
    "datetime": lambda: dt.datetime.fromtimestamp(ago(15) / 1000),
    "datetime with zone": lambda: dt.datetime.fromtimestamp(ago(15) / 1000, dt.UTC),
    "ISO text": lambda: dt.datetime.fromtimestamp(ago(15) / 1000).isoformat(sep=" "),
    "ISO text with zone": lambda: dt.datetime.fromtimestamp(ago(15) / 1000, dt.UTC).isoformat(),
    "date": lambda: str(dt.datetime.fromtimestamp(ago(15) / 1000).date()),
    "days ago": lambda: "15 d",
    "hours ago": lambda: "360 h",
    "timedelta": lambda: dt.timedelta(days=15),
}
TEXTS = {name: form for name, form in FORMS.items() if isinstance(form(), str)}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> lakebed.Table:
    """A table with snapshots of 30, 20 and 10 days ago, each with one more row."""
    lake = lakebed.connect(tmp_path_factory.mktemp("times") / "warehouse")
    lake.create_database("db")
    made = lake.create_table("db.t", "id bigint")
    for number, days in enumerate(DAYS, 1):
        made.write(pa.table({"id": [number]}))
        path = stored_path(made.path) / "snapshot" / f"snapshot-{number}"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"timeMillis": ago(days)}))
    found: lakebed.Table = lakebed.connect(lake.warehouse).table("db.t")
    return found


@pytest.fixture(scope="module")
def cli(table: lakebed.Table) -> Lakebed:
    return Lakebed(_warehouse(table))


@pytest.fixture(scope="module")
def client(table: lakebed.Table) -> Iterator[httpx.Client]:
    with running(Settings(warehouses={"demo": _warehouse(table)})) as client:
        yield client


def _warehouse(table: lakebed.Table) -> str:
    return str(stored_path(table.path).parent.parent)


def _with_options(table: lakebed.Table, **options: str) -> lakebed.Table:
    named = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    found: lakebed.Table = lakebed.connect(_warehouse(table)).table("db.t", options=named)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_python(table: lakebed.Table, form: str) -> None:
    given = FORMS[form]()
    assert table.scan(timestamp=given).snapshot == table.snapshot(2)
    assert table.rollback_to(timestamp=given, dry_run=True).target.id == 2
    assert [one.id for one in table.history(from_time=given).snapshots] == [3]
    assert [one.id for one in table.history(to_time=given).snapshots] == [2, 1]
    assert list(table.expire_snapshots(older_than=given, retain_min=1, dry_run=True).snapshots) == [1]


@pytest.mark.parametrize("form", TEXTS)
def test_options(table: lakebed.Table, form: str) -> None:
    given = str(TEXTS[form]())
    assert _with_options(table, scan__timestamp=given).scan().count() == 2
    since = _with_options(table, incremental_between_timestamp=f"{given},0 s")
    assert since.scan().to_arrow()["id"].to_pylist() == [3]
    stream = _with_options(table, scan__timestamp=given)
    position = TableStream(stream._store, stream.schema, stream.schema.fields, None).start()
    assert position.snapshot == 3, "the first snapshot at or after that time"


@pytest.mark.parametrize("form", TEXTS)
def test_command_line(cli: Lakebed, form: str) -> None:
    given = str(TEXTS[form]())
    assert cli.json("rows", "db.t", "--timestamp", given) == [{"id": 1}, {"id": 2}]
    assert cli.json("rollback", "db.t", "--timestamp", given, "--dry-run")["snapshot_id"] == 2
    assert [one["id"] for one in cli.json("history", "db.t", "--since", given)["snapshots"]] == [3]


@pytest.mark.parametrize("form", TEXTS)
def test_service(client: httpx.Client, form: str) -> None:
    given = TEXTS[form]()
    assert get(client, f"{TABLES}/t/rows", timestamp=given)["snapshot_id"] == 2
    assert [one["id"] for one in get(client, f"{TABLES}/t/snapshots", from_time=given)["items"]] == [3]


@pytest.mark.parametrize("text", ["yesterday", "20250131", "3 moons", "9" * 30])
def test_what_is_no_time_is_refused_everywhere(
    table: lakebed.Table, cli: Lakebed, client: httpx.Client, text: str
) -> None:
    sentences = [
        cli.fails(2, "rows", "db.t", "--timestamp", text),
        cli.fails(2, "history", "db.t", "--since", text),
        refused(client, f"{TABLES}/t/rows", 400, timestamp=text),
        refused(client, f"{TABLES}/t/snapshots", 400, from_time=text),
    ]
    calls: list[Callable[[], object]] = [
        lambda: table.scan(timestamp=text),
        lambda: table.rollback_to(timestamp=text, dry_run=True),
        lambda: table.create_tag_since("x", text),
        lambda: table.history(from_time=text),
        lambda: table.expire_snapshots(older_than=text, dry_run=True),
        lambda: table.expire_tags(older_than=text, dry_run=True),
        lambda: table.remove_orphan_files(older_than=text, dry_run=True),
        lambda: _with_options(table, scan__timestamp=text).scan(),
        lambda: _with_options(table, incremental_between_timestamp=f"{text},0 s").scan(),
    ]
    for call in calls:
        with pytest.raises(OptionError) as caught:
            call()
        sentences.append(str(caught.value))
    for sentence in sentences:
        assert f"is '{text}'" in sentence
        assert "write '2025-01-31'" in sentence if text == "20250131" else "such as '2025-01-31 12:00:00'" in sentence


def test_a_cursor_belongs_to_a_time_in_any_form(table: lakebed.Table) -> None:
    """A page after one with ``from_time="15 d"`` goes on with it, although 15 days ago is a bit later by then."""
    first = table.history(from_time="25 d", limit=1)
    assert first.next_cursor is not None
    for same in ("25 d", "600 h", dt.timedelta(days=25)):
        assert [one.id for one in table.history(from_time=same, limit=1, cursor=first.next_cursor).snapshots] == [2]
    with pytest.raises(OptionError):
        table.history(from_time="26 d", limit=1, cursor=first.next_cursor)
