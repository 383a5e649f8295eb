"""Drop partitions, or truncate a table: one OVERWRITE commit deletes their files and adds none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lakebed.format import predicate as pred
from lakebed.format.manifest.manifest import NO_ENTRIES
from lakebed.format.partition_names import partition_predicate
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.commit.commit import Commit, commit
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.store import TableStore
from lakebed.operations.overwrite import replace_matching
from lakebed.operations.write import Guard, unguarded


def drop_partitions(
    store: TableStore, partitions: Sequence[Mapping[str, Any]] | None, who: Identity, guard: Guard = unguarded
) -> Snapshot | None:
    """Delete the partitions that match one of several specs, or all of them for ``None``.

    Returns ``None`` if there was nothing to delete.
    """
    schema = store.schema()
    node = None if partitions is None else pred.disjunction(partition_predicate(schema, each) for each in partitions)
    plan = replace_matching(store, node, NO_ENTRIES)
    request = Commit(
        kind=CommitKind.OVERWRITE, plan=plan, operation="TRUNCATE", user=who.user, identifier=who.identifier
    )
    return commit(store, guard(request))
