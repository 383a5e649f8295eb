"""Verify a table: whether everything that snapshots, tags and branches refer to exists and is consistent.

``check_structure`` checks a whole table down to data and index files, without opening those. It never raises because of
damage; it reports problems in a :class:`Report`. Its cost grows with the number of files and snapshots, not with their
product. ``check_rows`` and ``check_index_rows`` read the files. ``carry_out`` repairs what is safe to repair.

| where | what must hold |
|---|---|
| schemas | they parse, ids have no gaps from 0 on, and field ids only increase |
| snapshots, tags | they parse, ids have no gaps, their schema exists, record counts are those of their files |
| hints, consumers | ids of snapshots that exist, or of the next one |
| manifest lists | they exist with the right size; a base list equals the lists of the snapshot before |
| manifests | the same; counts and ranges in lists are those of the entries; deletes refer to live files |
| data files | they exist, in the folder of their partition and bucket, with the right size |
| entries of data files | numbers, key ranges and statistics are plausible |
| buckets | files of a level do not overlap, a partition has one number of buckets, sequence numbers increase |
| indexes | they exist with the right size; deletion vectors belong to live files and fit them |
| everything else | there are no orphan files |
"""

from lakebed.operations.verify.repair_table import carry_out
from lakebed.operations.verify.report import Findings, LookedAt, Problem, Repair, Report, Severity
from lakebed.operations.verify.structure import BranchFiles, Progress, Structure, check_structure

__all__ = [
    "BranchFiles",
    "Findings",
    "LookedAt",
    "Problem",
    "Progress",
    "Repair",
    "Report",
    "Severity",
    "Structure",
    "carry_out",
    "check_structure",
]
