"""The schemas of both data branches, as if they were schemas of one table.

Each branch numbers its own schemas. After ALTERs in different orders it also numbers its columns differently. In the
entries of a chain read the schema number therefore includes the branch (:func:`schema_number`). :class:`ChainStore`
looks such a number up in its branch and gives the columns the ids that they have in main. So readers need not know that
their files come from two branches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.chain.layout import ChainTable
from lakebed.errors import SchemaError
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import Array, Atomic, DataType, Field, Map, Row
from lakebed.metadata.schemas import Schemas
from lakebed.metadata.store import TableStore

FULL: Final = 0
DELTA: Final = 1


def schema_number(ids: pa.Array, branch: int) -> pa.Array:
    """Schema ids of a branch (:data:`FULL` or :data:`DELTA`) as numbers that are unique in both branches."""
    return pc.add(pc.multiply(ids, 2), branch)


class ChainSchemas(Schemas):
    """Looks up schemas of both branches by :func:`schema_number`; the latest schema is that of main."""

    def __init__(self, main: TableStore, branches: Sequence[TableStore]) -> None:
        super().__init__(main.storage, main.paths)
        self._main = main.schemas
        self._branches = [store.schemas for store in branches]
        self._made: dict[int, TableSchema] = {}

    def latest(self) -> TableSchema | None:
        return self._main.latest()

    def get(self, schema_id: int) -> TableSchema:
        found = self._made.get(schema_id)
        if found is None:
            branch = self._branches[schema_id % 2]
            own = branch.get(schema_id // 2)
            found = replace(own, fields=_renumbered(own.fields, _ids(branch.latest(), self._main.latest())))
            self._made[schema_id] = found
        return found


@dataclass(frozen=True)
class ChainStore(TableStore):
    """The store of main with the schemas of both data branches. All branches share the folders of data files."""

    branches: tuple[str, str] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        main = TableStore(self.storage, self.paths, self.name, self.overlay, self.cache)
        stores = [replace(main, paths=self.paths.on_branch(branch)) for branch in self.branches]
        object.__setattr__(self, "schemas", ChainSchemas(main, stores))

    def __reduce__(self) -> tuple[object, ...]:
        return _chain_store, (self.storage, self.paths, self.name, dict(self.overlay), self.branches)

    @staticmethod
    def of(chain: ChainTable) -> ChainStore:
        main = chain.main
        names = (chain.full.paths.branch, chain.delta.paths.branch)
        return ChainStore(main.storage, main.paths, main.name, main.overlay, main.cache, branches=names)


def _chain_store(*address: object) -> ChainStore:
    *common, branches = address
    return ChainStore(*common, branches=branches)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------- ids of columns


def _ids(branch: TableSchema | None, main: TableSchema | None) -> dict[int, int]:
    """Maps the ids of columns and nested fields in a branch to their ids in main."""
    return dict(_pairs(() if branch is None else branch.fields, () if main is None else main.fields))


def _pairs(theirs: Sequence[Field], ours: Sequence[Field]) -> Iterator[tuple[int, int]]:
    by_name = {column.name: column for column in ours}
    for column in theirs:
        match = by_name.get(column.name)
        if match is not None:
            yield column.id, match.id
            yield from _inner_pairs(column.type, match.type)


def _inner_pairs(theirs: DataType, ours: DataType) -> Iterator[tuple[int, int]]:
    match theirs, ours:
        case Row(fields), Row(own):
            yield from _pairs(fields, own)
        case Array(element), Array(own_element):
            yield from _inner_pairs(element, own_element)
        case Map(key, value), Map(own_key, own_value):
            yield from _inner_pairs(key, own_key)
            yield from _inner_pairs(value, own_value)


def _renumbered(fields: Sequence[Field], ids: Mapping[int, int]) -> tuple[Field, ...]:
    """The same fields with the ids of main; fields that main does not have get negative ids, which are not used."""
    return tuple(
        replace(column, id=ids.get(column.id, -1 - column.id), type=_renumbered_type(column.type, ids))
        for column in fields
    )


def _renumbered_type(data_type: DataType, ids: Mapping[int, int]) -> DataType:
    match data_type:
        case Row(fields):
            return replace(data_type, fields=_renumbered(fields, ids))
        case Array(element):
            return replace(data_type, element=_renumbered_type(element, ids))
        case Map(key, value):
            return replace(data_type, key=_renumbered_type(key, ids), value=_renumbered_type(value, ids))
        case Atomic():
            return data_type


# ------------------------------------------------------------------------------------------------------------- checks


def check_same_rows(chain: ChainTable) -> None:
    """Raise if a data branch has other columns or keys than main; ids and nullability may differ."""
    main = chain.main.schema()
    for store in (chain.full, chain.delta):
        schema = store.schema()
        name = f"branch {store.paths.branch!r} of chain table {chain.main.name}"
        differing = _first_difference(main, schema)
        if differing is not None:
            raise SchemaError(
                f"{name} has drifted from main: {differing}. Alter one of the two so that all branches have the same "
                "columns in the same order"
            )
        for what, ours, theirs in (
            ("partition columns", main.partition_keys, schema.partition_keys),
            ("primary keys", main.primary_keys, schema.primary_keys),
        ):
            if tuple(ours) != tuple(theirs):
                raise SchemaError(
                    f"{name} has drifted from main: its {what} are ({', '.join(theirs)}), those of main "
                    f"({', '.join(ours)}). Create the branch again"
                )


def _first_difference(main: TableSchema, other: TableSchema) -> str | None:
    ours = {column.name: _shape(column.type) for column in main.fields}
    theirs = {column.name: _shape(column.type) for column in other.fields}
    for name, shape in ours.items():
        if name not in theirs:
            return f"it has no column {name!r}"
        if theirs[name] != shape:
            return f"its column {name!r} is {other.field(name).type}, in main it is {main.field(name).type}"
    extra = next((name for name in theirs if name not in ours), None)
    if extra is not None:
        return f"it has a column {extra!r} that main does not have"
    return None if list(ours) == list(theirs) else f"its columns are in another order ({', '.join(theirs)})"


def _shape(data_type: DataType) -> object:
    """A type without ids and nullability."""
    match data_type:
        case Row(fields):
            return tuple((column.name, _shape(column.type)) for column in fields)
        case Array(element):
            return ("ARRAY", _shape(element))
        case Map(key, value):
            return ("MAP", _shape(key), _shape(value))
        case Atomic(root, params):
            return (root, params)
