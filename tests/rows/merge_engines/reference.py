"""The merge engines record by record, as simple as possible: the reference for the kernels.

Written from the behaviour of Paimon 2.0's merge functions. Values are plain: lists for arrays, lists of pairs for maps,
lists for nested rows, ``Decimal`` for decimals, numpy's float32 for FLOAT. A history is a list of (kind, row), a row a
dict by column.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import Array, Atomic, Row

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)
BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


class RefusedError(Exception):
    """The engine cannot apply a record."""


class ValueRefusedError(RefusedError):
    """A value has no result. It is forgiven if the record is removed later: the kernels never look at what is void."""


def blank(text: str | None) -> bool:
    return text is None or all(c in " \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\u2003" for c in text)


def identity(value: Any) -> Any:
    """A hashable stand-in: equal for equal values."""
    if isinstance(value, list):
        return tuple(identity(v) for v in value)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else (value, math.copysign(1, value))
    return value


def ordering(value: Any) -> Any:
    if isinstance(value, float | np.floating):
        return (math.isnan(value), value if not math.isnan(value) else 0.0, math.copysign(1.0, value))
    return value


class Function:
    """One column's accumulator functions; ``first_value`` and its like remember whether they saw a value."""

    def __init__(self, name: str, kind: Any, options: dict[str, str], column: str) -> None:
        self.name, self.kind, self.column = name, kind, column

        def of(key: str, default: str = "") -> str:
            return options.get(f"fields.{column}.{key}", default)

        self.ignore_retract = of("ignore-retract") == "true"
        self.distinct = of("distinct") == "true"
        self.delimiter = of("list-agg-delimiter", ",")
        self.nested_key = [k for k in of("nested-key").split(",") if k]
        self.nested_sequence = [k for k in of("nested-sequence-field").split(",") if k]
        self.null_strategy = of("nested-key-null-strategy", "merge")
        self.seen = False

    def reversed(self, acc: Any, value: Any) -> Any:
        if self.name == "collect" and not self.ignore_retract:
            return self.agg(acc, value)
        return self.agg(value, acc)

    def agg(self, acc: Any, value: Any) -> Any:
        return getattr(self, "agg_" + self.name.replace("-", "_").replace("not_null", "non_null"))(acc, value)

    def retract(self, acc: Any, value: Any) -> Any:
        if self.ignore_retract:
            return acc
        run = getattr(self, "retract_" + self.name.replace("-", "_"), None)
        if run is None:
            raise RefusedError(f"{self.name} cannot retract")
        return run(acc, value)

    # picks
    def agg_primary_key(self, _acc: Any, value: Any) -> Any:
        return value

    retract_primary_key = agg_primary_key
    agg_last_value = agg_primary_key

    def retract_last_value(self, _acc: Any, _value: Any) -> Any:
        return None

    def agg_last_non_null_value(self, acc: Any, value: Any) -> Any:
        return acc if value is None else value

    def retract_last_non_null_value(self, acc: Any, value: Any) -> Any:
        return acc if value is None else None

    def agg_first_value(self, acc: Any, value: Any) -> Any:
        if self.seen:
            return acc
        self.seen = True
        return value

    def agg_first_non_null_value(self, acc: Any, value: Any) -> Any:
        if not self.seen and value is not None:
            self.seen = True
            return value
        return acc

    def agg_max(self, acc: Any, value: Any) -> Any:
        if acc is None or value is None:
            return value if acc is None else acc
        return value if ordering(acc) < ordering(value) else acc

    def agg_min(self, acc: Any, value: Any) -> Any:
        if acc is None or value is None:
            return value if acc is None else acc
        return acc if ordering(acc) < ordering(value) else value

    agg_bool_and, agg_bool_or = agg_min, agg_max

    # arithmetic
    def fitting(self, value: Any) -> Any:
        root = self.kind.root
        if root in BITS and not -(2 ** (BITS[root] - 1)) <= value < 2 ** (BITS[root] - 1):
            raise ValueRefusedError("overflow")
        if root == "DECIMAL":
            precision, scale = self.kind.params
            value = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
            # Sums of up to 18 digits are looked at in the end only.
            if abs(value) >= Decimal(10) ** (precision - scale) and not (self.name == "sum" and precision <= 18):
                return None
        return value

    def plus(self, acc: Any, value: Any) -> Any:
        return self.fitting(acc + value)

    def agg_sum(self, acc: Any, value: Any) -> Any:
        if acc is None or value is None:
            return value if acc is None else acc
        return self.plus(acc, value)

    def retract_sum(self, acc: Any, value: Any) -> Any:
        if value is None:
            return acc
        return self.fitting(-value) if acc is None else self.plus(acc, -value)

    def agg_product(self, acc: Any, value: Any) -> Any:
        if acc is None or value is None:
            return value if acc is None else acc
        return self.fitting(acc * value)

    def retract_product(self, acc: Any, value: Any) -> Any:
        if acc is None or value is None:
            return acc
        if isinstance(value, float | np.floating):
            return type(value)(np.divide(acc, value))
        if value == 0:
            raise ValueRefusedError("division by zero")
        if isinstance(value, Decimal):
            exact = Fraction(acc) / Fraction(value)
            if 10**200 % exact.denominator:
                raise ValueRefusedError("no finite decimal form")
            return self.fitting(Decimal(exact.numerator) / Decimal(exact.denominator))
        quotient = abs(acc) // abs(value)
        return self.fitting(quotient if (acc < 0) == (value < 0) else -quotient)

    # texts
    def agg_listagg(self, acc: Any, value: Any) -> Any:
        if blank(value):
            return acc
        if blank(acc):
            return value
        if not self.distinct:
            return acc + self.delimiter + value
        seen = set(acc.split(self.delimiter))
        out = [acc]
        for part in value.split(self.delimiter):
            if not blank(part) and part not in seen:
                seen.add(part)
                out.append(part)
        return self.delimiter.join(out)

    # collections
    def agg_collect(self, acc: Any, value: Any) -> Any:
        if acc is None and value is None:
            return None
        if not self.distinct:
            return list(acc or []) + list(value or [])
        return list({identity(v): v for v in [*(acc or []), *(value or [])][::-1]}.values())[::-1]

    def retract_collect(self, acc: Any, value: Any) -> Any:
        if acc is None or not value:
            return acc
        pending = [identity(v) for v in value]
        left = []
        for v in acc:
            if identity(v) in pending:
                pending.remove(identity(v))
            else:
                left.append(v)
        return left

    def agg_merge_map(self, acc: Any, value: Any) -> Any:
        if acc is None or value is None:
            return value if acc is None else acc
        merged = {identity(k): (k, v) for k, v in acc} | {identity(k): (k, v) for k, v in value}
        return [list(pair) for pair in merged.values()]

    def retract_merge_map(self, acc: Any, value: Any) -> Any:
        if acc is None or not value:
            return acc
        gone = {identity(k) for k, _ in value}
        return [[k, v] for k, v in acc if identity(k) not in gone]

    def nested_parts(self, row: list[Any], names: list[str]) -> tuple[Any, ...]:
        assert isinstance(self.kind, Array)
        assert isinstance(self.kind.element, Row)
        known = [f.name for f in self.kind.element.fields]
        return tuple(identity(row[known.index(name)]) for name in names)

    def keyed_rows(self, rows: Any) -> list[tuple[Any, list[Any]]]:
        out = []
        for row in rows or []:
            if row is None:
                continue
            key = self.nested_parts(row, self.nested_key)
            if None in key and self.null_strategy == "error":
                raise ValueRefusedError("null in a nested key")
            if None not in key or self.null_strategy == "merge":
                out.append((key, row))
        return out

    def agg_nested_update(self, acc: Any, value: Any) -> Any:
        if value is None:
            return acc
        if not self.nested_key:
            return [row for row in [*(acc or []), *value] if row is not None]
        merged: dict[Any, list[Any]] = {}

        def newness(row: list[Any]) -> list[Any]:
            return [(p is not None, p) for p in self.nested_parts(row, self.nested_sequence)]

        for key, row in self.keyed_rows(acc) + self.keyed_rows(value):
            if key not in merged or newness(row) >= newness(merged[key]):
                merged[key] = row
        return list(merged.values())

    def retract_nested_update(self, acc: Any, value: Any) -> Any:
        if acc is None or value is None:
            return acc
        if not self.nested_key:
            gone = {identity(row) for row in value if row is not None}
            return [row for row in acc if row is not None and identity(row) not in gone]
        merged = dict(self.keyed_rows(acc))
        for key, _ in self.keyed_rows(value):
            merged.pop(key, None)
        return list(merged.values())


