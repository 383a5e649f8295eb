"""What expires in a chain table after a commit to any of its branches: old partitions, then old changes.

The options ``partition.expiration-time`` and ``chain-table.changes.time-retained`` of main say what is old. How often a
process checks is in :mod:`lakebed.operations.after_commit`.
"""

from __future__ import annotations

from lakebed.chain.layout import ChainTable
from lakebed.chain.maintenance.expire_chain import expire_main_partitions
from lakebed.chain.maintenance.expire_changes import expire_changes
from lakebed.options import TableOptions


def expire_due(chain: ChainTable) -> None:
    """Drop the partitions and the changes that are too old; does nothing without the options."""
    options = TableOptions(chain.main.schema().options)
    try:
        if options.partition_expiration_time is not None:
            expire_main_partitions(chain)
    finally:  # changes also expire if partitions could not
        if options.chain_changes_time_retained is not None:
            expire_changes(chain)
