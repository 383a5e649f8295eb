"""Files whose names end in a number: snapshots, schemas, changelogs, segments of the history index.

Where folders are only prefixes of names, a folder never counts: such a store may list a name as a folder for a moment
while the object arrives or goes. MinIO does, because it keeps an object as a folder of its own. Elsewhere a folder
counts, so that whoever opens it as a file gets an error that names it.
"""

from __future__ import annotations

from lakebed.format.paths import id_of
from lakebed.storage import FileInfo, Storage


def numbered_files(storage: Storage, folder: str, prefix: str) -> dict[int, FileInfo]:
    """Returns the files of a folder that are named by the prefix and a number, by number and ascending."""
    infos = [info for info in storage.list(folder) if storage.can_rename or not info.is_dir]
    found = {id_of(info.name, prefix): info for info in infos}
    return {number: found[number] for number in sorted(number for number in found if number is not None)}
