"""Avro object containers: bytes to Arrow tables, and records to bytes.

Small files are decoded by fastavro, larger ones by DataFusion's columnar reader, which is ten times faster per entry
and slower to start; a property test compares the two. Every codec that the libraries know can be read. Damaged files
raise :class:`CorruptError` with the name of the file.

DataFusion reads a file that is truncated inside a block as if it ended there, and never returns for a block with extra
bytes after its records. Therefore fastavro unpacks the blocks, which checks their frames, and DataFusion gets all
records as one block and reads exactly their number.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import fastavro
import pyarrow as pa

from lakebed.errors import ROLL_BACK, CorruptError, OptionError
from lakebed.format.manifest import avro_columns

MAGIC: Final = b"Obj\x01"
RECORD: Final = "org.apache.paimon.avro.generated.record"
"""The name of Paimon's outermost records; nested ones append ``_`` and the field's name."""
COLUMNAR_FROM_BYTES: Final = 8 * 1024
_PART_BYTES: Final = 128 * 1024 * 1024

# Paimon's option values to Avro's codec names.
_CODECS: Final = {
    "zstd": "zstandard",
    "zstandard": "zstandard",
    "snappy": "snappy",
    "deflate": "deflate",
    "bzip2": "bzip2",
    "null": "null",
    "none": "null",
    "uncompressed": "null",
}


def optional(avro_type: object) -> dict[str, Any]:
    """Returns the type of a field that may be null; Java requires null as the first branch of the union."""
    return {"type": ["null", avro_type], "default": None}


def encode(
    schema: Mapping[str, Any], records: Iterable[Mapping[str, Any]], *, codec: str = "zstd", level: int = 1
) -> bytes:
    """Returns an Avro file with these records; ``codec`` is a value of the option ``manifest.compression``."""
    name = _CODECS.get(codec.lower())
    if name is None:
        raise OptionError(f"option manifest.compression: {codec!r} is not one of {', '.join(sorted(_CODECS))}")
    out = io.BytesIO()
    fastavro.writer(
        out, schema, records, codec=name, codec_compression_level=level if name == "zstandard" else None, validator=None
    )
    return out.getvalue()


def encode_columns(
    schema: Mapping[str, Any], columns: avro_columns.Columns, count: int, *, codec: str = "zstd", level: int = 1
) -> bytes:
    """Returns the same file from columns instead of records; with many records it is thirty times faster."""
    empty = encode(schema, [], codec=codec, level=level)
    records = avro_columns.encode_records(schema, columns, count)
    return avro_columns.container(empty, records, codec=_CODECS[codec.lower()], level=level)


def decode(data: bytes, *, where: str) -> pa.Table:
    """Returns all records of an Avro file as an Arrow table; nested records are struct columns."""
    if not data.startswith(MAGIC):
        raise CorruptError(f"{where} is not an Avro file ({len(data)} bytes); {ROLL_BACK}")
    try:
        return _decode_rows(data) if len(data) < COLUMNAR_FROM_BYTES else _decode_columns(data)
    except Exception as error:  # both libraries raise many kinds of errors on damaged bytes
        raise CorruptError(f"{where} cannot be decoded: {type(error).__name__}: {error}; {ROLL_BACK}") from error


def decode_records(data: bytes, *, where: str) -> list[dict[str, Any]]:
    """Returns all records of an Avro file as dictionaries, for files with few records."""
    if not data.startswith(MAGIC):
        raise CorruptError(f"{where} is not an Avro file ({len(data)} bytes); {ROLL_BACK}")
    try:
        return list(fastavro.reader(io.BytesIO(data)))
    except Exception as error:
        raise CorruptError(f"{where} cannot be decoded: {type(error).__name__}: {error}; {ROLL_BACK}") from error


def records_and_schema(data: bytes, *, where: str) -> tuple[list[dict[str, Any]], str]:
    """Returns the records of a small file and its schema as text. Records of many files can become one table."""
    if not data.startswith(MAGIC):
        raise CorruptError(f"{where} is not an Avro file ({len(data)} bytes); {ROLL_BACK}")
    try:
        reader = fastavro.reader(io.BytesIO(data))
        return list(reader), reader.metadata["avro.schema"]
    except Exception as error:
        raise CorruptError(f"{where} cannot be decoded: {type(error).__name__}: {error}; {ROLL_BACK}") from error


def table_of(records: list[dict[str, Any]], schema: str) -> pa.Table:
    """Returns records as the table that :func:`decode` would return."""
    named: dict[str, pa.DataType] = {}
    return pa.Table.from_pylist(records, pa.schema([_arrow_field(one, named) for one in json.loads(schema)["fields"]]))


def unpacked(data: bytes, *, where: str) -> tuple[str, bytes]:
    """Returns the schema of an Avro file as text, and the bytes of all its records."""
    if not data.startswith(MAGIC):
        raise CorruptError(f"{where} is not an Avro file ({len(data)} bytes); {ROLL_BACK}")
    try:
        reader = fastavro.block_reader(io.BytesIO(data))
        return reader.metadata["avro.schema"], b"".join(block.bytes_.getvalue() for block in reader)
    except Exception as error:
        raise CorruptError(f"{where} cannot be decoded: {type(error).__name__}: {error}; {ROLL_BACK}") from error


def _decode_rows(data: bytes) -> pa.Table:
    reader = fastavro.reader(io.BytesIO(data))
    named: dict[str, pa.DataType] = {}
    schema = pa.schema([_arrow_field(field, named) for field in reader.writer_schema["fields"]])
    return pa.Table.from_pylist(list(reader), schema=schema)


def decode_data(data: bytes, names: Sequence[str], *, where: str) -> tuple[pa.Table, int]:
    """Returns some columns of an Avro file of any size, without those that it lacks, and its number of records."""
    if not data.startswith(MAGIC):
        raise CorruptError(f"{where} is not an Avro file ({len(data)} bytes); {ROLL_BACK}")
    try:
        reader, blocks = _blocks_of(data)
        there = {field["name"] for field in reader.writer_schema["fields"]}
        wanted = [name for name in names if name in there]
        total = sum(count for count, _ in blocks)
        if not total or not wanted:
            return pa.table({}), total
        tables = [_read_block(reader.metadata["avro.schema"], part, wanted) for part in _parts(blocks)]
        return pa.concat_tables(tables), total
    except Exception as error:  # both libraries raise many kinds of errors on damaged bytes
        raise CorruptError(f"{where} cannot be decoded: {type(error).__name__}: {error}; {ROLL_BACK}") from error


def data_columns(data: bytes, *, where: str) -> list[str]:
    """Returns the names of the columns of an Avro file."""
    if not data.startswith(MAGIC):
        raise CorruptError(f"{where} is not an Avro file ({len(data)} bytes); {ROLL_BACK}")
    try:
        return [field["name"] for field in fastavro.block_reader(io.BytesIO(data)).writer_schema["fields"]]
    except Exception as error:
        raise CorruptError(f"{where} cannot be decoded: {type(error).__name__}: {error}; {ROLL_BACK}") from error


def _decode_columns(data: bytes) -> pa.Table:
    reader, blocks = _blocks_of(data)
    if not sum(count for count, _ in blocks):
        return _decode_rows(data)
    return _read_block(reader.metadata["avro.schema"], blocks)


def _blocks_of(data: bytes) -> tuple[Any, list[tuple[int, bytes]]]:
    """Returns the reader of a file, and the number of records and the bytes of each block."""
    reader = fastavro.block_reader(io.BytesIO(data))
    blocks = [(block.num_records, block.bytes_.getvalue()) for block in reader]
    if any(
        not 0 <= count <= len(body) for count, body in blocks
    ):  # reading so many records with DataFusion could exhaust the memory
        raise ValueError("a block claims more records than it has bytes")
    return reader, blocks


def _parts(blocks: list[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    """Yields blocks in groups whose texts fit into one array of Arrow."""
    part: list[tuple[int, bytes]] = []
    held = 0
    for count, body in blocks:
        if part and held + len(body) > _PART_BYTES:
            yield part
            part, held = [], 0
        part.append((count, body))
        held += len(body)
    yield part


def _read_block(schema: str, blocks: list[tuple[int, bytes]], names: Sequence[str] | None = None) -> pa.Table:
    """Returns the records of blocks, or some columns of them."""
    records = sum(count for count, _ in blocks)
    with tempfile.NamedTemporaryFile(prefix="lakebed-", suffix=".avro") as file:
        file.write(_one_block(schema, records, b"".join(body for _, body in blocks)))
        file.flush()
        import datafusion  # noqa: PLC0415 - the import takes a quarter of a second, and only large files need it

        config = datafusion.SessionConfig().with_batch_size(max(1, records)).with_target_partitions(1)
        frame = datafusion.SessionContext(config).read_avro(file.name)
        if names is not None:
            frame = frame.select(*(datafusion.col('"' + name.replace('"', '""') + '"') for name in names))
        frame = frame.limit(records)
        table = pa.Table.from_batches(frame.collect(), schema=frame.schema())
    if len(table) != records:
        raise ValueError(f"{len(table)} records were found where its blocks say {records}")
    return table


def _one_block(schema: str, records: int, body: bytes) -> bytes:
    """Returns an uncompressed file with all records in one block."""
    meta = b"".join(map(_text, (b"avro.codec", b"null", b"avro.schema", schema.encode())))
    sync = bytes(16)
    return b"".join((MAGIC, _long(2), meta, _long(0), sync, _long(records), _long(len(body)), body, sync))


def _text(data: bytes) -> bytes:
    return _long(len(data)) + data


def _long(number: int) -> bytes:
    """Returns the Avro encoding of a number that is not negative."""
    left = number << 1
    groups = bytearray()
    while left >= 0x80:
        groups.append(left & 0x7F | 0x80)
        left >>= 7
    groups.append(left)
    return bytes(groups)


_PRIMITIVES: Final = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}


def _arrow_field(field: Mapping[str, Any], named: dict[str, pa.DataType]) -> pa.Field:
    data_type, nullable = _arrow_type(field["type"], named)
    return pa.field(field["name"], data_type, nullable)


def _arrow_type(avro: Any, named: dict[str, pa.DataType]) -> tuple[pa.DataType, bool]:
    """Returns the Arrow type of an Avro type and whether it may be null; ``named`` holds the records met so far."""
    if isinstance(avro, list):
        rest = [part for part in avro if part != "null"]
        if len(rest) != 1:
            raise ValueError(f"a union of several types is not part of the format: {avro}")
        return _arrow_type(rest[0], named)[0], len(rest) < len(avro)
    if isinstance(avro, str):
        return (_PRIMITIVES[avro] if avro in _PRIMITIVES else named[avro]), False
    if avro["type"] == "record":
        data_type = pa.struct([_arrow_field(field, named) for field in avro["fields"]])
        named[avro["name"]] = data_type
        return data_type, False
    if avro["type"] == "array":
        item, nullable = _arrow_type(avro["items"], named)
        return pa.list_(pa.field("item", item, nullable)), False
    if avro.get("logicalType") == "timestamp-millis":
        return pa.timestamp("ms", tz="+00:00"), False
    return _arrow_type(avro["type"], named)
