"""A file-system check for tables: whether everything that snapshots, tags and branches refer to is there and adds up.

``check_structure`` walks over all of a table down to data and index files, without opening those; it never raises
because of damage, and its cost grows with the number of files and snapshots, not with their product. What it finds are
problems of a :class:`Report`. ``carry_out`` repairs what is safe to repair. Rows are looked at by
``operations/verify/check_rows``.

| where | what must hold |
|---|---|
| schemas | they parse, count from 0 without holes, and field ids only go up |
| snapshots, tags | they parse, ids have no holes, their schema is there, record counts are those of their files |
| hints, consumers | numbers of snapshots that exist, or come next |
| manifest lists | they are there with the right size; a base list says what the lists before it said |
| manifests | the same; counts and ranges in lists are those of the entries; deletes hit live files |
| data files | they exist, in the folder of their partition and bucket, with the right size |
| entries of data files | numbers, key ranges and statistics are plausible |
| buckets | files of a level do not overlap, a partition has one number of buckets, sequence numbers go on |
| indexes | they are there with the right size; deletion vectors are for live files and fit them |
| everything else | there is no file that nothing refers to |
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