@dataclass
class Engine:
    """Merges the records of one key. ``options`` are those of the table."""

    schema: TableSchema
    functions: dict[str, Function] = field(default_factory=dict)
    row: dict[str, Any] = field(default_factory=dict)
    kind: int = INSERT
    pending: ValueRefusedError | None = None

    @property
    def options(self) -> dict[str, str]:
        return dict(self.schema.options)

    def on(self, option: str) -> bool:
        return self.options.get(option) == "true"

    def merge(self, history: list[tuple[int, dict[str, Any]]]) -> tuple[int, int, dict[str, Any]] | None:
        """(kind, position of the record that gives the sequence number, row) of the merged record."""
        with localcontext(prec=200), np.errstate(all="ignore"):
            return self.merged(history)

    def merged(self, history: list[tuple[int, dict[str, Any]]]) -> tuple[int, int, dict[str, Any]] | None:
        engine = self.options.get("merge-engine", "deduplicate")
        records = list(enumerate(history))
        if self.on("ignore-delete") and engine != "aggregation":
            records = [(i, (k, r)) for i, (k, r) in records if k in (INSERT, UPDATE_AFTER)]
        if not records:
            return None
        if engine == "first-row":
            if len(records) > 1 and any(k in (UPDATE_BEFORE, DELETE) for _, (k, _) in records):
                raise RefusedError("first-row")
            records = records[:1]
        if engine == "deduplicate" or len(records) == 1:
            position, (kind, row) = records[-1]
            return kind, position, row
        merge = self.aggregate if engine == "aggregation" else self.partial
        merge([record for _, record in records])
        if self.pending is not None:
            raise self.pending
        self.check_decimals()
        return self.kind, records[-1][0], self.row

    def check_decimals(self) -> None:
        for column in self.schema.fields:
            value = self.row[column.name]
            if isinstance(value, Decimal) and isinstance(column.type, Atomic):
                precision, scale = column.type.params
                if abs(value) >= Decimal(10) ** (precision - scale):
                    raise ValueRefusedError("overflow")

    def replace(self, row: dict[str, Any]) -> None:
        for column in self.schema.fields:
            if not column.nullable and row[column.name] is None:
                raise RefusedError("null in a NOT NULL column")
        self.row = dict(row)
        self.pending = None

    def apply(self, run: Callable[[Any, Any], Any], column: str, value: Any) -> None:
        try:
            self.row[column] = run(self.row[column], value)
        except ValueRefusedError as error:
            self.row[column] = None
            self.pending = error

    def function(self, column: str, name: str) -> Function:
        return Function(name, self.schema.field(column).type, self.options, column)

    def aggregate(self, records: list[tuple[int, dict[str, Any]]]) -> None:
        self.row = dict.fromkeys(self.schema.field_names)
        sequence = self.options.get("sequence.field", "").split(",")
        default = self.options.get("fields.default-aggregate-function", "last_non_null_value")
        for column in self.schema.field_names:
            name = self.options.get(f"fields.{column}.aggregate-function", default)
            name = "last_value" if column in sequence else "primary-key" if column in self.schema.primary_keys else name
            self.functions[column] = self.function(column, name)
        for kind, row in records:
            self.kind = INSERT
            if kind == DELETE and self.on("aggregation.remove-record-on-delete"):
                self.kind = DELETE
                self.replace(row)
                continue
            for column, function in self.functions.items():
                run = function.retract if kind in (UPDATE_BEFORE, DELETE) else function.agg
                self.apply(run, column, row[column])

    # ------------------------------------------------------------------------------------------------ partial-update

    def partial(self, records: list[tuple[int, dict[str, Any]]]) -> None:
        self.row = dict.fromkeys(self.schema.field_names)
        groups = {
            tuple(option[len("fields.") : -len(".sequence-group")].split(",")): value.split(",")
            for option, value in self.options.items()
            if option.endswith(".sequence-group")
        }
        default = self.options.get("fields.default-aggregate-function")
        for column in (c for columns in groups.values() for c in columns):
            name = self.options.get(f"fields.{column}.aggregate-function", default)
            if name is not None:
                self.functions[column] = self.function(column, name)
        filled = inserted = removed = False
        for kind, row in records:
            removed = False
            if kind in (UPDATE_BEFORE, DELETE):
                if not filled:
                    self.replace(row)
                    filled = True
                if groups:
                    removed = self.retract_groups(groups, kind, row)
                elif not self.on("partial-update.remove-record-on-delete"):
                    raise RefusedError("partial-update")
                elif kind == DELETE:
                    self.replace(row)
                    removed = True
                continue
            self.update(groups, row)
            filled = inserted = True
        self.kind = DELETE if removed or not inserted else INSERT

    def newer(self, sequence: tuple[str, ...], row: dict[str, Any]) -> bool | None:
        """None: the group is empty in the row. False: older than what is in place."""
        if all(row[name] is None for name in sequence):
            return None

        def rank(values: dict[str, Any]) -> list[Any]:
            return [(values[name] is not None, ordering(values[name])) for name in sequence]

        return bool(rank(row) >= rank(self.row))

    def update(self, groups: dict[tuple[str, ...], list[str]], row: dict[str, Any]) -> None:
        grouped = {c for sequence, columns in groups.items() for c in (*sequence, *columns)}
        for column in self.schema.field_names:
            if column not in grouped and row[column] is not None:
                self.row[column] = row[column]
            if not groups and row[column] is None and not self.schema.field(column).nullable:
                raise RefusedError("null in a NOT NULL column")
        for sequence, columns in groups.items():
            newer = self.newer(sequence, row)
            if newer is None:
                continue
            for column in columns:
                function = self.functions.get(column)
                if function is not None:
                    self.apply(function.agg if newer else function.reversed, column, row[column])
                elif newer:
                    self.row[column] = row[column]
            if newer:
                self.row.update({name: row[name] for name in sequence})

    def retract_groups(self, groups: dict[tuple[str, ...], list[str]], kind: int, row: dict[str, Any]) -> bool:
        """Whether the record was removed."""
        removing = self.options.get("partial-update.remove-record-on-sequence-group", "").split(",")
        newer = {sequence: self.newer(sequence, row) for sequence in groups}
        if kind == DELETE and any(newer[s] and set(s) & set(removing) for s in groups):
            self.replace(row)
            return True
        for sequence, columns in groups.items():
            if newer[sequence] is None:
                continue
            for column in columns:
                if column in self.functions:
                    self.apply(self.functions[column].retract, column, row[column])
                elif newer[sequence]:
                    self.row[column] = None
            if newer[sequence]:
                self.row.update({name: row[name] for name in sequence})
        return False


def is_unordered(schema: TableSchema, column: str) -> bool:
    """Whether the order of a merged value is arbitrary: Paimon uses hash tables for maps, sets and keyed rows."""
    kind, options = schema.field(column).type, schema.options
    if isinstance(kind, Atomic):
        return False
    return not isinstance(kind, Array) or any(
        options.get(f"fields.{column}.{name}", "") not in ("", "false") for name in ("distinct", "nested-key")
    )
