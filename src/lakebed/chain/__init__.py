"""Chain tables: one branch holds full partitions, another one changes, and main shows the whole content of every day.

A *full* partition holds all rows of its day. A partition of *changes* (a delta) holds only what changed on that day. A
read of a day without a full partition takes the nearest earlier full partition, its *anchor*, and merges the later
changes into it.

Where to look: :mod:`~lakebed.chain.rules` is what a table asks. :mod:`~lakebed.chain.staleness` decides when a full
partition is stale. :mod:`~lakebed.chain.reading.plan_views` decides what each day is read from, and what a day without
changes (a gap day) shows. :mod:`~lakebed.chain.anchors` decides which full partitions must not be dropped, and
:mod:`~lakebed.chain.dropped_changes` which of them hold changes that no longer exist.
"""
