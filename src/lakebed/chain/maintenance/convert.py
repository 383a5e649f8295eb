"""Converts a table into a chain table and back, without rewriting any rows.

:func:`enable_chain`: the full branch starts at the latest snapshot of main and shares its files. The delta branch
starts empty. The options are set on all three branches. The last step removes all files from main, because partitions
of main hide those of the branches. Earlier snapshots of main are kept, and a tag holds the last one: other engines that
expire snapshots of main only look at tags of main, and would delete the shared files. The tag can be dropped if no
other engine expires snapshots. A call that fails half way leaves a table that shows the same rows, and can be repeated.
If another commit writes to main meanwhile, everything is undone.

:func:`disable_chain`: main gets the files of the full partitions that it does not have, then the options are removed.
The branches are kept until they are dropped. Days that exist only as changes must be compacted first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.chain.anchors import known_links, live_partitions
from lakebed.chain.check_chain import DEFAULT_BRANCHES, check_chain
from lakebed.chain.layout import ChainKeys, ChainTable
from lakebed.chain.staleness import ChainState
from lakebed.chain.write_rules import finish_truncations
from lakebed.errors import AlreadyExistsError, CommitConflictError, DataError, OptionError, SchemaError
from lakebed.format.human_text import count_text
from lakebed.format.manifest.manifest import ENTRY_SCHEMA
from lakebed.format.partition_names import partition_text
from lakebed.format.schema.evolution import Change as SchemaChange
from lakebed.format.schema.evolution import RemoveOption, SetOption
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.branch_roles import DELTA_BRANCH, ENABLED, FULL_BRANCH
from lakebed.metadata.branches import create_branch, drop_branch
from lakebed.metadata.commit.commit import Change, Commit, commit
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import create_tag, drop_tag
from lakebed.operations.overwrite import delete_partitions

TAG: Final = "before-chain-"
"""Prefix of the tag that holds the last snapshot of main; the id of the snapshot follows."""

Alter = Callable[[Sequence[SchemaChange]], object]
"""Changes the schema of main and of the data branches."""


# ------------------------------------------------------------------------------------------------------------ enable


def enable_chain(store: TableStore, options: Mapping[str, str], alter: Alter) -> ChainTable:
    """Make an ordinary table a chain table; ``options`` are those that it needs for that."""
    schema = store.schema()
    wanted = {**DEFAULT_BRANCHES, ENABLED: "true", **options}
    where = f"table {store.name}"
    changed = replace(schema, options={**schema.options, **wanted})
    check_chain(changed, where)
    start = store.snapshots.latest()
    _check_times(store, ChainKeys.of(changed, where), start)
    names = changed.options[FULL_BRANCH], changed.options[DELTA_BRANCH]
    made = _make_branches(store, names, start)
    tag = None if start is None else create_tag(store, f"{TAG}{start.id}", snapshot=start.id, ignore_if_exists=True)
    try:
        alter([SetOption(name, value) for name, value in wanted.items()])
        _empty_main(store, start)
    except CommitConflictError:
        alter([SetOption(ENABLED, "false")])
        for name in made:
            drop_branch(store, name, force=True)
        if tag is not None:
            drop_tag(store, tag.name)
        raise
    found = ChainTable.of(store)
    if found is None:
        raise OptionError(
            f"{where} is not a chain table: another call changed its options meanwhile; call enable_chain() again"
        )
    return found


def is_half_enabled(chain: ChainTable) -> bool:
    """Whether an earlier :func:`enable_chain` failed before it removed the files of main."""
    start = chain.main.snapshots.latest()
    return start is not None and chain.full.snapshots.latest() == start and chain.delta.snapshots.latest() is None


def _check_times(store: TableStore, keys: ChainKeys, start: Snapshot | None) -> None:
    timeless = known_links(keys, live_partitions(store, start))[1]
    if timeless:
        raise DataError(
            f"table {store.name} cannot become a chain table: the values of partition {partition_text(timeless[0])} "
            "are not a time. Drop it, or set other options partition.timestamp-pattern and -formatter; nothing was "
            "changed"
        )


def _make_branches(store: TableStore, names: tuple[str, str], start: Snapshot | None) -> list[str]:
    """Create the two branches; branches that an earlier call created are used if they have not changed since."""
    for name, begins in zip(names, (start, None), strict=True):
        if name in store.branch_names() and store.on_branch(name).snapshots.latest() != begins:
            raise AlreadyExistsError(
                f"table {store.name} has a branch {name!r} with rows already; drop it, or give the branches other names"
            )
    for name, begins in zip(names, (start, None), strict=True):
        branch = create_branch(store, name, snapshot=None if begins is None else begins.id, ignore_if_exists=True)
        for number in sorted(set(store.schemas.ids()) - set(branch.schemas.ids())):
            branch.schemas.create(store.schemas.get(number))
    return list(names)


def _empty_main(store: TableStore, start: Snapshot | None) -> None:
    """Remove all files from main, which the full branch shares now; raises if main has changed meanwhile."""
    if start is None:
        return

    def plan(latest: Snapshot | None) -> Change:
        if latest != start:
            raise CommitConflictError(
                f"another commit wrote to table {store.name} while it was converted; it is still an ordinary table, "
                "call enable_chain() again"
            )
        return delete_partitions(store, live_partitions(store, latest))(latest)

    commit(store, Commit(kind=CommitKind.OVERWRITE, plan=plan, operation="TRUNCATE"))


# ----------------------------------------------------------------------------------------------------------- disable


def disable_chain(chain: ChainTable, alter: Alter, *, dry_run: bool = False) -> None:
    """Make a chain table an ordinary one that holds its full partitions; with ``dry_run`` only check whether it can."""
    if not dry_run:
        finish_truncations(chain)
    state = ChainState.latest(chain)
    own = set(live_partitions(chain.main, chain.main.snapshots.latest()).to_pylist())
    there = own | ({link.encoded for link in state.fulls} - state.stale)
    only_changes = [link for link in state.deltas if link.encoded not in there]
    if only_changes:
        raise OptionError(
            f"table {chain.main.name} has days that exist only as changes "
            f"({count_text(len(only_changes), 'partition')}, for example {partition_text(only_changes[0].values)}); "
            "compact_chain() or drop them first. Nothing was changed"
        )
    wanted = [link.encoded for link in state.fulls if link.encoded not in own | state.stale]
    partitions = pa.array(wanted, pa.binary())
    entries = _as_mains(chain, live_entries(chain.full, state.full, partitions))
    if dry_run:
        return
    if wanted:
        taken = set(wanted)
        index = tuple(
            entry
            for entry in chain.full.manifests.read_index(None if state.full is None else state.full.index_manifest)
            if entry.partition in taken
        )
        change = Change(entries=entries, index=index)

        def plan(latest: Snapshot | None) -> Change:
            if len(live_entries(chain.main, latest, partitions)):
                raise CommitConflictError(
                    f"another commit wrote to table {chain.main.name} while it was converted; it is still a chain "
                    "table, call disable_chain() again"
                )
            return change

        # An overwrite, because main may have had these files before: only overwrites may add a file a second time.
        commit(chain.main, Commit(kind=CommitKind.OVERWRITE, plan=plan, operation="DISABLE CHAIN"))
    alter([RemoveOption(ENABLED), RemoveOption(FULL_BRANCH), RemoveOption(DELTA_BRANCH)])


def _as_mains(chain: ChainTable, entries: pa.Table) -> pa.Table:
    """Entries of the full branch with schema ids of main, because each branch numbers its own schemas."""
    ids = pc.unique(entries["schema_id"]).to_pylist()
    mains = [chain.main.schemas.get(number) for number in chain.main.schemas.ids()]
    numbers = {schema_id: _same_schema(chain, chain.full.schemas.get(schema_id), mains) for schema_id in ids}
    position = ENTRY_SCHEMA.get_field_index("schema_id")
    places = pc.index_in(entries["schema_id"], value_set=pa.array(ids, ENTRY_SCHEMA.field(position).type))
    mapped = pa.array([numbers[schema_id] for schema_id in ids], ENTRY_SCHEMA.field(position).type).take(places)
    return entries.set_column(position, ENTRY_SCHEMA.field(position), mapped)


def _same_schema(chain: ChainTable, theirs: TableSchema, mains: Sequence[TableSchema]) -> int:
    for schema in reversed(mains):
        if schema.fields == theirs.fields:
            return schema.id
    raise SchemaError(
        f"table {chain.main.name}: files of its full partitions have columns that main never had (schema {theirs.id} "
        f"of branch {chain.full.paths.branch!r}); overwrite these partitions first. Nothing was changed"
    )
