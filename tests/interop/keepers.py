"""Who keeps a table up: lakebed or Java Paimon, with the same calls, so that the same story can be told of both."""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path
from typing import Any, Protocol

from tests.interop.matrix import TABLE
from tests.interop.oracle import Oracle

import lakebed


def now_millis() -> int:
    return time.time_ns() // 1_000_000


class Keeper(Protocol):
    """Upkeep of one table, always on main."""

    name: str

    def compact_manifests(self) -> None: ...
    def expire(
        self, retain: int, retain_max: int | None = None, max_deletes: int | None = None, hours: int = 0
    ) -> None: ...
    def orphans(self) -> list[str]: ...
    def rollback(self, snapshot: int) -> None: ...
    def rollback_to_tag(self, tag: str) -> None: ...
    def create_tag(self, tag: str, snapshot: int | None = None, retain_hours: int | None = None) -> None: ...
    def replace_tag(self, tag: str, snapshot: int) -> None: ...
    def rename_tag(self, old: str, new: str) -> None: ...
    def delete_tag(self, tag: str) -> None: ...
    def expire_tags(self, older_than_millis: int) -> list[str]: ...
    def tags(self) -> dict[str, int]: ...
    def create_branch(self, branch: str, tag: str | None = None) -> None: ...
    def rename_branch(self, old: str, new: str) -> None: ...
    def drop_branch(self, branch: str) -> None: ...
    def branches(self) -> list[str]: ...
    def fast_forward(self, branch: str) -> None: ...
    def merge_branch(self, branch: str) -> None: ...
    def reset_consumer(self, consumer: str, next_snapshot: int) -> None: ...
    def consumers(self) -> dict[str, int]: ...


class JavaKeeper:
    """Apache Paimon's own procedures."""

    name = "java"

    def __init__(self, java: Oracle, warehouse: Path) -> None:
        self._java, self._warehouse = java, warehouse

    def _call(self, op: str, **args: Any) -> Any:
        return self._java.call(op, warehouse=str(self._warehouse), table=TABLE, **args)

    def compact_manifests(self) -> None:
        self._call("compact_manifest")

    def expire(
        self, retain: int, retain_max: int | None = None, max_deletes: int | None = None, hours: int = 0
    ) -> None:
        self._call("expire_snapshots", retain=retain, retain_max=retain_max, max_deletes=max_deletes, hours=hours)

    def orphans(self) -> list[str]:
        found: list[str] = self._call("remove_orphan_files", older_than_millis=now_millis() + 60_000)
        return found

    def rollback(self, snapshot: int) -> None:
        self._call("rollback", snapshot=snapshot)

    def rollback_to_tag(self, tag: str) -> None:
        self._call("rollback_to_tag", tag=tag)

    def create_tag(self, tag: str, snapshot: int | None = None, retain_hours: int | None = None) -> None:
        self._call("create_tag", tag=tag, snapshot=snapshot, retain_hours=retain_hours)

    def replace_tag(self, tag: str, snapshot: int) -> None:
        self._call("replace_tag", tag=tag, snapshot=snapshot)

    def rename_tag(self, old: str, new: str) -> None:
        self._call("rename_tag", old=old, new=new)

    def delete_tag(self, tag: str) -> None:
        self._call("delete_tag", tag=tag)

    def expire_tags(self, older_than_millis: int) -> list[str]:
        found: list[str] = self._call("expire_tags", older_than_millis=older_than_millis)
        return found

    def tags(self) -> dict[str, int]:
        found: dict[str, int] = self._call("tags")
        return found

    def create_branch(self, branch: str, tag: str | None = None) -> None:
        self._call("create_branch", branch=branch, tag=tag)

    def rename_branch(self, old: str, new: str) -> None:
        self._call("rename_branch", old=old, new=new)

    def drop_branch(self, branch: str) -> None:
        self._call("drop_branch", branch=branch)

    def branches(self) -> list[str]:
        found: list[str] = self._call("branches")
        return found

    def fast_forward(self, branch: str) -> None:
        self._call("fast_forward", branch=branch)

    def merge_branch(self, branch: str) -> None:
        self._call("merge_branch", branch=branch)

    def reset_consumer(self, consumer: str, next_snapshot: int) -> None:
        self._call("reset_consumer", consumer=consumer, next_snapshot=next_snapshot)

    def consumers(self) -> dict[str, int]:
        found: dict[str, int] = self._call("consumers")
        return found


class OurKeeper:
    """Lakebed; the table is opened anew for each call, as another process would."""

    name = "lakebed"

    def __init__(self, warehouse: Path) -> None:
        self._warehouse = warehouse

    @property
    def table(self) -> lakebed.Table:
        found = lakebed.connect(str(self._warehouse)).table(TABLE)
        assert isinstance(found, lakebed.Table)
        return found

    def compact_manifests(self) -> None:
        self.table.compact_manifests()

    def expire(
        self, retain: int, retain_max: int | None = None, max_deletes: int | None = None, hours: int = 0
    ) -> None:
        self.table.expire_snapshots(
            retain_min=retain,
            retain_max=retain if retain_max is None else retain_max,
            older_than=dt.timedelta(hours=hours) if hours else now_millis(),
            max_deletes=max_deletes,
        )

    def orphans(self) -> list[str]:
        removed = self.table.remove_orphan_files(older_than=now_millis() + 60_000, dry_run=False, force=True)
        return sorted(Path(file.path).name for file in removed.files)

    def rollback(self, snapshot: int) -> None:
        self.table.rollback_to(snapshot=snapshot)

    def rollback_to_tag(self, tag: str) -> None:
        self.table.rollback_to(tag=tag)

    def create_tag(self, tag: str, snapshot: int | None = None, retain_hours: int | None = None) -> None:
        retained = None if retain_hours is None else dt.timedelta(hours=retain_hours)
        self.table.create_tag(tag, snapshot=snapshot, time_retained=retained)

    def replace_tag(self, tag: str, snapshot: int) -> None:
        self.table.replace_tag(tag, snapshot=snapshot)

    def rename_tag(self, old: str, new: str) -> None:
        self.table.rename_tag(old, new)

    def delete_tag(self, tag: str) -> None:
        self.table.drop_tag(tag)

    def expire_tags(self, older_than_millis: int) -> list[str]:
        return self.table.expire_tags(older_than=older_than_millis)

    def tags(self) -> dict[str, int]:
        return {name: held.id for name, held in self.table.tags().items()}

    def create_branch(self, branch: str, tag: str | None = None) -> None:
        self.table.create_branch(branch, tag=tag)

    def rename_branch(self, old: str, new: str) -> None:
        self.table.rename_branch(old, new)

    def drop_branch(self, branch: str) -> None:
        self.table.drop_branch(branch)

    def branches(self) -> list[str]:
        return self.table.branches()

    def fast_forward(self, branch: str) -> None:
        self.table.fast_forward(branch)

    def merge_branch(self, branch: str) -> None:
        self.table.merge_branch(branch)

    def reset_consumer(self, consumer: str, next_snapshot: int) -> None:
        self.table.reset_consumer(consumer, next_snapshot)

    def consumers(self) -> dict[str, int]:
        return self.table.consumers()
