"""Names of files in metadata: each must be the name of one file in the folder of its kind.

Snapshots, manifest lists, manifests and index manifests name files without their folder. A damaged or forged name such
as ``../../other/bucket-0/data-1.parquet`` would lead to a file of another table: a read would return its rows, and
clean-up would delete it. So every decoder checks the names that it returns, and code that builds paths may rely on it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import CorruptError

_NO_NAMES: Final = frozenset({"", ".", ".."})
_LONGEST_NO_NAME: Final = 2
_NO_NAME_REGEX: Final = r"^\.{0,2}$|[/\x00]"


def is_file_name(name: str) -> bool:
    """Returns whether a text is the name of one file, without a folder.

    >>> is_file_name("data-1.parquet"), is_file_name("../data-1.parquet"), is_file_name("..")
    (True, False, False)
    """
    return "/" not in name and "\x00" not in name and name not in _NO_NAMES


def check_file_name(name: str, where: str) -> None:
    """Raises CorruptError for a name that is not the name of one file; ``where`` is the file that contains it."""
    if not is_file_name(name):
        raise _wrong_name(name, where)


def check_file_names(names: pa.Array | pa.ChunkedArray, where: str) -> None:
    """Checks a column of names, such as those of the data files of a manifest."""
    chunks = names.chunks if isinstance(names, pa.ChunkedArray) else [names]
    for chunk in chunks:
        if len(chunk) and _may_be_wrong(chunk):
            wrong = pc.match_substring_regex(chunk, _NO_NAME_REGEX)
            if pc.any(wrong).as_py():
                raise _wrong_name(chunk.filter(wrong)[0].as_py(), where)


def _may_be_wrong(names: pa.Array) -> bool:
    """Returns whether a name is very short, or has a slash or NUL; 40 times faster than a regular expression."""
    if (pc.min(pc.binary_length(names)).as_py() or 0) <= _LONGEST_NO_NAME:
        return True
    _, offsets, characters = names.buffers()
    ends = np.frombuffer(offsets, np.int32)[[names.offset, names.offset + len(names)]].tolist()
    text = bytes(memoryview(characters)[slice(*ends)])
    return b"/" in text or b"\x00" in text


def _wrong_name(name: str, where: str) -> CorruptError:
    return CorruptError(
        f"{where} refers to a file named {name!r}. That is not the name of one file, so it could lead out of the "
        "table, and no such file is read or deleted. Restore the metadata file from a backup, or roll back"
    )
