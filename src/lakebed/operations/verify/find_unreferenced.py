"""Reports orphan files, which crashes, rollbacks and dropped branches leave behind.

:mod:`lakebed.operations.orphans` finds them, as for ``remove_orphan_files``. Those older than one day become part of a
repair; younger ones may belong to a write in progress. A repair measures their age with the clock of the storage.
"""

from __future__ import annotations

import time
from typing import Final

from lakebed.errors import LakebedError
from lakebed.format.human_text import count_text
from lakebed.metadata.references.removal import DoomedFile
from lakebed.metadata.store import TableStore
from lakebed.operations.orphans import remove_orphan_files
from lakebed.operations.verify.report import Findings, Repair, some

_HOUR_MILLIS: Final = 3_600_000


def find_unreferenced(store: TableStore, found: Findings, now_millis: int | None = None) -> None:
    """Report orphan files, one problem for each kind. ``now_millis`` is the time of the storage, for a repair."""
    try:
        # an hour in the future, because the clocks of machines differ: files of any age count
        of_any_age = remove_orphan_files(store, older_than=time.time_ns() // 1_000_000 + _HOUR_MILLIS).files
        old = {file.path for file in remove_orphan_files(store, now_millis=now_millis).files} if of_any_age else set()
    except LakebedError as error:
        found.blind.append(str(error))
        return
    for kind in dict.fromkeys(file.kind for file in of_any_age):
        _tell(kind, [file for file in of_any_age if file.kind == kind], old, found)
    why = "nothing refers to it, and it is older than a day"
    found.repairs += [Repair(why, file.path, "delete", size=file.size) for file in of_any_age if file.path in old]


def _tell(kind: str, files: list[DoomedFile], old: set[str], found: Findings) -> None:
    removable = [file for file in files if file.path in old]
    size = sum(max(file.size, 0) for file in files)
    what = f"{count_text(len(files), f'{kind} file')} ({size:,} bytes) that nothing refers to"
    where = some(file.path for file in removable or files)
    code = f"unreferenced-{kind.replace(' ', '-')}"
    if removable:
        what += f", {len(removable)} of them older than a day"
        found.warning(code, what, where, "remove_orphan_files(), or verify with repair=True, frees the space")
    else:
        found.info(code, what, where, "nothing yet: they may belong to a write that is going on; look again in a day")
