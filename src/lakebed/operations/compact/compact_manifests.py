"""Compact manifests: merges the manifests of a table with a COMPACT snapshot that changes no data.

Concurrent commits do not conflict. If another commit lands first, this one rebases: the merged manifests stay, and the
new manifests are appended to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lakebed.format.human_text import count_text, size_text
from lakebed.format.manifest.manifest import ManifestMeta
from lakebed.format.printed import Printed
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.commit.commit import Change, Commit, commit, commits_since_merge, manifest_writer
from lakebed.metadata.commit.manifest_merge import Merged, MergePolicy, merge_all, merge_tail
from lakebed.metadata.manifests import ManifestWriter
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions


@dataclass(frozen=True, slots=True)
class ManifestShape:
    """The manifests of a snapshot in numbers.

    Attributes:
        manifests: How many there are.
        entries: How many entries they have together.
        bytes: Their size together.
    """

    manifests: int
    entries: int
    bytes: int

    @staticmethod
    def of(metas: Sequence[ManifestMeta]) -> ManifestShape:
        entries = sum(meta.num_added_files + meta.num_deleted_files for meta in metas)
        return ManifestShape(len(metas), entries, sum(meta.file_size for meta in metas))

    def __str__(self) -> str:
        entries = count_text(self.entries, "entry", "entries")
        return f"{count_text(self.manifests, 'manifest')} ({entries}, {size_text(self.bytes)})"


@dataclass(frozen=True, slots=True, repr=False)
class ManifestCompaction(Printed):
    """What a compaction of manifests did, or would do in a dry run.

    Attributes:
        before: The manifests before.
        after: The manifests after.
        rewritten: How many manifests it replaced; 0 if there was nothing to do.
        cancelled: How many pairs of ADD and DELETE entries it left out.
        snapshot: The new snapshot; ``None`` if it made none.
        dry_run: Whether nothing was written.

    Example:
        >>> shapes = ManifestShape(12, 340, 48_000), ManifestShape(1, 300, 9_000)
        >>> print(ManifestCompaction(*shapes, rewritten=12, cancelled=20, snapshot=None, dry_run=True))
        would rewrite 12 manifests (340 entries, 46.9 KiB) to 1 manifest (300 entries, 8.8 KiB)
        20 pairs of ADD and DELETE entries cancel out
    """

    before: ManifestShape
    after: ManifestShape
    rewritten: int
    cancelled: int
    snapshot: Snapshot | None
    dry_run: bool

    def __str__(self) -> str:
        if not self.rewritten:
            return f"nothing to rewrite: {self.before}"
        lines = [f"{'would rewrite' if self.dry_run else 'rewrote'} {self.before} to {self.after}"]
        if self.cancelled:
            cancel = "cancels" if self.cancelled == 1 else "cancel"
            lines.append(f"{count_text(self.cancelled, 'pair')} of ADD and DELETE entries {cancel} out")
        return "\n".join(lines)


def compact_manifests(store: TableStore, *, dry_run: bool = False, only_due: bool = False) -> ManifestCompaction:
    """Merge all manifests of the latest snapshot that DELETE entries refer to, and the small ones.

    With ``only_due`` merge only what a commit would merge, and all manifests if many of their entries can be dropped.
    """
    latest = store.snapshots.latest()
    metas = [] if latest is None else store.manifests.base_and_delta(latest)
    options = TableOptions(store.schema().options)
    policy = MergePolicy.of(options)
    last: list[tuple[list[ManifestMeta], Merged]] = []

    def merge(writer: ManifestWriter, found: list[ManifestMeta]) -> Merged:
        if only_due and not _is_much(found, options):
            merged = merge_tail(
                store.manifests, writer, found, replace(policy, work=2**62), since=commits_since_merge(latest)
            )
        else:
            merged = merge_all(store, writer, found, policy)
        last[:] = [(found, merged)]
        return merged

    made = None
    if dry_run or not metas:
        merge(replace(manifest_writer(store), dry_run=True), metas)
    else:
        nothing = Change()
        made = commit(store, Commit(kind=CommitKind.COMPACT, plan=lambda _: nothing, allow_empty=True, merge=merge))
    found, merged = last[0]
    shapes = ManifestShape.of(found), ManifestShape.of(merged.metas)
    return ManifestCompaction(*shapes, len(merged.rewritten), merged.cancelled, made, dry_run)


def _is_much(metas: Sequence[ManifestMeta], options: TableOptions) -> bool:
    """Whether manifests with deletes, and small ones, reach ``manifest.full-compaction-threshold-size``."""
    small = options.manifest_target_file_size
    size = sum(meta.file_size for meta in metas if meta.num_deleted_files or meta.file_size < small)
    return size >= options.manifest_full_compaction_threshold_size
