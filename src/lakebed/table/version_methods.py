"""The methods of a table about its versions: branches, tags, rollback and consumers.

All of them work on the branch that the table was opened on.
"""

from __future__ import annotations

from lakebed.deprecation import warn_renamed
from lakebed.errors import OptionError
from lakebed.format.paths import MAIN_BRANCH
from lakebed.format.printed import ByName, Dropped
from lakebed.format.snapshot import Snapshot
from lakebed.format.tag import Tag
from lakebed.format.time_text import Length, Time, parse_time
from lakebed.metadata import branches, consumers, tags
from lakebed.metadata.one_look import one_look
from lakebed.metadata.references.removal import Removal
from lakebed.metadata.store import TableStore
from lakebed.operations.fast_forward import FastForward, fast_forward
from lakebed.operations.merge_branch import merge_branch
from lakebed.operations.repair.repair_earliest import repair_earliest_snapshot
from lakebed.operations.rollback import RollbackPlan, rollback_to
from lakebed.table_kinds import rules_of


class VersionMethods:
    """The part of a table that names, keeps and returns to versions."""

    _store: TableStore

    # ------------------------------------------------------------------------------------------------ branches

    def branches(self) -> list[str]:
        """Returns the names of the branches other than main."""
        return self._store.branch_names()

    def data_branches(self) -> list[str]:
        """Returns the branches that hold the rows of main of a chain table, full partitions first; else none.

        Example:
            >>> orders.data_branches()
            []
        """
        names = rules_of(self._store).chain_branches()
        if names is None or self._store.paths.branch != MAIN_BRANCH:
            return []
        there = self.branches()
        return [name for name in names if name in there]

    def rename_branch(self, old: str, new: str, *, force: bool = False) -> None:
        """Gives a branch another name.

        Args:
            old: Its name.
            new: The new name.
            force: Rename it even if an option of the table names it.

        Raises:
            AlreadyExistsError: There is a branch of the new name.
            NotFoundError: There is no such branch.
        """
        branches.rename_branch(self._store, old, new, force=force)

    def drop_branch(self, name: str, *, force: bool = False, ignore_if_missing: bool = False) -> None:
        """Deletes a branch. :meth:`remove_orphan_files` deletes the data files that only it needed.

        Args:
            name: The branch.
            force: Delete it even if an option of the table names it.
            ignore_if_missing: Do nothing if there is no such branch.

        Raises:
            NotFoundError: There is no such branch.
        """
        branches.drop_branch(self._store, name, force=force, ignore_if_missing=ignore_if_missing)

    def fast_forward(self, name: str, *, dry_run: bool = False) -> FastForward:
        """Makes main equal to a branch: the branch's snapshots replace those that main got since the branch began.

        Args:
            name: The branch.
            dry_run: Change nothing, and return what would change.

        Returns:
            What was copied to main and deleted from it.

        Raises:
            NotFoundError: There is no such branch, or it has no snapshot; or another process dropped the branch or
                created it again meanwhile, and main has the snapshots that it had before.
            CommitConflictError: Other processes changed the branch whenever it was read. Main is unchanged.

        Example:
            >>> branch = orders.create_branch("dev", snapshot=1)
            >>> made = branch.write([{"id": 4, "customer": "eve", "amount": 5.0, "day": "2025-01-31"}])
            >>> print(orders.fast_forward("dev", dry_run=True))
            would fast-forward to branch 'dev':
              copy snapshot 2
        """
        rules_of(self._store).check_fast_forward(name)
        return fast_forward(self._store, name, dry_run=dry_run)

    def merge_branch(self, name: str) -> Snapshot | None:
        """Appends the rows that a branch of an append-only table has and this one lacks.

        Args:
            name: The branch.

        Returns:
            The new snapshot; ``None`` if there was nothing to append.

        Raises:
            NotFoundError: There is no such branch, or it has no snapshot.
            SchemaError: The two have different columns or options.
            UnsupportedError: The table has a primary key, or rows of the branch were changed.
        """
        return merge_branch(self._store, name)

    # ---------------------------------------------------------------------------------------------------- tags

    def tags(self) -> dict[str, Snapshot]:
        """Returns the snapshot of every tag, by name."""
        return ByName(self._store.snapshots.tags(), one="tag")

    def tag_details(self) -> list[Tag]:
        """Returns every tag with its creation time and retention."""
        return tags.list_tags(self._store)

    @one_look()
    def create_tag(
        self,
        name: str,
        *,
        snapshot: int | None = None,
        time_retained: Length | None = None,
        ignore_if_exists: bool = False,
    ) -> Tag:
        """Gives a snapshot a name. Expiry keeps the snapshot as long as the tag exists.

        Args:
            name: The name of the tag.
            snapshot: The id of the snapshot; the latest by default.
            time_retained: How long the tag is kept, such as ``7 d``; forever by default.
            ignore_if_exists: Return the existing tag if there is one of that name.

        Returns:
            The tag.

        Raises:
            AlreadyExistsError: There is such a tag.
            NotFoundError: There is no such snapshot.

        Example:
            >>> orders.create_tag("january").snapshot.id, list(orders.tags())
            (1, ['january'])
        """
        given = {"snapshot": snapshot, "time_retained": time_retained, "ignore_if_exists": ignore_if_exists}
        return tags.create_tag(self._store, name, **given)  # type: ignore[arg-type]

    @one_look()
    def create_tag_since(self, name: str, timestamp: Time, *, time_retained: Length | None = None) -> Tag:
        """Gives the first snapshot that was committed at a time or later a name.

        Args:
            name: The name of the tag.
            timestamp: The time, in any form that :meth:`scan` takes.
            time_retained: How long the tag is kept, such as ``7 d``; forever by default.

        Returns:
            The tag.

        Raises:
            AlreadyExistsError: There is such a tag.
            NotFoundError: No snapshot was committed at that time or later.
        """
        millis = parse_time(timestamp, "timestamp")
        return tags.create_tag_since(self._store, name, millis, time_retained=time_retained)

    @one_look()
    def replace_tag(self, name: str, *, snapshot: int | None = None, time_retained: Length | None = None) -> Tag:
        """Changes the snapshot or the retention of a tag.

        Args:
            name: The tag.
            snapshot: The id of the snapshot; the latest by default.
            time_retained: How long the tag is kept from now on; forever by default.

        Returns:
            The tag.

        Raises:
            NotFoundError: There is no such tag or snapshot.
        """
        return tags.replace_tag(self._store, name, snapshot=snapshot, time_retained=time_retained)

    def rename_tag(self, old: str, new: str) -> None:
        """Gives a tag another name.

        Args:
            old: Its name.
            new: The new name.

        Raises:
            AlreadyExistsError: There is a tag of the new name.
            NotFoundError: There is no such tag.
        """
        tags.rename_tag(self._store, old, new)

    @one_look()
    def drop_tag(self, name: str, *, dry_run: bool = False, ignore_if_missing: bool = False) -> Removal:
        """Deletes a tag, and the files that nothing else needs.

        Args:
            name: The tag.
            dry_run: Delete nothing, and return what would be deleted.
            ignore_if_missing: Do nothing if there is no such tag.

        Returns:
            The files.

        Raises:
            NotFoundError: There is no such tag.
        """
        return tags.drop_tag(self._store, name, dry_run=dry_run, ignore_if_missing=ignore_if_missing)

    def delete_tag(self, name: str, *, dry_run: bool = False, ignore_if_missing: bool = False) -> Removal:
        """Deprecated since 0.1: the old name of :meth:`drop_tag`."""
        warn_renamed("delete_tag()", "drop_tag()")
        return self.drop_tag(name, dry_run=dry_run, ignore_if_missing=ignore_if_missing)

    @one_look()
    def expire_tags(self, *, older_than: Time | None = None, dry_run: bool = False) -> Dropped[str]:
        """Deletes the tags whose retention has ended.

        Args:
            older_than: Also delete the tags that were made before this time.
            dry_run: Delete nothing, and return what would be deleted.

        Returns:
            The names of the tags, as a list.
        """
        return Dropped(
            tags.expire_tags(self._store, older_than=older_than, dry_run=dry_run), one="tag", dry_run=dry_run
        )

    # ----------------------------------------------------------------------------------------------- rollback

    def rollback_to(
        self,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        timestamp: Time | None = None,
        watermark: int | None = None,
        dry_run: bool = False,
    ) -> RollbackPlan:
        """Makes an earlier snapshot the latest again, and deletes the later ones with their tags.

        Exactly one of ``snapshot``, ``tag``, ``timestamp`` and ``watermark`` is needed.

        Args:
            snapshot: The id of the snapshot.
            tag: The name of a tag.
            timestamp: A time, in any form that :meth:`scan` takes: the latest snapshot that was committed then.
            watermark: A watermark: the latest snapshot that does not exceed it.
            dry_run: Change nothing, and return what would change.

        Returns:
            The target and what was deleted.

        Raises:
            NotFoundError: There is no such snapshot or tag.
            OptionError: Not exactly one target is given.

        Example:
            >>> snapshot = orders.truncate()
            >>> print(orders.rollback_to(snapshot=1))
            rolled back to snapshot 1: deleted snapshot 2
        """
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
        """Makes a snapshot the earliest one and deletes older ones, after some of them were lost or damaged.

        Args:
            snapshot: The id of the snapshot.

        Returns:
            The id of the earliest snapshot before.

        Raises:
            CorruptError: A snapshot between it and the latest is missing.
            NotFoundError: There is no such snapshot.
        """
        return repair_earliest_snapshot(self._store, snapshot)

    # ----------------------------------------------------------------------------------------------- consumers

    def consumers(self) -> dict[str, int]:
        """Returns the snapshot that each consumer reads next, by name of the consumer.

        A consumer is a streaming reader for which expiry keeps snapshots.
        """
        return consumers.list_consumers(self._store)

    def reset_consumer(self, name: str, next_snapshot: int | None = None) -> int:
        """Sets the snapshot that a consumer reads next.

        Args:
            name: The consumer.
            next_snapshot: The id of the snapshot; the one after the latest by default.

        Returns:
            The id.

        Raises:
            OptionError: ``next_snapshot`` is not the id of a snapshot.
        """
        if isinstance(next_snapshot, bool) or not isinstance(next_snapshot, int | None):
            raise OptionError(f"next_snapshot must be the id of a snapshot, not {next_snapshot!r}")
        return consumers.reset_consumer(self._store, name, next_snapshot)

    def drop_consumer(self, name: str) -> None:
        """Deletes a consumer. Snapshots that only it kept may expire from now on.

        Args:
            name: The consumer.

        Raises:
            NotFoundError: There is no such consumer.
        """
        consumers.drop_consumer(self._store, name)

    def delete_consumer(self, name: str) -> None:
        """Deprecated since 0.1: the old name of :meth:`drop_consumer`."""
        warn_renamed("delete_consumer()", "drop_consumer()")
        self.drop_consumer(name)
