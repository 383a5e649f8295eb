"""Expiry of partitions of a chain table: drops whole segments, so that the remaining days can still be read.

A segment is a full partition and the changes from its day on, up to the next full partition of its group. The newest of
the full partitions that are older than the limit is kept, because later changes build on it. All segments before it are
dropped, oldest first. The first one includes all older changes. A group with fewer than two such full partitions keeps
everything.

The changes are dropped first, then the full partitions. A failure in between leaves full partitions that can be read,
and the next expiry drops them. These commits make no full partition stale.

Stale full partitions do not begin a segment, because nothing can be built on them. Partitions whose values do not form
a time are kept. Partitions of main itself expire by their own time.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from lakebed.chain.anchors import by_group
from lakebed.chain.layout import ChainTable, Link
from lakebed.chain.staleness import ChainState, update_branch_logs
from lakebed.chain.write_rules import ChainWriteGuard, finish_truncations
from lakebed.errors import OptionError
from lakebed.format.commit_facts import CHAIN_EXPIRED, encode_facts
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.branch_roles import BranchRole
from lakebed.metadata.commit.commit import Commit, commit
from lakebed.operations.expire.expire_partitions import expire_partitions, expiry_length
from lakebed.operations.overwrite import delete_partitions
from lakebed.options import TableOptions

_EVER: Final = dt.datetime(1, 1, 1)  # noqa: DTZ001 - times of partitions have no zone


@dataclass(frozen=True, slots=True)
class Segment:
    """The full partitions and the partitions of changes that are dropped together."""

    full: tuple[Link, ...]
    deltas: tuple[Link, ...]


def old_segments(
    fulls: Sequence[Link], deltas: Sequence[Link], stale: frozenset[bytes], cutoff: dt.datetime, most: int
) -> list[Segment]:
    """The expired segments; of each group at most ``most``, oldest first."""
    changes, found = by_group(deltas), []
    for group, links in by_group(fulls).items():
        old = [link for link in links if link.time < cutoff and link.encoded not in stale]
        bounds = list(itertools.pairwise(old))[:most]
        for number, (start, end) in enumerate(bounds):
            begins = _EVER if number == 0 else start.time
            inside = [link for link in links if begins <= link.time < end.time]
            found.append(
                Segment(tuple(inside), tuple(link for link in changes.get(group, ()) if begins <= link.time < end.time))
            )
    return found


def expire_chain_partitions(
    chain: ChainTable,
    *,
    expiration_time: str | dt.timedelta | None = None,
    max_expires: int | None = None,
    dry_run: bool = False,
    now: dt.datetime | None = None,
) -> list[dict[str, Any]]:
    """Drop the expired segments; returns their partitions, each once, oldest first."""
    options = TableOptions(chain.main.schema().options)
    cutoff = (now or dt.datetime.now()) - expiry_length(expiration_time, options, chain.main)  # noqa: DTZ005 - local
    if not dry_run:
        finish_truncations(chain)
    state = ChainState.latest(chain)
    most = max_expires or options.partition_expiration_max_num
    segments = old_segments(state.fulls, state.deltas, state.stale, cutoff, most)
    deltas = [link for segment in segments for link in segment.deltas]
    fulls = [link for segment in segments for link in segment.full]
    if not dry_run:
        _drop(chain, BranchRole.DELTA, deltas)
        _drop(chain, BranchRole.FULL, fulls)
        update_branch_logs(chain)
    going = {link.encoded: link for link in sorted((*deltas, *fulls), key=lambda link: link.time)}
    return [dict(link.values) for link in going.values()]


def _drop(chain: ChainTable, role: BranchRole, links: Sequence[Link]) -> None:
    if not links:
        return
    store = chain.full if role is BranchRole.FULL else chain.delta
    partitions = pa.array([link.encoded for link in links], pa.binary())
    request = Commit(
        kind=CommitKind.OVERWRITE,
        plan=delete_partitions(store, partitions),
        operation="TRUNCATE",
        properties=encode_facts({CHAIN_EXPIRED: True}),
    )
    # The changes of the segment are dropped already. If another commit added new ones, their full partition is kept.
    commit(store, ChainWriteGuard(chain, role).guarded(request) if role is BranchRole.FULL else request)


def expire_main_partitions(chain: ChainTable, **given: Any) -> list[dict[str, Any]]:
    """Expire partitions of main, then segments of the data branches; arguments as for :func:`expire_partitions`."""
    name = chain.main.name
    if given.get("strategy") not in {None, "values-time"}:
        raise OptionError(f"partitions of chain table {name} expire by their values, not by {given['strategy']!r}")
    for option in ("timestamp_pattern", "timestamp_formatter"):
        if given.get(option) is not None:
            raise OptionError(
                f"the options of chain table {name} define the times of its partitions; leave out {option}"
            )
    kept = {key: given[key] for key in ("expiration_time", "max_expires", "dry_run", "now") if key in given}
    own = expire_partitions(chain.main, **kept)
    return own + [one for one in expire_chain_partitions(chain, **kept) if one not in own]
