"""Runs UPDATE, DELETE and MERGE, given the plan of Spark, as one DataFrame and one commit.

Changes of primary-key tables are written as new rows and deletes. Merge engines that would not show them are refused;
a DELETE rewrites their files instead.

Append tables are rewritten: the commit replaces the files that were read by files with all their rows, changed or not.
The statement fails if another commit has removed one of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from lakebed.errors import UnsupportedError
from lakebed.format.row_kind import DELETE, INSERT, KIND_TEXTS, UPDATE_AFTER
from lakebed.format.types.data_types import Field
from lakebed.operations.update import check_updatable
from lakebed.options import TableOptions
from lakebed.rows.row_origins import origin_fields
from lakebed.scan import Scan
from lakebed.spark.columns import spark_type
from lakebed.spark.predicates import named
from lakebed.spark.read.read_frame import to_spark
from lakebed.sql.jvm.jvm_values import Jvm
from lakebed.sql.jvm.proxy import JavaThrow
from lakebed.table import Table
from lakebed.table.internals import (
    check_row_changes,
    check_row_deletes,
    delete_keys,
    must_rewrite_deletes,
    parts_of,
    replace_rows,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_KIND: Final = "__lakebed_kind"
_ACTION: Final = "__lakebed_action"
_TARGET, _SOURCE, _ROW = "__lakebed_target", "__lakebed_source", "__lakebed_row"
_INSERT, _UPDATE, _DELETE = (KIND_TEXTS[kind] for kind in (INSERT, UPDATE_AFTER, DELETE))


def change_rows(jvm: Jvm, table: Table, plan: Any) -> None:
    """Runs a plan of Spark: an ``UpdateTable``, a ``DeleteFromTable`` or a ``MergeIntoTable``."""
    check_row_changes(table)
    run = {"UpdateTable": _update, "DeleteFromTable": _delete, "MergeIntoTable": _merge}
    run[plan.getClass().getSimpleName()](_Target(jvm, table, plan.children().apply(0)), plan)


class _Target:
    """The table to change: its rows as a frame whose columns the expressions of the plan refer to.

    ``plan`` reads the table. Spark may have added projections to it: they compute expressions that a condition uses
    more than once, after the columns of the table, or pad the values of CHAR columns.
    """

    def __init__(self, jvm: Jvm, table: Table, plan: Any) -> None:
        self.jvm, self.table, self.plan = jvm, table, plan
        self.relation, self.output = jvm.bridge.tableOf(plan), jvm.bridge.columnsOf(plan)
        self.schema = table.schema
        self.columns: dict[str, Column] = {
            self.output.apply(i).name(): self.column(self.output.apply(i)) for i in range(self.output.size())
        }

    @property
    def keyed(self) -> bool:
        return bool(self.schema.primary_keys)

    def column(self, expression: Any) -> Column:
        """Returns an expression of the plan as a column."""
        from pyspark.sql.classic.column import Column as ClassicColumn  # noqa: PLC0415 - Spark is optional

        return ClassicColumn(self.jvm.sql.classic.ExpressionUtils.column(self.jvm.bridge.padded(expression)))

    def frame(self, plan: Any) -> DataFrame:
        """Returns a plan as a frame."""
        session = self.jvm.spark._jsparkSession  # noqa: SLF001 - no public way
        return self.jvm.frame(self.jvm.sql.classic.Dataset.ofRows(session, plan))

    def rows(self) -> DataFrame:
        """Returns the rows of the table, as Spark reads any table."""
        return self.frame(self.jvm.bridge.over(self.plan, self.relation))

    def rows_of(self, scan: Scan) -> DataFrame:
        """Returns the rows of a scan, which is pinned to its snapshot."""
        names = [self.relation.output().apply(i).name() for i in range(self.relation.output().size())]
        origins = [field for field in origin_fields(self.schema) if field.name in names]
        given = to_spark(self.jvm.spark, parts_of(scan), origins=origins)._jdf  # noqa: SLF001 - no public way
        rows = self.jvm.bridge.columnsAs(given, self.relation.output())
        return self.frame(self.jvm.bridge.over(self.plan, rows))

    def as_stored(self, values: Mapping[str, Column]) -> list[Column]:
        """Returns the columns of the table with these values."""
        return [values[field.name].cast(spark_type(field.type)).alias(field.name) for field in self.schema.fields]

    def write_changes(self, frame: DataFrame) -> None:
        """Upserts and deletes rows by their kinds."""
        self.table.write(frame, row_kind=_KIND)

    def assigned(self, verb: str, assignments: Any) -> dict[str, Column]:
        """Returns all values of a row after an ``Update`` or ``Insert``, with Spark's checks, casts and defaults."""
        aligned = self.jvm.bridge.aligned(verb, self.output, assignments)
        each = [aligned.apply(i) for i in range(aligned.size())]
        return {assignment.key().name(): self.column(assignment.value()) for assignment in each}

    def check_updatable(self, verb: str) -> None:
        """Raises UnsupportedError if the merge engine would not show a row as it is written."""
        check_updatable(self.schema, self.table.name, verb)

    def seen(self, verb: str, values: Mapping[str, Column]) -> dict[str, Column]:
        """Returns the values of an update.

        The job fails if one is set to NULL and the merge engine partial-update ignores it.
        """
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

        if TableOptions(self.schema.options).merge_engine != "partial-update":
            return dict(values)
        checked = {}
        for field in self.schema.fields:
            old, new, kind = self.columns[field.name], values[field.name], spark_type(field.type)
            message = (
                f"table {self.table.name}: {verb} would set {field.name!r} to NULL, which 'merge-engine' = partial-update "
                "ignores; delete the row and insert it again"
            )
            refused = F.raise_error(F.lit(message)).cast(kind)
            checked[field.name] = F.when(new.isNull() & old.isNotNull(), refused).otherwise(new.cast(kind))
        return checked


