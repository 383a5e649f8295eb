"""The merge rules of a table, read from its schema and options and checked once.

``MergeSpec.of`` raises for what Paimon refuses when a table is created, for what Lakebed does not support, and for
options that contradict each other. A returned spec can be merged. It is a plain value that is sent to workers with
their task.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast

from lakebed.errors import OptionError, UnsupportedError, unknown_name
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import Array, Atomic, Row
from lakebed.options import ColumnOptions, TableOptions, Typed
from lakebed.rows.merge_engines.aggregate_functions import Rule, check_function
from lakebed.rows.merge_engines.nested import NestedKey

Engine: TypeAlias = Literal["deduplicate", "first-row", "partial-update", "aggregation"]

_NO_LIMIT: Final = 2**31 - 1
_COLUMN_OPTIONS: Final[tuple[Typed[object], ...]] = (
    ColumnOptions.aggregate_function,
    ColumnOptions.sequence_group,
    ColumnOptions.ignore_retract,
    ColumnOptions.distinct,
    ColumnOptions.list_agg_delimiter,
    ColumnOptions.nested_key,
    ColumnOptions.nested_key_null_strategy,
    ColumnOptions.nested_sequence_field,
    ColumnOptions.count_limit,
)


@dataclass(frozen=True, slots=True)
class Group:
    """Columns that change together, unless the ``sequence`` columns of a row are older than the current ones.

    ``removes``: a -D row of this group removes the whole row.
    """

    sequence: tuple[str, ...]
    columns: tuple[str, ...]
    removes: bool = False


@dataclass(frozen=True)
class MergeSpec:
    """Everything that an engine needs to merge rows of one table.

    ``rules`` are the columns with an aggregate function (all except plain columns of a partial update); ``required``
    are the NOT NULL columns. ``looks_up``: compactions look up keys in the levels below, so rows above level 0
    contain the complete record.
    """

    engine: Engine
    sequence_fields: tuple[str, ...] = ()
    sequence_descending: bool = False
    ignore_delete: bool = False
    ignore_update_before: bool = False
    remove_on_delete: bool = False
    rules: Mapping[str, Rule] = field(default_factory=dict, hash=False)
    groups: tuple[Group, ...] = ()
    required: frozenset[str] = frozenset()
    looks_up: bool = False

    @property
    def picks_rows(self) -> bool:
        """Whether each merged row is one of the given rows."""
        return self.engine in ("deduplicate", "first-row")

    @property
    def takes_last(self) -> bool:
        """Whether the merged row is always the newest of its key, of whatever kind."""
        return self.engine == "deduplicate" and not self.ignore_delete

    def group_of(self, column: str) -> Group | None:
        """Return the sequence group of a column, whether it is one of its columns or of its sequence."""
        return next((group for group in self.groups if column in group.columns or column in group.sequence), None)

    def inputs(self, columns: Collection[str]) -> tuple[str, ...]:
        """Return the columns to read in order to merge these.

        They include the sequences of their groups, and of groups whose -D rows remove records.
        """
        wanted = dict.fromkeys(columns)
        for group in self.groups:
            if group.removes or any(column in group.columns or column in group.sequence for column in columns):
                wanted.update(dict.fromkeys(group.sequence))
        return tuple(wanted)

    @staticmethod
    def of(schema: TableSchema, *, where: str = "the table") -> MergeSpec:
        """Return the spec of a primary-key table, or raise an error that says what to change."""
        if not schema.primary_keys:
            raise OptionError(f"{where} has no primary key, so its rows are never merged; create it with one")
        reader = _Reader(schema, where)
        reader.check_column_options()
        engine = cast("Engine", reader.options.merge_engine)
        base: dict[str, Any] = {
            "engine": engine,
            "sequence_fields": reader.sequence_fields(engine),
            "sequence_descending": reader.options.sequence_descending,
            "ignore_delete": reader.options.ignore_delete,
            "ignore_update_before": reader.options.ignore_update_before,
            "required": frozenset(column.name for column in schema.fields if not column.nullable),
            "looks_up": reader.options.looks_up,
        }
        if engine == "aggregation":
            rules = {name: reader.rule(name, reader.aggregate(name, base["sequence_fields"])) for name in reader.names}
            return MergeSpec(**base, rules=rules, remove_on_delete=reader.options.aggregation_remove_on_delete)
        if engine == "partial-update":
            return MergeSpec(**base, **reader.partial_update())
        return MergeSpec(**base)


@dataclass(frozen=True)
class _Reader:
    """Reads the options of one table."""

    schema: TableSchema
    where: str

    @property
    def options(self) -> TableOptions:
        return TableOptions(self.schema.options)

    @property
    def names(self) -> tuple[str, ...]:
        return self.schema.field_names

    def check_column_options(self) -> None:
        """Options on how a column is merged must name columns of the table."""
        for option in _COLUMN_OPTIONS:
            for columns in self.options.by_column(option):
                for name in columns.split(","):
                    self.check_column(name, f"option {self.options.column(columns).stored_name(option)!r}")

    def check_column(self, name: str, what: str) -> None:
        if name not in self.names:
            raise OptionError(f"{what} of {self.where}: {unknown_name('column', name, self.names)}")

    # ------------------------------------------------------------------------------------------------ sequence.field

    def sequence_fields(self, engine: Engine) -> tuple[str, ...]:
        fields = self.options.sequence_field
        for name in fields:
            self.check_column(name, "option 'sequence.field'")
            self.check_comparable(name, TableOptions.sequence_field.name)
            if fields.count(name) > 1:
                raise OptionError(f"option 'sequence.field' of {self.where} names {name!r} twice; name it once")
            if self.options.column(name).aggregate_function is not None:
                raise OptionError(
                    f"column {name!r} of {self.where} is a sequence field and cannot have an aggregate function; "
                    f"leave out 'fields.{name}.aggregate-function'"
                )
        if fields and engine == "first-row":
            raise OptionError(
                f"{self.where} keeps the first row of a key ('merge-engine' is first-row), so 'sequence.field' has no "
                "effect; leave it out"
            )
        if fields and not set(self.schema.partition_keys) <= set(self.schema.primary_keys):
            raise OptionError(
                f"the primary key of {self.where} does not contain all partition columns, so a key may move to another "
                "partition, where 'sequence.field' has no effect; leave it out, or add the columns to the key"
            )
        return fields

    def check_comparable(self, name: str, option: str) -> None:
        kind = self.schema.field(name).type
        if not isinstance(kind, Atomic):
            raise OptionError(
                f"column {name!r} of {self.where} is {kind} and cannot be compared, as {option!r} requires"
            )

    # --------------------------------------------------------------------------------------------- aggregate functions

    def aggregate(self, column: str, sequence_fields: Collection[str]) -> str:
        """The function of a column of an aggregation."""
        if column in sequence_fields:
            return "last_value"
        if column in self.schema.primary_keys:
            return "primary-key"
        return self.asked_function(column) or "last_non_null_value"

    def asked_function(self, column: str) -> str | None:
        return self.options.column(column).aggregate_function or self.options.default_aggregate_function

    def rule(self, column: str, function: str) -> Rule:
        kind = self.schema.field(column).type
        check_function(function, column, kind, where=self.where)
        rule = Rule(
            column,
            function,
            ignores_retractions=self.options.column(column).ignore_retract,
            delimiter=self.delimiter(column),
            distinct=self.options.column(column).distinct,
            nested=self.nested_key(column) if function == "nested_update" else NestedKey(),
        )
        if rule.ignores_retractions and self.options.aggregation_remove_on_delete:
            raise OptionError(
                f"'aggregation.remove-record-on-delete' and 'fields.{column}.ignore-retract' of {self.where} "
                "contradict each other; leave one of them out"
            )
        return rule

    def delimiter(self, column: str) -> str:
        options = self.options.column(column)
        if not options.list_agg_delimiter and options.distinct:
            raise UnsupportedError(
                f"column {column!r} of {self.where} has 'distinct' set, but its delimiter is empty; set "
                f"'fields.{column}.list-agg-delimiter'"
            )
        return options.list_agg_delimiter

    def nested_key(self, column: str) -> NestedKey:
        kind = self.schema.field(column).type
        inside = kind.element.fields if isinstance(kind, Array) and isinstance(kind.element, Row) else ()
        known = [part.name for part in inside]
        options = self.options.column(column)
        key, sequence = options.nested_key, options.nested_sequence_field
        for name in (*key, *sequence):
            if name not in known:
                raise OptionError(unknown_name("nested field", name, known, where=f"column {column!r} of {self.where}"))
        for part in inside:
            if part.name in sequence and not isinstance(part.type, Atomic):
                raise OptionError(
                    f"'fields.{column}.nested-sequence-field' of {self.where}: {part.name!r} is {part.type} and cannot "
                    "be compared; use a field of a simple type"
                )
        strategy = options.stored_name(ColumnOptions.nested_key_null_strategy)
        if not key and (sequence or strategy in self.schema.options):
            raise OptionError(
                f"column {column!r} of {self.where} has no nested key, so its nested-sequence-field and "
                f"nested-key-null-strategy have no effect; set 'fields.{column}.nested-key', or leave them out"
            )
        if options.count_limit != _NO_LIMIT:
            raise UnsupportedError(
                f"'fields.{column}.count-limit' of {self.where} is not supported by Lakebed; leave it out, or work on "
                "this table with Apache Paimon"
            )
        return NestedKey(key, sequence, options.nested_key_null_strategy)

    # ------------------------------------------------------------------------------------------------ partial updates

    def partial_update(self) -> dict[str, Any]:
        groups = tuple(self.sequence_groups())
        ignores, removes = self.options.ignore_delete, self.options.partial_update_remove_on_delete
        removing = self.options.partial_update_remove_on_sequence_group
        on_delete = TableOptions.partial_update_remove_on_delete
        for first, second, both in (
            (TableOptions.ignore_delete, on_delete, ignores and removes),
            (
                TableOptions.ignore_delete,
                TableOptions.partial_update_remove_on_sequence_group,
                ignores and bool(removing),
            ),
            (ColumnOptions.sequence_group, on_delete, bool(groups) and removes),
        ):
            if both:
                raise OptionError(
                    f"{first.name!r} and {second.name!r} of {self.where} contradict each other; leave one of them out"
                )
        sequences = [name for group in groups for name in group.sequence]
        for name in removing:
            if name not in sequences:
                raise OptionError(
                    "option 'partial-update.remove-record-on-sequence-group' of "
                    f"{self.where}: {unknown_name('sequence column', name, sequences)}"
                )
        return {"groups": groups, "remove_on_delete": removes, "rules": dict(self.group_rules(groups))}

    def sequence_groups(self) -> Iterator[Group]:
        removing = set(self.options.partial_update_remove_on_sequence_group)
        seen: set[str] = set()
        for key, columns in self.options.by_column(ColumnOptions.sequence_group).items():
            option = self.options.column(key).stored_name(ColumnOptions.sequence_group)
            sequence = tuple(key.split(","))
            for name in (*sequence, *columns):
                self.check_column(name, f"option {option!r}")
                if name in self.schema.primary_keys:
                    raise OptionError(
                        f"option {option!r} of {self.where} names {name!r}, a column of the primary key, which never "
                        "changes; leave it out"
                    )
                if name in seen:
                    raise OptionError(
                        f"column {name!r} of {self.where} is in more than one sequence group or twice in one; "
                        "a column can be in one group only"
                    )
                seen.add(name)
            for name in sequence:
                self.check_comparable(name, option)
            yield Group(sequence, columns, removes=bool(removing.intersection(sequence)))

    def group_rules(self, groups: tuple[Group, ...]) -> Iterator[tuple[str, Rule]]:
        """Return the aggregate functions inside groups; other columns keep their last value that is not null."""
        sequences = {name for group in groups for name in group.sequence}
        grouped = {name for group in groups for name in group.columns}
        for column in self.names:
            function = self.asked_function(column)
            if function is None or column in sequences or column in self.schema.primary_keys:
                continue
            if column in grouped:
                yield column, self.rule(column, function)
            elif function != "last_non_null_value":
                raise OptionError(
                    f"column {column!r} of {self.where} has the aggregate function {function!r} but is in no sequence "
                    "group, which a partial update needs for it; name it in a 'fields.<sequence>.sequence-group'"
                )
