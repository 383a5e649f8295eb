"""What must hold of a table's schema and options beyond single values: keys, buckets, engines."""

from __future__ import annotations

from collections.abc import Mapping

from lakebed.buckets.choose_dynamic import has_dynamic_buckets
from lakebed.errors import OptionError, SchemaError, UnsupportedError, unknown_name
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import STRING_ROOTS, Atomic
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions, check_existing, check_new, check_overlay_names, find
from lakebed.rows.files.avro_schema import avro_schema
from lakebed.rows.files.codecs import library_codec
from lakebed.rows.merge_engines.merge_rows import MergeSpec


def checked_schema(store: TableStore, *, writing: bool) -> TableSchema:
    """Returns the latest schema of a table, and raises if Lakebed cannot read the table, or cannot write it."""
    schema = store.schema()
    check_existing(schema.options, where=f"table {store.name}", writing=writing)
    check_keyed(schema, f"table {store.name}")
    return schema


def check_keyed(schema: TableSchema, where: str) -> None:
    """Refuse primary-key tables whose rows Lakebed cannot merge or place."""
    if not schema.primary_keys:
        return
    MergeSpec.of(schema)
    options = TableOptions(schema.options)
    if options.deletion_vectors_enabled and options.merge_engine == "first-row":
        raise OptionError(f"{where}: the first-row engine deletes nothing, so leave out 'deletion-vectors.enabled'")
    outside = [key for key in schema.partition_keys if key not in schema.primary_keys]
    if outside:
        raise SchemaError(
            f"{where}: the primary key must hold every partition column, and {outside[0]!r} is not in it; "
            "upserts over partitions are not supported"
        )
    foreign = [key for key in schema.bucket_keys if key not in schema.trimmed_primary_key]
    if foreign:
        raise OptionError(
            f"{where}: bucket-key column {foreign[0]!r} is not in the primary key, so keys would be split"
        )
    if options.bucket < -1:
        raise UnsupportedError(
            f"{where} has a primary key and postponed buckets ('bucket' = {options.bucket}), which Lakebed does not "
            "support; create it with 'bucket' = -1 (dynamic buckets) or a positive number"
        )


def check_new_keyed(schema: TableSchema, where: str) -> None:
    """Raises if the keys of a new or changed table are not possible. Tables of other writers may be read anyway."""
    check_keyed(schema, where)
    _check_changelog(schema, where)
    _check_branch_merge(schema, where)
    if has_dynamic_buckets(schema) and any(key.strip() for key in TableOptions(schema.options).bucket_key):
        raise OptionError(
            f"{where} has dynamic buckets ('bucket' = -1), which are spread by the whole primary key; leave "
            "out 'bucket-key'"
        )
    name = TableOptions(schema.options).rowkind_field
    if name is None:
        return
    if name not in schema.field_names:
        raise OptionError("option rowkind.field: " + unknown_name("column", name, schema.field_names, where=where))
    kind = schema.field(name).type
    if not isinstance(kind, Atomic) or kind.root not in STRING_ROOTS:
        raise OptionError(f"{where}: rowkind.field {name!r} is {kind}; it must be a text column with +I, -U, +U or -D")


def _check_changelog(schema: TableSchema, where: str) -> None:
    """Producers that Paimon has for an engine; what it refuses, no other reader would understand."""
    options = TableOptions(schema.options)
    if not schema.primary_keys and options.changelog_producer != "none":
        raise OptionError(
            f"{where} has no primary key, so its rows are only ever added and 'changelog-producer' = "
            f"{options.changelog_producer} has nothing to tell; leave the option out, or give the table a primary key"
        )
    if options.changelog_producer == "full-compaction" and (
        options.deletion_vectors_enabled or options.merge_engine == "first-row"
    ):
        what = "deletion vectors" if options.deletion_vectors_enabled else "the first-row engine"
        raise OptionError(f"{where}: {what} make changelogs by lookup only; set 'changelog-producer' to lookup or none")
    if options.changelog_producer == "input" and options.merge_engine == "first-row":
        raise OptionError(f"{where}: the first-row engine takes 'changelog-producer' none or lookup, not input")


def _check_branch_merge(schema: TableSchema, where: str) -> None:
    options = TableOptions(schema.options)
    if not options.branch_merge_enabled:
        return
    if schema.primary_keys or options.deletion_vectors_enabled:
        what = "a primary key" if schema.primary_keys else "deletion vectors"
        raise OptionError(f"{where} has {what}, so its branches cannot be merged; leave out 'branch-merge.enabled'")


def check_buckets(schema: TableSchema, where: str) -> None:
    """Fixed buckets need columns to spread rows by, and those must be there."""
    total = TableOptions(schema.options).bucket
    if total > 0 and not schema.bucket_keys:
        raise OptionError(f"{where}: 'bucket' = {total} needs a 'bucket-key' to spread rows by; -1 means no buckets")
    for key in schema.bucket_keys:
        if key not in schema.field_names:
            raise OptionError("option bucket-key: " + unknown_name("column", key, schema.field_names, where=where))


def check_files(schema: TableSchema, where: str) -> None:
    """Raises if new files of a table would have a format that has no such codec, column or type."""
    for form, codec in sorted(TableOptions(schema.options).new_files(has_levels=bool(schema.primary_keys))):
        try:
            library_codec(form, codec)
            if form == "avro":
                avro_schema(schema.fields)
        except OptionError as error:
            raise OptionError(f"{where}: {error}") from None


def check_overlay(options: Mapping[str, str], schema: TableSchema, where: str) -> None:
    """Options for one handle may tune it, but not say otherwise what the stored data is."""
    check_overlay_names(options, where=where)
    check_new(options, where=where)
    for name, value in options.items():
        option = find(name)
        fixed = option is not None and (
            option.immutable or option.create_only or option.name == TableOptions.bucket.name
        )
        if fixed and schema.options.get(name) != value:
            raise OptionError(
                f"option {name!r} of {where} is fixed in the table, so it cannot be given when opening it"
            )
