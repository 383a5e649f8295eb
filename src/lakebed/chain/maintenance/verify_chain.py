"""Checks how the branches of a chain table fit together. Returns problems as :mod:`lakebed.operations.verify` does.

The state of each branch on its own is checked there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lakebed.chain.alter import SHARED
from lakebed.chain.anchors import known_links, live_partitions
from lakebed.chain.layout import ChainTable, Link
from lakebed.chain.reading.branch_schemas import check_same_rows
from lakebed.chain.staleness import ChainState
from lakebed.errors import LakebedError, NotFoundError, SchemaError
from lakebed.format.human_text import count_text
from lakebed.format.partition_names import partition_text
from lakebed.metadata.store import TableStore
from lakebed.operations.verify.report import Problem, some


def check_chain_table(main: TableStore) -> list[Problem]:
    """The problems of a chain table, given its main branch. Never raises because of damage."""
    try:
        chain = ChainTable.of(main)
    except NotFoundError as error:
        return [Problem("error", "chain-branch-missing", str(error), main.paths.branches, "create the branch")]
    except LakebedError:
        return []  # damage of main itself is reported by the checks of that branch
    if chain is None:
        return []
    found = list(_drift(chain))
    try:
        found += _partitions(chain)
    except LakebedError as error:
        found.append(
            Problem(
                "error",
                "chain-unreadable",
                f"the partitions of its branches cannot be compared: {error}",
                main.paths.branches,
                "first repair what is reported about the branches",
            )
        )
    return found


def _drift(chain: ChainTable) -> Iterator[Problem]:
    try:
        check_same_rows(chain)
    except SchemaError as error:
        yield Problem(
            "error",
            "chain-schema-drift",
            str(error),
            chain.main.paths.branches,
            "alter the branch until it has the columns of main",
        )
    main = chain.main.schema().options
    for store in (chain.full, chain.delta):
        options = store.schema().options
        differing = [name for name in SHARED if main.get(name) != options.get(name)]
        if differing:
            yield Problem(
                "warning",
                "chain-options-drift",
                f"branch {store.paths.branch!r} has other options than main: {some(differing)}",
                store.paths.schemas,
                "set them to the values of main; other engines also read them from the branches",
            )


def _partitions(chain: ChainTable) -> Iterator[Problem]:
    state = ChainState.latest(chain)
    for store, snapshot in ((chain.full, state.full), (chain.delta, state.delta)):
        timeless = known_links(chain.keys, live_partitions(store, snapshot))[1]
        if timeless:
            yield Problem(
                "error",
                "chain-no-time",
                f"the values of {count_text(len(timeless), 'partition')} do not form a time: "
                f"{some(map(partition_text, timeless))}",
                f"branch {store.paths.branch}",
                "drop them, or correct partition.timestamp-pattern and -formatter; reads of the table fail until then",
            )
    lost = [link for link in state.fulls if link.encoded in state.lost_truncations]
    if lost:
        yield Problem(
            "warning",
            "chain-lost-truncation",
            f"changes were overwritten, but the full partitions of the same days were not emptied: {_names(lost)}",
            f"branch {chain.full.paths.branch}",
            "reads skip them; the next write to either branch empties them",
        )
    stale = [link for link in state.fulls if link.encoded in state.stale - state.lost_truncations]
    if stale:
        yield Problem(
            "warning",
            "chain-stale",
            f"full partitions are stale, because what they were built from was overwritten: {_names(stale)}",
            f"branch {chain.full.paths.branch}",
            "reads skip them and merge the changes instead; compact_chain() rebuilds them",
        )
    yield from _outdated(state)
    yield from _late(state)


def _outdated(state: ChainState) -> Iterator[Problem]:
    """Full partitions whose sources were overwritten, and that cannot be rebuilt."""
    for_good = [
        link
        for link in state.fulls
        if link.encoded not in state.stale
        and (lineage := state.lineage(link.encoded)) is not None
        and state.is_outdated(lineage)
    ]
    if for_good:
        yield Problem(
            "warning",
            "chain-outdated",
            f"what full partitions were built from was overwritten, and they cannot be rebuilt: {_names(for_good)}",
            f"branch {state.chain.full.paths.branch}",
            "reads use them as they are; overwrite them if they are wrong",
        )


def _late(state: ChainState) -> Iterator[Problem]:
    """Changes that were appended to a day after a full partition was built from it."""
    late = state.late_changes()
    links = [link for link in state.deltas if link.encoded in late]
    if links:
        yield Problem(
            "info",
            "chain-late",
            f"changes were appended to days after full partitions had been built from them: {_names(links)}",
            f"branch {state.chain.delta.paths.branch}",
            "the full partitions lack them; compact_chain(..., overwrite=True) rebuilds the partitions with these "
            "changes",
        )


def _names(links: Iterable[Link]) -> str:
    return some(partition_text(link.values) for link in links)