# ------------------------------------------------------------------------------------------------ UPDATE and DELETE


def _update(target: _Target, plan: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    target.check_updatable("UPDATE")
    hit = _condition(target, plan.condition())
    values = target.assigned("Update", plan.assignments())
    keys = [plan.assignments().apply(i).key() for i in range(plan.assignments().size())]
    given = {key.references().toSeq().apply(0).name() for key in keys}
    for name in target.schema.primary_keys:
        if name in given:
            raise UnsupportedError(
                f"table {target.table.name}: {name!r} is part of the primary key, which UPDATE cannot change; "
                "delete the rows and insert new ones"
            )
    if target.keyed:
        changed = target.rows().filter(hit).select(*target.as_stored(target.seen("UPDATE", values)))
        target.table.write(changed)
        return
    scan = target.table.scan()
    if _none(target.rows().filter(hit)):
        return
    flagged = target.rows_of(scan).withColumn(_ACTION, F.coalesce(hit, F.lit(False)))
    merged = {name: F.when(named(_ACTION), value).otherwise(target.columns[name]) for name, value in values.items()}
    replace_rows(target.table, scan, flagged.select(*target.as_stored(merged)), operation="UPDATE")


def _delete(target: _Target, plan: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    hit = target.column(plan.condition())
    if target.keyed and must_rewrite_deletes(target.table):
        scan = target.table.scan()
        names = (*target.schema.partition_keys, *target.schema.trimmed_primary_key)
        rows = target.rows_of(scan).filter(hit).select(*target.as_stored(target.columns)).select(*names)
        delete_keys(target.table, scan, rows.toArrow())
        return
    if target.keyed:
        gone = target.rows().filter(hit).select(*target.as_stored(target.columns), F.lit(_DELETE).alias(_KIND))
        target.write_changes(gone)
        return
    scan = target.table.scan()
    if _none(target.rows().filter(hit)):
        return
    flagged = target.rows_of(scan).withColumn(_ACTION, F.coalesce(hit, F.lit(False)))
    kept = flagged.filter(~named(_ACTION)).select(*target.as_stored(target.columns))
    replace_rows(target.table, scan, kept, operation="DELETE")


def _condition(target: _Target, option: Any) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    return target.column(option.get()) if option.isDefined() else F.lit(True)


def _none(frame: DataFrame) -> bool:
    return not frame.limit(1).count()


# ----------------------------------------------------------------------------------------------------------- MERGE


@dataclass(frozen=True, slots=True)
class _Action:
    """An action of a MERGE; it applies to a row if the condition is true and no earlier action applies."""

    kind: str
    condition: Column
    conditional: bool
    values: Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class _Actions:
    """The clauses of a MERGE."""

    matched: Sequence[_Action]
    of_source: Sequence[_Action]
    of_target: Sequence[_Action]

    @property
    def all(self) -> Sequence[_Action]:
        return (*self.matched, *self.of_source, *self.of_target)


def _merge(target: _Target, plan: Any) -> None:
    actions = _Actions(
        _actions(target, plan.matchedActions()),
        _actions(target, plan.notMatchedActions()),
        _actions(target, plan.notMatchedBySourceActions()),
    )
    if any(action.kind == _DELETE for action in actions.all):
        check_row_deletes(target.table)
    if any(action.kind == _UPDATE for action in actions.all):
        target.check_updatable("MERGE")
    on = target.column(plan.mergeCondition())
    source = target.frame(plan.sourceTable())
    if target.keyed:
        identity = [target.columns[name] for name in target.schema.primary_keys]
        _check_matches(target, target.rows(), source, on, actions, identity)
        target.write_changes(_changes(target, target.rows(), source, on, actions))
        return
    if not actions.matched and not actions.of_target:  # existing rows do not change
        target.table.write(_changes(target, target.rows(), source, on, actions).drop(_KIND))
        return
    _rewrite(target, source, on, actions)


def _rewrite(target: _Target, source: DataFrame, on: Column, actions: _Actions) -> None:
    """Replaces the rows of an append table by those after a MERGE."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    scan = target.table.scan()
    if scan.snapshot is None:
        target.table.write(_changes(target, target.rows(), source, on, actions).drop(_KIND))
        return
    rows = target.rows_of(scan).withColumn(_ROW, F.monotonically_increasing_id())
    _check_matches(target, rows, source, on, actions, [named(_ROW)])
    changed = _changes(target, rows, source, on, actions, keep_others=True)
    after = changed.filter(named(_KIND) != F.lit(_DELETE)).drop(_KIND)
    replace_rows(target.table, scan, after, operation="MERGE")


def _actions(target: _Target, clauses: Any) -> list[_Action]:
    found = []
    for i in range(clauses.size()):
        clause = clauses.apply(i)
        name = clause.getClass().getSimpleName()
        condition = _condition(target, clause.condition())
        if name == "DeleteAction":
            kind, values = _DELETE, dict(target.columns)
        elif name == "UpdateAction":
            kind = _UPDATE
            values = target.assigned("Update", clause.assignments())
            values = target.seen("MERGE", values | _unchanged_keys(target, values))
        elif name == "InsertAction":
            kind, values = _INSERT, target.assigned("Insert", clause.assignments())
        else:
            raise UnsupportedError(f"MERGE: {name} is not an action that Lakebed knows")
        found.append(_Action(kind, condition, clause.condition().isDefined(), values))
    return found


def _unchanged_keys(target: _Target, values: Mapping[str, Column]) -> dict[str, Column]:
    """Returns the key columns; the job fails if an update changes one."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    checked = {}
    for name in target.schema.primary_keys:
        old = target.columns[name]
        message = f"table {target.table.name}: MERGE would change {name!r}, which is part of the primary key"
        kind = spark_type(target.schema.field(name).type)
        same = values[name].cast(kind).eqNullSafe(old)
        checked[name] = F.when(same, old).otherwise(F.raise_error(F.lit(message)).cast(kind))
    return checked


def _changes(
    target: _Target, rows: DataFrame, source: DataFrame, on: Column, actions: _Actions, *, keep_others: bool = False
) -> DataFrame:
    """Returns the rows after the actions, each with its kind.

    With ``keep_others`` also those that no action changes.
    """
    parts = []
    if actions.matched:
        parts.append(_joined(target, rows, source, on, actions, keep_others))
    else:
        if actions.of_source:
            unmatched = source.join(rows, on, "left_anti")
            parts.append(_acted(target, unmatched, actions.of_source, keep_others=False))
        if actions.of_target:
            parts.append(_acted(target, rows.join(source, on, "left_anti"), actions.of_target, keep_others=keep_others))
        if keep_others:
            parts.append(_acted(target, rows.join(source, on, "left_semi"), [], keep_others=True))
    return reduce(lambda left, right: left.unionAll(right), parts)


def _joined(
    target: _Target, rows: DataFrame, source: DataFrame, on: Column, actions: _Actions, keep_others: bool
) -> DataFrame:
    """Runs all clauses with one join. :func:`_check_matches` refuses several source rows for one target row."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    all_target, all_source = keep_others or bool(actions.of_target), bool(actions.of_source)
    how = {(False, False): "inner", (False, True): "right", (True, False): "left", (True, True): "full"}
    both = rows.withColumn(_TARGET, F.lit(True)).join(
        source.withColumn(_SOURCE, F.lit(True)), on, how[all_target, all_source]
    )
    in_target, in_source = named(_TARGET).isNotNull(), named(_SOURCE).isNotNull()
    guarded = [
        _Action(action.kind, place & action.condition, action.conditional, action.values)
        for place, group in (
            (in_target & in_source, actions.matched),
            (~in_target, actions.of_source),
            (~in_source, actions.of_target),
        )
        for action in group
    ]
    return _acted(target, both, guarded, keep_others=keep_others, others=in_target)


def _acted(
    target: _Target,
    frame: DataFrame,
    actions: Sequence[_Action],
    *,
    keep_others: bool,
    others: Column | None = None,
) -> DataFrame:
    """Returns the results of the first action that applies to each row.

    ``others`` selects rows that may stay unchanged.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    number: Any = F.when(F.lit(False), F.lit(-1))
    for i, action in enumerate(actions):
        number = number.when(action.condition, F.lit(i))
    if keep_others:
        number = number.when(F.lit(True) if others is None else others, F.lit(-1))
    numbered = frame.withColumn(_ACTION, number).filter(named(_ACTION).isNotNull())

    def chosen(of: Callable[[_Action], Column], otherwise: Column) -> Column:
        result: Any = F.when(F.lit(False), otherwise)
        for i, action in enumerate(actions):
            result = result.when(named(_ACTION) == F.lit(i), of(action))
        return result.otherwise(otherwise) if keep_others else result

    def value(field: Field) -> Column:
        kind = spark_type(field.type)
        old = target.columns[field.name] if keep_others else F.lit(None)
        return chosen(lambda action: action.values[field.name].cast(kind), old)

    values = {field.name: value(field) for field in target.schema.fields}
    kind = chosen(lambda action: F.lit(action.kind), F.lit(_INSERT))
    return numbered.select(*target.as_stored(values), kind.alias(_KIND))


def _check_matches(
    target: _Target, rows: DataFrame, source: DataFrame, on: Column, actions: _Actions, identity: Sequence[Column]
) -> None:
    """Raises the error of Spark if several rows of the source would change the same row of the target."""
    alone = len(actions.matched) == 1 and actions.matched[0].kind == _DELETE and not actions.matched[0].conditional
    if not actions.matched or alone:
        return
    counts = rows.join(source, on).groupBy(*identity).count().filter("count > 1")
    if not _none(counts):
        raise JavaThrow(target.jvm.sql.errors.QueryExecutionErrors.mergeCardinalityViolationError())
