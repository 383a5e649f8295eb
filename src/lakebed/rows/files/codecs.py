"""Which codecs a file format has."""

from __future__ import annotations

from typing import Final

from lakebed.errors import OptionError

_PLAIN: Final = ("none", "uncompressed")
_CODECS: Final[dict[str, dict[str, str]]] = {
    "parquet": {"zstd": "zstd", "snappy": "snappy", "gzip": "gzip", "lz4": "lz4", "lz4_raw": "lz4"}
    | dict.fromkeys(_PLAIN, "none"),
    "orc": {"zstd": "zstd", "snappy": "snappy", "lz4": "lz4", "zlib": "zlib"} | dict.fromkeys(_PLAIN, "uncompressed"),
    "avro": {"zstd": "zstandard", "snappy": "snappy", "deflate": "deflate", "bzip2": "bzip2"}
    | dict.fromkeys(("null", *_PLAIN), "null"),
}
"""The value of ``file.compression`` to the name of the codec in the library that writes the format."""


def library_codec(form: str, codec: str) -> str:
    """Returns the name of a codec in the library that writes a format.

    >>> library_codec("avro", "zstd")
    'zstandard'
    """
    known = _CODECS[form]
    if codec not in known:
        raise OptionError(
            f"option file.compression: {form} files have no codec {codec!r}; use one of {', '.join(known)}"
        )
    return known[codec]
