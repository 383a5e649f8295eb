"""For which tables the autopilot works, and on what: the options ``autopilot.*``.

A table's own option wins over the property of its database of the same name, and that wins over the option of the
warehouse. Where none says whether a table is looked after, it is unless another engine compacts it: the newest
compaction was not made by Lakebed. Two engines that compact one table only get into each other's way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain

from lakebed.errors import OptionError, unknown_name
from lakebed.lake import Lake
from lakebed.lake_internals import options_of
from lakebed.options import TableOptions
from lakebed.table import Table

PREFIX = "autopilot."


@dataclass(frozen=True, slots=True)
class Policy:
    """What the autopilot may do for a table.

    Attributes:
        options: The options of the table, with those of its database and warehouse that begin with ``autopilot.``.
        why_not: Why the table is left alone; ``None`` if it is looked after.
    """

    options: TableOptions
    why_not: str | None

    def allows(self, kind: str) -> bool:
        """Returns whether jobs of a kind may run."""
        return kind not in self.options.autopilot_skip


def policy_of(lake: Lake, table: Table, properties: Mapping[str, str], kinds: Collection[str]) -> Policy:
    """Returns the policy for a table.

    Args:
        lake: Its warehouse.
        table: The table, on main.
        properties: The properties of its database.
        kinds: The names of all kinds of jobs.

    Raises:
        OptionError: An option has a wrong value.
    """
    inherited = chain(options_of(lake).items(), properties.items())
    given = {**{name: value for name, value in inherited if name.startswith(PREFIX)}, **table.schema.options}
    options = TableOptions(given)
    for kind in options.autopilot_skip:
        if kind not in kinds:
            known = [str(one) for one in kinds]
            raise OptionError(f"option 'autopilot.skip': {unknown_name('kind of job', kind, known)}")
    if options.autopilot_enabled is not None:
        return Policy(options, None if options.autopilot_enabled else "'autopilot.enabled' is false")
    engine = "another engine compacts it; set 'autopilot.enabled' to true to look after it all the same"
    return Policy(options, engine if _is_compacted_elsewhere(table) else None)


def _is_compacted_elsewhere(table: Table) -> bool:
    newest = (next(iter(one.compactions(limit=1)), None) for one in (table, *map(table.branch, table.data_branches())))
    return any(compaction is not None and not compaction.from_facts for compaction in newest)
