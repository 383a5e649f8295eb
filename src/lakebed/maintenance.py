"""What a table's keeper does: branches, tags, rollback, expiry, orphan files, consumers, and a check that all is well.

Everything works on the branch that the table was opened on. What removes something can be asked first what it would remove:
``dry_run=True``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lakebed.errors import LakebedError, OptionError
from lakebed.format.snapshot import Snapshot
from lakebed.format.tag import Tag
from lakebed.format.times import parse_time
from lakebed.metadata import branches, consumers, tags
from lakebed.metadata.references.removal import Removal
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compact_manifests import ManifestCompaction, compact_manifests
from lakebed.operations.expire.expire_snapshots import Expiry, expire_snapshots
from lakebed.operations.fast_forward import FastForward, fast_forward
from lakebed.operations.mark_partitions_done import mark_partitions_done
from lakebed.operations.merge_branch import merge_branch
from lakebed.operations.orphans import remove_orphan_files
from lakebed.operations.repair.missing_files import remove_missing_files
from lakebed.operations.repair.rebuild_index import IndexRebuild, rebuild_index
from lakebed.operations.repair.repair_earliest import repair_earliest_snapshot
from lakebed.operations.rollback import RollbackPlan, rollback_to
from lakebed.operations.verify.report import Report
from lakebed.operations.verify.verify import verify
from lakebed.table_kinds import rules_of

Length = str | dt.timedelta


class Maintenance:
    """The part of a table that is about its history and its files, not about its rows."""

    _store: TableStore

    # ------------------------------------------------------------------------------------------------ branches

    def branches(self) -> list[str]:
        """The names of the branches besides main."""
        return self._store.branch_names()

    def rename_branch(self, old: str, new: str, *, force: bool = False) -> None:
        """Give a branch another name; ``force`` also if an option of the table names it."""
        branches.rename_branch(self._store, old, new, force=force)

    def drop_branch(self, name: str, *, force: bool = False, ignore_if_missing: bool = False) -> None:
        """Remove a branch; its files go with :meth:`remove_orphan_files`. ``force`` also if an option names it."""
        branches.drop_branch(self._store, name, force=force, ignore_if_missing=ignore_if_missing)

    def fast_forward(self, name: str, *, dry_run: bool = False) -> FastForward:
        """Make main what a branch is: main's snapshots since the branch's first one go, the branch's take their place."""
        rules_of(self._store).check_fast_forward(name)
        return fast_forward(self._store, name, dry_run=dry_run)

    def merge_branch(self, name: str) -> Snapshot | None:
        """Append what a branch of an append-only table has and this one lacks; ``None`` if there is nothing."""
        return merge_branch(self._store, name)

    # ---------------------------------------------------------------------------------------------------- tags

    def tags(self) -> dict[str, Snapshot]:
        """Every tag and the snapshot it holds."""
        return self._store.snapshots.tags()

    def tag_details(self) -> list[Tag]:
        """Every tag with the time it was made and how long it stays."""
        return tags.list_tags(self._store)

    def create_tag(
        self,
        name: str,
        *,
        snapshot: int | None = None,
        time_retained: Length | None = None,
        ignore_if_exists: bool = False,
    ) -> Tag:
        """Hold a snapshot (the latest, if none is given) under a name, for good or for some time such as ``7 d``."""
        given = {"snapshot": snapshot, "time_retained": time_retained, "ignore_if_exists": ignore_if_exists}
        return tags.create_tag(self._store, name, **given)  # type: ignore[arg-type]

    def create_tag_since(self, name: str, timestamp: Any, *, time_retained: Length | None = None) -> Tag:
        """Hold the first snapshot that was committed at a moment or later."""
        millis = parse_time(timestamp, "timestamp")
        return tags.create_tag_since(self._store, name, millis, time_retained=time_retained)

    def replace_tag(self, name: str, *, snapshot: int | None = None, time_retained: Length | None = None) -> Tag:
        """Let an existing tag hold another snapshot, or for another time."""
        return tags.replace_tag(self._store, name, snapshot=snapshot, time_retained=time_retained)

    def rename_tag(self, old: str, new: str) -> None:
        """Give a tag another name."""
        tags.rename_tag(self._store, old, new)

    def delete_tag(self, name: str, *, dry_run: bool = False, ignore_if_missing: bool = False) -> Removal:
        """Remove a tag and the files that nothing else needs; gives those."""
        return tags.delete_tag(self._store, name, dry_run=dry_run, ignore_if_missing=ignore_if_missing)

    def expire_tags(self, *, older_than: Any = None, dry_run: bool = False) -> list[str]:
        """Remove the tags whose time is up, or that were made before ``older_than``; gives their names."""
        return tags.expire_tags(self._store, older_than=older_than, dry_run=dry_run)

    # ------------------------------------------------------------------------------------- rollback and expiry

    def rollback_to(
        self,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        timestamp: Any = None,
        watermark: int | None = None,
        dry_run: bool = False,
    ) -> RollbackPlan:
        """Make an earlier snapshot the latest again; the later ones and their tags go. Gives what went."""
        millis = None if timestamp is None else parse_time(timestamp, "timestamp")
        return rollback_to(
            self._store,
            snapshot=snapshot,
            tag=tag,
            timestamp_millis=millis,
            watermark=watermark,
            dry_run=dry_run,
            check=rules_of(self._store).check_rollback,
        )

    def repair_earliest_snapshot(self, snapshot: int) -> int:
        """Make a snapshot the earliest, where older ones were lost or damaged: those go. Gives the earliest before."""
        return repair_earliest_snapshot(self._store, snapshot)

    def expire_snapshots(
        self,
        *,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than: Any = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
    ) -> Expiry:
        """Remove the oldest snapshots and the files that nothing else needs; gives both.

        What is not given comes from the table's ``snapshot.*`` options. Tags, branches and consumers protect theirs.
        """
        return expire_snapshots(
            self._store,
            retain_max=retain_max,
            retain_min=retain_min,
            older_than=older_than,
            max_deletes=max_deletes,
            dry_run=dry_run,
        )

    def expire_partitions(
        self,
        *,
        expiration_time: Length | None = None,
        timestamp_formatter: str | None = None,
        timestamp_pattern: str | None = None,
        strategy: str | None = None,
        max_expires: int | None = None,
        dry_run: bool = False,
    ) -> list[dict[str, Any]]:
        """Drop old partitions; gives them. What is not given comes from the table's ``partition.*`` options.

        A chain table drops them from both branches together: a full partition with the changes that build on it.
        """
        return rules_of(self._store).expire_partitions(
            expiration_time=expiration_time,
            timestamp_formatter=timestamp_formatter,
            timestamp_pattern=timestamp_pattern,
            strategy=strategy,
            max_expires=max_expires,
            dry_run=dry_run,
        )

    def compact_manifests(self, *, dry_run: bool = False) -> ManifestCompaction:
        """Write the list of files anew, without what cancels out; gives its shape before and after."""
        return compact_manifests(self._store, dry_run=dry_run)

    # --------------------------------------------------------------------------------------------- being sound

    def remove_orphan_files(self, *, older_than: Any = None, dry_run: bool = True) -> Removal:
        """Remove files that no snapshot, tag or changelog of any branch needs and that are older than a day.

        Shows them only, unless ``dry_run=False``. ``older_than`` is a time or a length of time before now; younger files
        may belong to a commit that is being made.
        """
        return remove_orphan_files(self._store, older_than=older_than, dry_run=dry_run)

    def remove_missing_files(self, *, dry_run: bool = True) -> list[str]:
        """Let go of data files that are not on disk any more, so that the rest can be read; their rows are lost.

        Shows them only, unless ``dry_run=False``.
        """
        return remove_missing_files(self._store, dry_run=dry_run)

    def mark_partitions_done(self, partitions: Sequence[Mapping[str, Any]]) -> list[str]:
        """Put a file ``_SUCCESS`` into the folder of each partition, for those who wait for it; gives the files."""
        return mark_partitions_done(self._store, partitions)

    def rebuild_index(self, *, dry_run: bool = True) -> IndexRebuild:
        """Make the hash indexes of dynamic buckets anew from the data files, where they differ; gives what differs.

        Shows it only, unless ``dry_run=False``. Keys that are in no file any more are forgotten.
        """
        return rebuild_index(self._store, dry_run=dry_run)

    def verify(
        self,
        *,
        deep: bool = False,
        repair: bool = False,
        dry_run: bool = True,
        report: Callable[[str, int, int], None] | None = None,
    ) -> Report:
        """Check that all of the table is there and adds up, on every branch; ``deep`` reads every row.

        ``repair`` plans what is safe to mend, and does it with ``dry_run=False``. ``report`` is called with what is being
        looked at, how many were, and how many there are.
        """
        found = verify(self._store, deep=deep, repair=repair, dry_run=dry_run, report=report)
        try:
            rules = rules_of(self._store)
        except LakebedError:  # main has no readable schema, which the report says
            return found
        return found.with_problems(rules.verify())

    # ----------------------------------------------------------------------------------------------- consumers

    def consumers(self) -> dict[str, int]:
        """The readers that noted how far they are, and the snapshot that each reads next."""
        return consumers.list_consumers(self._store)

    def reset_consumer(self, name: str, next_snapshot: int | None = None) -> int:
        """Set what a consumer reads next; without a snapshot what comes after the latest."""
        if isinstance(next_snapshot, bool) or not isinstance(next_snapshot, int | None):
            raise OptionError(f"next_snapshot must be the id of a snapshot, not {next_snapshot!r}")
        return consumers.reset_consumer(self._store, name, next_snapshot)

    def delete_consumer(self, name: str) -> None:
        """Forget a consumer; snapshots are no longer kept for it."""
        consumers.delete_consumer(self._store, name)
