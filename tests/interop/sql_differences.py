"""Where Paimon's Spark connector answers a statement of the SQL files otherwise than we do, and why.

The connector is the newest on Maven Central, 0.9.0, on Spark 3.5: most of what differs, newer Paimon or newer Spark
has.
"""

from __future__ import annotations

from dataclasses import dataclass

FAILS = "fails"  # the statement fails there
PASSES = "passes"  # it should fail, and does not
ROWS = "rows"  # it gives other rows
EVERY = "*"


@dataclass(frozen=True, slots=True)
class Difference:
    """One statement: its file (``alter``, or ``alter-keyed`` for one kind only), how it starts, and what is run after
    it so that the next ones find the tables as they expect them. With the file ``EVERY``, a regular expression instead,
    for the statements of all files that have no entry of their own.
    """

    file: str
    statement: str
    outcome: str
    reason: str
    nth: int = 1  # which one, of several that start so
    then: tuple[str, ...] = ()


DEFAULTS = "Paimon 0.9 has no default values of columns"
NESTED = "Paimon 0.9 does not change fields inside a struct"
DEEP = "Paimon 0.9 does not write structs inside arrays"
NULL_STRUCT = "Paimon 0.9 cannot read a NULL for a struct that has a struct inside"
UNKNOWN = "Paimon takes any name as an option"
LATER = "the procedure came after Paimon 0.9"
ARGUMENT = "the argument came after Paimon 0.9"
BY_SOURCE = "Paimon 0.9 does not resolve the target's name in WHEN NOT MATCHED BY SOURCE AND"
ELSEWHERE = "Paimon 0.9 takes LOCATION and EXTERNAL and does not look at them: the table lies in its database"
UNDERSCORE = "Paimon 0.9 does not know the spelling primary_key"
PARTIAL = "Paimon writes the row, and the engine merges it: what is set to NULL keeps its value, which we refuse"
GROUPS = "Paimon writes the row, and the engine takes it or not as the sequence of the group says, which we refuse"
DELETED = "Paimon writes the delete, and the table cannot be read any more"
IGNORED = "Paimon writes the delete, and the engine ignores it: the row stays, which we refuse"
FIRST_SNAPSHOT = "Paimon 0.9 gives the first snapshot"
MERGED = "Paimon 0.9 does not add or widen columns in INSERT"
RESCALED = "rescale came after Paimon 0.9"
LIKE = "Spark 3.5 has LIKE for its own catalog only"
OWNED = "Paimon keeps the owner and the provider among the options of a table"
TAG_DDL = "Paimon 0.9 has no statements for tags, only procedures"
BY_NAME = "Paimon 0.9 takes the fields of a struct by their position"
MERGED_INTO = "Paimon 0.9 does not add or widen columns in MERGE"
ONLY_ADDED = "Paimon 0.9 does not know branch-merge.enabled"
CHAINS = "chain tables came after Paimon 0.9"
LEADING = "Paimon 0.9 drops partitions of which every column is given"
TIMELESS = "Paimon takes the version and does not look at it"
REPLACED = "Paimon 0.9 drops the replaced table with its snapshots, tags and branches"
METADATA = "Paimon 0.9 has the path and the row index only, and not in the conditions of changes"
CONSTRAINTS = "Spark 3.5 has no constraints"
FULL_SCANS = "read.allow.fullScan came after Paimon 0.9"
TEXTS = "Paimon 0.9 writes NULL for a text that is no value of the type, unless Spark's ANSI mode is on"
TEXTS_MERGED = "Paimon 0.9 does not cast texts in MERGE"
MAPS = "Paimon 0.9 does not cast maps in UPDATE"
POLICY = "Paimon 0.9 casts whatever the policy of Spark says"

RULES = [
    Difference(EVERY, r"(?i)\bsys\.max_pt\(", FAILS, "the function came after Paimon 0.9"),
    Difference(EVERY, r"\btotal_buckets\b", FAILS, "the column came after Paimon 0.9"),
    Difference(EVERY, r"\bWITH \('", FAILS, "Spark 3.5 does not know options after a table's name"),
    Difference(EVERY, r"\bWITH SCHEMA EVOLUTION\b", FAILS, "Spark 3.5 does not know the clause"),
    Difference(EVERY, r"^CREATE TABLE .* LIKE \w+", FAILS, LIKE),
    Difference(EVERY, r"^CREATE TABLE \w+ \(.*\bDEFAULT\b", FAILS, DEFAULTS),
    Difference(EVERY, r"^ALTER TABLE \w+ ALTER COLUMN \S+ (SET|DROP) DEFAULT\b", FAILS, DEFAULTS),
    Difference(EVERY, r"^ALTER TABLE \w+ (ADD|RENAME|DROP) COLUMNS? \(?\w+\.\w+", FAILS, NESTED),
    Difference(EVERY, r"^ALTER TABLE \w+ ALTER COLUMN \w+\.\S+ (TYPE|AFTER|FIRST)\b", FAILS, NESTED),
    Difference(EVERY, r"^COMMENT ON COLUMN\b", FAILS, "Spark 3.5 does not know the statement"),
    Difference(EVERY, r"^DESCRIBE PROCEDURE\b", FAILS, "Spark 3.5 does not know the statement"),
    Difference(EVERY, r"^DESCRIBE \w+ PARTITION\b", FAILS, "Spark 3.5 does not describe partitions of other catalogs"),
    Difference(EVERY, r"(?i)^ALTER TABLE t \w+( OR REPLACE)? TAG\b|^SHOW TAGS\b", FAILS, TAG_DDL),
    Difference(
        EVERY, r"\bpaimon_incremental_(between_timestamp|to_auto_tag)\(", FAILS, "the function came after Paimon 0.9"
    ),
    Difference(EVERY, r"\$(buckets|file_key_ranges|table_indexes)`", FAILS, "the system table came after Paimon 0.9"),
    Difference(
        EVERY,
        r"^SELECT partition, \w+ FROM `\S+\$partitions`",
        ROWS,
        "Paimon 0.9 writes partitions as [a], and has no versions",
    ),
    Difference(EVERY, r"\bpartition\b.*\$files`", ROWS, "Paimon 0.9 writes partitions as [a]"),
    Difference(EVERY, r"^SELECT \* FROM `\w+\$(tags|snapshots)` VERSION AS OF", PASSES, TIMELESS),
    Difference(EVERY, r"TIMESTAMP AS OF '1999-01-01'", PASSES, FIRST_SNAPSHOT),
    Difference(EVERY, r"^CALL sys\.(clear_consumers|compact_database|compact_manifest|expire_tags)\(", FAILS, LATER),
    Difference(EVERY, r"^CALL sys\.(merge_branch|purge_files|remove_unexisting_files|rename_branch)\(", FAILS, LATER),
    Difference(EVERY, r"^CALL sys\.(rename_tag|repair_earliest_snapshot|replace_tag|rescale)\(", FAILS, LATER),
    Difference(EVERY, r"^CALL sys\.rollback_to_timestamp\(", FAILS, LATER),
    Difference(EVERY, r"^CALL sys\.rollback\(", ROWS, "Paimon 0.9 gives true only"),
    Difference(EVERY, r"^CALL sys\.remove_orphan_files\(", ROWS, "Paimon 0.9 lists the files"),
]

ALL_COLUMNS = (
    "(id BIGINT NOT NULL COMMENT 'key', v VARCHAR(10), s STRUCT<a: INT, b: STRING>, m MAP<STRING, INT>, dt STRING)"
)
NESTED_COLUMNS = (
    "(id INT NOT NULL, v STRING, s STRUCT<n: STRUCT<y: STRING, x: INT>, b: BIGINT>, "
    "l ARRAY<STRUCT<p: INT, r: INT>>, m MAP<STRING, STRUCT<q: INT, w: INT>>)"
)
ASSIGN = (
    "CREATE TABLE t (id INT NOT NULL, v VARCHAR(3), s STRUCT<a: INT, b: STRUCT<c: INT, d: STRING>>, n INT, m DECIMAL(5, 2)) "
    "$PROPERTIES"
)
ASSIGNED = (
    "INSERT INTO t VALUES (1, 'a', named_struct('a', 10, 'b', named_struct('c', 2, 'd', 'y')), 1, 1.5), "
    "(2, 'b', named_struct('a', 0, 'b', named_struct('c', 0, 'd', '')), 2, NULL)"
)
FLAT_ROW = (
    "INSERT INTO j VALUES (1, 2, 1.5, 'ab', X'0102', TIMESTAMP_NTZ '2024-01-01 00:00:00.123456', "
    "TIMESTAMP '2024-01-01 00:00:00', NULL, 123456789012345678.0123456789, true)"
)
DESCRIBED = (
    "CREATE TABLE t (id BIGINT NOT NULL COMMENT 'key', v VARCHAR(10), c CHAR(2), "
    "s STRUCT<a: INT COMMENT 'in', b: ARRAY<STRING>>, dt STRING, hh INT) PARTITIONED BY (dt, hh) "
    "TBLPROPERTIES ('primary-key' = 'id,dt,hh', 'bucket' = '2')"
)
DAYS = "(id BIGINT NOT NULL COMMENT 'key', v STRING, dt STRING, hh INT) PARTITIONED BY (dt, hh)"

OF_FILES = [
    Difference(
        "alter",
        "ALTER TABLE t ADD COLUMN s.b STRING",
        FAILS,
        NESTED,
        then=(
            "DROP TABLE t",
            "CREATE TABLE t (id INT NOT NULL, n INT COMMENT 'nn', v STRING, s STRUCT<a: INT, b: STRING>, z DOUBLE) $PROPERTIES",
            "INSERT INTO t VALUES (1, NULL, 'a', named_struct('a', 1, 'b', NULL), NULL)",
        ),
    ),
    Difference(
        "alter",
        "SELECT * FROM t ORDER BY id",
        FAILS,
        "Paimon 0.9 cannot read files from before a field inside a struct got a comment",
        then=(
            "DROP TABLE t",
            "CREATE TABLE t (z DOUBLE, id INT NOT NULL, n BIGINT, s STRUCT<a: INT, b: STRING>, w STRING) $PROPERTIES",
            "INSERT INTO t VALUES (NULL, 1, NULL, NULL, 'a'), (2.5, 2, 20, NULL, 'b')",
        ),
    ),
    Difference("alter", "SELECT w FROM t WHERE id = 3", ROWS, DEFAULTS),
    Difference("alter", "ALTER TABLE t SET TBLPROPERTIES ('snapshot.num-retained.maxx'", PASSES, UNKNOWN),
    Difference("alter_nested", "INSERT INTO t VALUES (1, 'a', named_struct('a', 1", FAILS, DEEP),
    Difference(
        "alter_nested",
        "DESCRIBE t",
        ROWS,
        NESTED,
        then=(
            "DROP TABLE t",
            f"CREATE TABLE t {NESTED_COLUMNS} $PROPERTIES",
            "INSERT INTO t VALUES (1, 'a', NULL, NULL, NULL)",
        ),
    ),
    Difference("alter_nested", "SELECT * FROM t", FAILS, NULL_STRUCT),
    Difference(
        "alter_nested",
        "INSERT INTO t VALUES (2, 'b', named_struct('n'",
        FAILS,
        DEEP,
        then=("INSERT INTO t VALUES (2, 'b', NULL, NULL, NULL)",),
    ),
    Difference("alter_nested", "SELECT * FROM t ORDER BY id", FAILS, NULL_STRUCT),
    Difference(
        "alter_nested",
        "ALTER TABLE t ALTER COLUMN d TYPE DECIMAL(7, 2), v COMMENT 'words', z AFTER d",
        FAILS,
        "Spark 3.5 changes one column in a statement",
        then=(
            "ALTER TABLE t ALTER COLUMN d TYPE DECIMAL(7, 2)",
            "ALTER TABLE t ALTER COLUMN v COMMENT 'words'",
            "ALTER TABLE t ALTER COLUMN z AFTER d",
        ),
    ),
    Difference("alter_nested", "SELECT d, z, id, v FROM t ORDER BY id", ROWS, DEFAULTS),
    Difference(
        "alter_nested",
        "COMMENT ON COLUMN t.id IS 'the id'",
        FAILS,
        "Spark 3.5 does not know the statement",
        then=("ALTER TABLE t ALTER COLUMN id COMMENT 'the id'",),
    ),
    Difference("alter_nested", "ALTER TABLE t SET LOCATION", PASSES, UNKNOWN),
    Difference("alter_nested", "ALTER TABLE t SET TBLPROPERTIES ('primary_key' = 'v')", PASSES, UNDERSCORE),
    Difference("assign", "CREATE TABLE t (id INT NOT NULL, v VARCHAR(3), s STRUCT", FAILS, DEFAULTS, then=(ASSIGN,)),
    Difference(
        "assign",
        "UPDATE t SET s.a = 10, s.b.d = 'y' WHERE id = 1",
        FAILS,
        "Paimon 0.9 does not set two fields of a struct at once",
        then=(
            "DROP TABLE t",
            ASSIGN,
            ASSIGNED,
        ),
    ),
    Difference(
        "assign",
        "UPDATE t SET v = 'abcd' WHERE id = 1",
        PASSES,
        "Paimon 0.9 does not look at the length of a VARCHAR in UPDATE",
        then=("UPDATE t SET v = 'a' WHERE id = 1",),
    ),
    Difference("assign", "SELECT * FROM t ORDER BY id", ROWS, DEFAULTS, then=("UPDATE t SET n = 5 WHERE id = 2",)),
    Difference(
        "assign",
        "MERGE INTO t USING (SELECT * FROM VALUES (1, 100), (2, 200)",
        FAILS,
        "Paimon 0.9 does not resolve the target's name before a field of a struct in MERGE",
        then=(
            "UPDATE t SET s = named_struct('a', 100, 'b', named_struct('c', 2, 'd', 'y')), n = 5 WHERE id = 1",
            "UPDATE t SET s = named_struct('a', 1, 'b', named_struct('c', 200, 'd', 'z')) WHERE id = 2",
        ),
    ),
    Difference(
        "assign",
        "MERGE INTO t USING (SELECT 7 AS id)",
        FAILS,
        "Paimon 0.9 looks for the columns of INSERT in the source of MERGE",
    ),
    Difference(
        "assign", "MERGE INTO t USING (SELECT 8 AS id)", FAILS, "Paimon 0.9 wants all columns in INSERT of MERGE"
    ),
    Difference("assign", "SELECT * FROM t ORDER BY id", ROWS, "two statements above it failed", nth=3),
    Difference(
        "change",
        "MERGE INTO t USING (SELECT * FROM VALUES (1, 'new'), (2, NULL), (9, 'nine')",
        FAILS,
        BY_SOURCE,
        then=(
            "DELETE FROM t WHERE id = 2",
            "UPDATE t SET v = 'new' WHERE id = 1",
            "UPDATE t SET n = -1 WHERE id = 3",
            "INSERT INTO t VALUES (9, 'nine', NULL)",
        ),
    ),
    Difference(
        "change",
        "MERGE INTO t USING (SELECT * FROM VALUES (6), (6), (1)",
        FAILS,
        BY_SOURCE,
        then=("DELETE FROM t WHERE id IN (5, 9)",),
    ),
    Difference(
        "change",
        "MERGE INTO t USING (SELECT 1 AS id UNION ALL SELECT 1)",
        FAILS,
        "Spark lets several rows match when all of them only delete, Paimon does not",
        then=("DELETE FROM t WHERE id = 1",),
    ),
    Difference(
        "change-append",
        "MERGE INTO t USING t AS s",
        FAILS,
        "Paimon 0.9 does not merge an append table with itself",
        then=("UPDATE t SET n = n * 5 WHERE id = 3",),
    ),
    Difference(
        "change-bucketed",
        "MERGE INTO t USING t AS s",
        FAILS,
        "Paimon 0.9 does not merge an append table with itself",
        then=("UPDATE t SET n = n * 5 WHERE id = 3",),
    ),
    Difference(
        "create",
        "CREATE TABLE a (id BIGINT NOT NULL COMMENT 'key', v VARCHAR(10)",
        FAILS,
        DEFAULTS,
        then=(
            f"CREATE TABLE a {ALL_COLUMNS} PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'dt,id', 'bucket' = '2')",
        ),
    ),
    Difference(
        "create",
        "CREATE TABLE b LIKE a",
        FAILS,
        LIKE,
        then=(
            f"CREATE TABLE b {ALL_COLUMNS} PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'dt,id', 'bucket' = '2')",
        ),
    ),
    Difference("create", "CREATE TABLE e (id INT) LOCATION", PASSES, ELSEWHERE, then=("DROP TABLE e",)),
    Difference(
        "create", "CREATE TABLE e (id INT) TBLPROPERTIES ('bukcet' = '1')", PASSES, UNKNOWN, then=("DROP TABLE e",)
    ),
    Difference(
        "create",
        "CREATE TABLE e (id INT) TBLPROPERTIES ('primary-key' = 'id', 'primary_key' = 'id'",
        PASSES,
        UNDERSCORE,
        then=("DROP TABLE e",),
    ),
    Difference(
        "create_as",
        "CREATE TABLE a (id BIGINT NOT NULL COMMENT 'key'",
        FAILS,
        UNDERSCORE,
        then=(f"CREATE TABLE a {DAYS} TBLPROPERTIES ('primary-key' = 'id,dt,hh', 'bucket' = '1')",),
    ),
    Difference(
        "create_as",
        "CREATE TABLE b LIKE a",
        FAILS,
        LIKE,
        then=(f"CREATE TABLE b {DAYS} TBLPROPERTIES ('primary-key' = 'id,dt,hh', 'bucket' = '1')",),
    ),
    Difference(
        "create_as",
        "CREATE TABLE c LIKE a USING paimon",
        FAILS,
        LIKE,
        then=(f"CREATE TABLE c {DAYS} TBLPROPERTIES ('primary-key' = 'id,dt,hh', 'bucket' = '3')",),
    ),
    Difference(
        "create_as",
        "INSERT INTO j VALUES (1, 2, 1.5",
        FAILS,
        DEEP,
        then=(FLAT_ROW,),
    ),
    Difference("create_as", "SELECT a, b, c, d, e, f, string(g), h, i, k FROM j", ROWS, DEEP),
    Difference("create_as", "SELECT a FROM j WHERE d = 'ab'", ROWS, DEEP),
    Difference("create_as", "CREATE TABLE n (id INT) LOCATION", PASSES, ELSEWHERE, then=("DROP TABLE n",)),
    Difference(
        "create_as",
        "CREATE TABLE n (id INT) TBLPROPERTIES ('bukcet' = '1')",
        PASSES,
        UNKNOWN,
        then=("DROP TABLE n",),
    ),
    Difference("create_as", "CREATE EXTERNAL TABLE n (id INT)", PASSES, ELSEWHERE, then=("DROP TABLE n",)),
    Difference("databases", "COMMENT ON DATABASE words", FAILS, "Paimon 0.9 does not change databases"),
    Difference("databases", "ALTER DATABASE words SET DBPROPERTIES", FAILS, "Paimon 0.9 does not change databases"),
    Difference("databases", "ALTER DATABASE words UNSET DBPROPERTIES", FAILS, "Spark 3.5 does not know the statement"),
    Difference(
        "databases", "CREATE DATABASE `a.b`", PASSES, "Paimon does not look at the name, and $ and . split names"
    ),
    Difference(
        "databases", "CREATE DATABASE `a$b`", PASSES, "Paimon does not look at the name, and $ and . split names"
    ),
    Difference(
        "databases",
        "ALTER TABLE words.u RENAME TO nowhere.u",
        PASSES,
        "Paimon creates the database on the way",
        then=("CREATE TABLE words.u (id INT)",),
    ),
    Difference(
        "describe",
        "CREATE TABLE t (id BIGINT NOT NULL COMMENT 'key', v VARCHAR(10)",
        FAILS,
        DEFAULTS,
        then=(DESCRIBED,),
    ),
    Difference(
        "describe",
        "SHOW COLUMNS IN `t$branches`",
        ROWS,
        "Paimon 0.9 also tells what a branch was created from, which Paimon 2.0 does not any more",
    ),
    Difference("engines", "UPDATE p SET a = NULL WHERE id = 1", PASSES, PARTIAL),
    Difference("engines", "UPDATE p SET a = nullif(a, 3)", PASSES, PARTIAL),
    Difference(
        "engines",
        "DELETE FROM p WHERE id = 1",
        PASSES,
        DELETED,
        then=("INSERT OVERWRITE p VALUES (1, 3, 10), (2, 2, 2)",),
    ),
    Difference(
        "engines",
        "DELETE FROM p WHERE id IN (SELECT 1)",
        PASSES,
        DELETED,
        then=("INSERT OVERWRITE p VALUES (1, 3, 10), (2, 2, 2)",),
    ),
    Difference("engines", "MERGE INTO p USING (SELECT 1 AS id, 1 AS a, CAST(NULL AS INT) AS b)", PASSES, PARTIAL),
    Difference("engines", "UPDATE g SET a = 2", PASSES, GROUPS),
    Difference("engines", "MERGE INTO g USING (SELECT 1 AS id, 5 AS a, 6 AS s)", PASSES, GROUPS),
    Difference(
        "engines",
        "MERGE INTO p USING (SELECT 1 AS id, 5 AS a, 6 AS b)",
        PASSES,
        DELETED,
        then=("INSERT OVERWRITE p VALUES (1, 1, 10), (2, 2, 2)",),
    ),
    Difference("engines", "DELETE FROM i WHERE id = 1", PASSES, IGNORED),
    Difference("errors", "CALL sys.compact(table => 't', options => 'nope=1')", PASSES, UNKNOWN),
    Difference("global_tables", "SELECT table_name, key, value FROM sys.all_table_options", ROWS, OWNED),
    Difference("global_tables", "SELECT table_name, key, value FROM sys.all_table_options", ROWS, OWNED, nth=2),
    Difference("global_tables", "SELECT * FROM sys.all_table_options VERSION AS OF 1", PASSES, TIMELESS),
    Difference(
        "insert",
        "CREATE TABLE d (id INT NOT NULL, v STRING DEFAULT",
        FAILS,
        DEFAULTS,
        then=("CREATE TABLE d (id INT NOT NULL, v STRING, n DECIMAL(5, 2), d DATE, b BOOLEAN, c VARCHAR(3))",),
    ),
    Difference("insert", "SELECT * FROM d ORDER BY id", ROWS, DEFAULTS),
    Difference(
        "keyed_changes",
        "MERGE INTO k USING (SELECT 1 AS id, 'a' AS dt, 10 AS v) s",
        FAILS,
        "Paimon does not let a key column be set that ON does not compare, we do as long as it keeps its value",
        then=("UPDATE k SET v = 10 WHERE id = 1",),
    ),
    Difference("keyed_changes", "UPDATE p SET a = NULL", PASSES, PARTIAL),
    Difference(
        "merge_schema",
        "CREATE TABLE t (id INT NOT NULL, v STRING, n INT DEFAULT 5)",
        FAILS,
        DEFAULTS,
        then=("CREATE TABLE t (id INT NOT NULL, v STRING, n INT) $PROPERTIES",),
    ),
    Difference(
        "merge_schema",
        "INSERT INTO t BY NAME SELECT 2 AS id, 'b' AS v, 20 AS extra",
        FAILS,
        MERGED,
        nth=2,
        then=("ALTER TABLE t ADD COLUMN extra INT", "INSERT INTO t VALUES (2, 'b', 5, 20)"),
    ),
    Difference(
        "merge_schema",
        "INSERT INTO t SELECT 3, 'c', 3, 30, named_struct('k', 1) AS deep",
        FAILS,
        MERGED,
        then=(
            "ALTER TABLE t ADD COLUMNS (deep STRUCT<k: INT, l: STRING>, word STRING)",
            "INSERT INTO t VALUES (3, 'c', 3, 30, named_struct('k', 1, 'l', NULL), 'w')",
        ),
    ),
    Difference("merge_schema", "SELECT * FROM t ORDER BY id", ROWS, DEFAULTS, nth=2),
    Difference(
        "merge_schema",
        "INSERT INTO t BY NAME SELECT 5 AS id, 3000000000 AS n",
        FAILS,
        MERGED,
        then=("ALTER TABLE t ALTER COLUMN n TYPE BIGINT", "INSERT INTO t VALUES (5, NULL, 3000000000, 6, NULL, NULL)"),
    ),
    Difference(
        "merge_schema",
        "INSERT OVERWRITE t SELECT 7, 'g', 7L, 70, NULL, 'w', true AS flag",
        FAILS,
        MERGED,
        then=("ALTER TABLE t ADD COLUMN flag BOOLEAN", "INSERT OVERWRITE t VALUES (7, 'g', 7, 70, NULL, 'w', true)"),
    ),
    Difference(
        "merge_schema",
        "INSERT INTO t WITH ('write.merge-schema' = 'true') BY NAME SELECT 8",
        FAILS,
        MERGED,
        then=("ALTER TABLE t ADD COLUMN half DOUBLE", "INSERT INTO t BY NAME SELECT 8 AS id, 1.5D AS half"),
    ),
    Difference(
        "merge_schema",
        "INSERT WITH SCHEMA EVOLUTION INTO t",
        FAILS,
        MERGED,
        then=("ALTER TABLE t ADD COLUMN more INT", "INSERT INTO t BY NAME SELECT 9 AS id, 1 AS more"),
    ),
    Difference(
        "merge_schema",
        "MERGE WITH SCHEMA EVOLUTION INTO t",
        FAILS,
        MERGED,
        then=("ALTER TABLE t ADD COLUMN most STRING", "UPDATE t SET v = 'z', most = 'new' WHERE id = 9"),
    ),
    Difference(
        "options",
        "INSERT INTO t WITH ('commit.user-prefix' = 'mine')",
        FAILS,
        "Spark 3.5 does not know options after a table's name",
        then=("INSERT INTO t VALUES (3, 'c')",),
    ),
    Difference("options", "SELECT count(*) FROM u", ROWS, "Paimon 0.9 has no options of one table", nth=2),
    Difference("options", "SELECT count(*) FROM t", ROWS, "Paimon 0.9 has no options of one table", nth=5),
    Difference("options", "SELECT count(*) FROM t", PASSES, UNKNOWN, nth=8),
    Difference(
        "options",
        "SELECT id FROM paimon_incremental_query('t', 'first', '2')",
        FAILS,
        "Paimon 0.9 takes two tags or two snapshots",
    ),
    Difference(
        "options",
        "SELECT count(*) FROM `t$snapshots` WHERE commit_user LIKE",
        ROWS,
        "Spark 3.5 does not know options after a table's name",
    ),
    Difference(
        "partitions",
        "INSERT INTO t REPLACE WHERE d = DATE '2024-01-02' VALUES (30",
        FAILS,
        "Paimon 0.9 takes conditions with <=> only there",
        then=(
            "DELETE FROM t WHERE d = DATE '2024-01-02'",
            "INSERT INTO t VALUES (30, 'C', DATE '2024-01-02', 9)",
        ),
    ),
    Difference(
        "procedures",
        "CALL sys.compact(table => 't', partitions => 'dt=20240101')",
        FAILS,
        "Paimon 0.9 takes the value for a number, which it does not compare with a text",
        then=("CALL sys.compact(table => 't', where => \"dt = '20240101'\")",),
    ),
    Difference("procedures", "CALL sys.compact(table => 't', compact_strategy => 'minor'", FAILS, ARGUMENT),
    Difference(
        "procedures",
        "CALL sys.create_tag('t', 'one', 1)",
        PASSES,
        "Paimon 0.9 takes the same tag of the same snapshot twice",
        nth=2,
    ),
    Difference(
        "procedures",
        "CALL sys.rename_tag('t', 'one', 'first')",
        FAILS,
        LATER,
        then=("CALL sys.delete_tag('t', 'one')", "CALL sys.create_tag('t', 'first', 1)"),
    ),
    Difference(
        "procedures",
        "CALL sys.replace_tag(table => 't', tag => 'first', snapshot => 2)",
        FAILS,
        LATER,
        then=("CALL sys.delete_tag('t', 'first')", "CALL sys.create_tag('t', 'first', 2)"),
    ),
    Difference("procedures", "CALL sys.create_branch(table => 't', branch => 'dev', ignoreIfExists", FAILS, ARGUMENT),
    Difference(
        "procedures",
        "CALL sys.rename_branch('t', 'empty', 'void')",
        FAILS,
        LATER,
        then=("CALL sys.delete_branch('t', 'empty')", "CALL sys.create_branch('t', 'void')"),
    ),
    Difference(
        "procedures",
        "CALL sys.expire_partitions(table => 't', expiration_time => '1 d'",
        FAILS,
        ARGUMENT,
        then=("ALTER TABLE t DROP PARTITION (dt = '20200101')",),
    ),
    Difference(
        "procedures",
        "CALL sys.clear_consumers('t')",
        FAILS,
        LATER,
        then=("CALL sys.reset_consumer(table => 't', consumerId => 'c1')",),
    ),
    Difference(
        "procedures",
        "CALL sys.expire_snapshots(table => 't', retain_max => 1",
        ROWS,
        "Paimon's fast_forward takes over what the branch has for its earliest snapshot, and the first one is lost from sight",
    ),
    Difference("procedures", "CALL sys.merge_branch('a', 'b')", FAILS, LATER, then=("INSERT INTO a VALUES (2)",)),
    Difference(
        "upkeep",
        "INSERT INTO k VALUES (4, DATE '2024-01-02', 4)",
        PASSES,
        RESCALED,
        then=("ALTER TABLE k DROP PARTITION (d = DATE '2024-01-02')",),
    ),
    Difference(
        "upkeep", "CALL sys.mark_partition_done('k', 'd=tomorrow')", PASSES, "Paimon does not look at the value"
    ),
    Difference(
        "upkeep", "SELECT min(snapshot_id) FROM `k$snapshots`", ROWS, "repair_earliest_snapshot came after Paimon 0.9"
    ),
    Difference(
        "upkeep", "SELECT tag_name, snapshot_id FROM `k$tags`", ROWS, "repair_earliest_snapshot came after Paimon 0.9"
    ),
    Difference(
        "upkeep",
        "CALL sys.purge_files('k')",
        FAILS,
        LATER,
        then=("TRUNCATE TABLE k", "CALL sys.delete_tag('k', 'early')", "CALL sys.delete_branch('k', 'b')"),
    ),
    Difference("upkeep", "SELECT count(*) FROM `k$snapshots`", ROWS, "purge_files came after Paimon 0.9"),
    Difference(
        "upkeep",
        "CALL sys.clear_consumers('a', 'read.*', '')",
        FAILS,
        LATER,
        then=("CALL sys.reset_consumer(table => 'a', consumerId => 'reader')",),
    ),
    Difference(
        "sort", "SELECT commit_kind FROM `t$snapshots`", ROWS, "Paimon 0.9 overwrites the partitions that it sorts"
    ),
    Difference("chain_branches", "SELECT * FROM t WHERE dt = '20250102'", ROWS, CHAINS),
    Difference("chain_branches", "SELECT * FROM u WHERE dt = '20250102'", ROWS, CHAINS),
    Difference(
        "merge_into_schema",
        "UPDATE t SET s = named_struct('b', 'z', 'a', 10) WHERE id = 1",
        FAILS,
        BY_NAME,
        then=("UPDATE t SET s = named_struct('a', 10, 'b', 'z') WHERE id = 1",),
    ),
    Difference(
        "merge_into_schema",
        "MERGE INTO t USING (SELECT 2 AS id, named_struct('b', 'w', 'a', 20)",
        FAILS,
        BY_NAME,
        then=("UPDATE t SET s = named_struct('a', 20, 'b', 'w') WHERE id = 2",),
    ),
    Difference(
        "merge_into_schema",
        "MERGE INTO t USING (SELECT 2 AS ID, named_struct('c', 1L, 'a', 3) AS",
        FAILS,
        MERGED_INTO,
        then=("ALTER TABLE t ADD COLUMN extra INT", "UPDATE t SET extra = 5 WHERE id = 2"),
    ),
    Difference("merge_into_schema", "SELECT * FROM t ORDER BY id", ROWS, NESTED),
    Difference(
        "merge_into_schema",
        "MERGE INTO t USING (SELECT 3 AS id, 'c' AS v, 'more' AS more, 1 AS",
        FAILS,
        MERGED_INTO,
        then=(
            "ALTER TABLE t ADD COLUMN more STRING",
            "INSERT INTO t VALUES (3, 'c', NULL, NULL, 'more')",
            "UPDATE t SET v = 'gone' WHERE id = 1",
        ),
    ),
    Difference("merge_into_schema", "DESCRIBE t", ROWS, NESTED),
    Difference("merge_into_schema", "INSERT INTO deep VALUES (1, array(named_struct(", FAILS, DEEP),
    Difference("merge_into_schema", "SELECT l[0].a, l[0].b, l[0].c", FAILS, MERGED_INTO),
    Difference(
        "merge_into_schema",
        "MERGE INTO t USING (SELECT 3 AS id, 3000000000 AS extra) n",
        FAILS,
        MERGED_INTO,
        then=("ALTER TABLE t ALTER COLUMN extra TYPE BIGINT", "UPDATE t SET extra = 3000000000 WHERE id = 3"),
    ),
    Difference(
        "nested_defaults",
        "CREATE TABLE t (id INT, a ARRAY<INT> DEFAULT",
        FAILS,
        DEFAULTS,
        then=("CREATE TABLE t (id INT, a ARRAY<INT>, m MAP<STRING, INT>, s STRUCT<x: INT, y: STRING>)",),
    ),
    Difference("nested_defaults", "SELECT id, a[0], m['k'], s.x, s.y FROM t", ROWS, DEFAULTS),
    Difference(
        "partition_specs",
        "ALTER TABLE t DROP PARTITION (DAY = 'a')",
        FAILS,
        LEADING,
        then=("DELETE FROM t WHERE day = 'a'",),
    ),
    Difference("partition_specs", "ALTER TABLE t DROP PARTITION (day = 'nothing like it')", FAILS, LEADING),
    Difference("properties", "SELECT * FROM `t$options` ORDER BY key", ROWS, OWNED),
    Difference("properties", "SELECT key FROM `t$options` ORDER BY key", ROWS, OWNED),
    Difference("properties", "CREATE TABLE no (id INT) TBLPROPERTIES ('bukcet' = '2')", PASSES, UNKNOWN),
    Difference("properties", "ALTER TABLE t SET TBLPROPERTIES ('snapshot.num_retained.max'", PASSES, UNKNOWN),
    Difference("properties", "CALL sys.compact('only_added')", PASSES, ONLY_ADDED),
    Difference(
        "properties",
        "INSERT OVERWRITE only_added VALUES (9)",
        PASSES,
        ONLY_ADDED,
        then=("INSERT OVERWRITE only_added VALUES (1), (2)",),
    ),
    Difference(
        "properties",
        "DELETE FROM only_added WHERE id = 1",
        PASSES,
        ONLY_ADDED,
        then=("INSERT INTO only_added VALUES (1)",),
    ),
    Difference("tags", "SELECT tag_name, snapshot_id, time_retained FROM `t$TAGS`", ROWS, TAG_DDL),
    Difference("tags", "SELECT tag_name, snapshot_id, time_retained FROM `t$tags`", ROWS, TAG_DDL),
    Difference("tags", "SELECT count(*) FROM t VERSION AS OF 'd'", FAILS, TAG_DDL),
    Difference("replace", "SELECT id, data FROM t VERSION AS OF 1", FAILS, REPLACED),
    Difference("replace", "CREATE OR REPLACE TABLE t AS SELECT id + 1 AS n, data FROM t VERSION", FAILS, REPLACED),
    Difference("replace", "SELECT * FROM t", ROWS, REPLACED, nth=2),
    Difference("replace", "SELECT id, data FROM t VERSION AS OF 'kept'", FAILS, REPLACED),
    Difference("replace", "SELECT * FROM t", FAILS, REPLACED, nth=3),
    Difference("replace", "SELECT * FROM t VERSION AS OF 1", PASSES, REPLACED),
    Difference("replace", "CREATE TABLE s (id INT) STORED AS PARQUET", PASSES, REPLACED),
    Difference(
        "metadata_columns", "SELECT id, __paimon_row_index, __paimon_partition, __paimon_bucket", FAILS, METADATA
    ),
    Difference(
        "metadata_columns", "SELECT __paimon_partition.day, count(*) FROM t GROUP BY ALL ORDER BY 1", FAILS, METADATA
    ),
    Difference(
        "metadata_columns", "SELECT count(DISTINCT input_file_name()), min(input_file_name() =", FAILS, METADATA
    ),
    Difference(
        "metadata_columns", "SELECT count(*) FROM t WHERE startswith(input_file_name(), 'file:/')", ROWS, METADATA
    ),
    Difference("metadata_columns", "UPDATE t SET name = 'z' WHERE __paimon_row_index = 1", FAILS, METADATA),
    Difference("metadata_columns", "SELECT id, name FROM t ORDER BY id", ROWS, METADATA),
    Difference("metadata_columns", "DELETE FROM t WHERE __paimon_file_path LIKE '%day=y%'", FAILS, METADATA),
    Difference("metadata_columns", "SELECT id FROM t ORDER BY id", ROWS, METADATA),
    Difference(
        "metadata_columns", "MERGE INTO t USING (SELECT 1 AS n) s ON t.__paimon_row_index = s.n", FAILS, METADATA
    ),
    Difference("metadata_columns", "SELECT id, name FROM t ORDER BY id", ROWS, METADATA, nth=2),
    Difference("metadata_columns", "SELECT __paimon_file_path, __paimon_partition FROM empty", FAILS, METADATA),
    Difference(
        "metadata_columns", "SELECT __paimon_partition FROM (SELECT *, __paimon_partition FROM", FAILS, METADATA
    ),
    Difference("metadata_columns", "SELECT id, __paimon_bucket FROM keyed ORDER BY id", FAILS, METADATA),
    Difference("nested_defaults", "INSERT INTO typed (id) VALUES (1)", FAILS, DEFAULTS),
    Difference("nested_defaults", "SELECT n, m[99], t[9] FROM typed", FAILS, DEFAULTS),
    Difference("constraints", "CREATE TABLE a (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)", FAILS, CONSTRAINTS),
    Difference("constraints", "INSERT INTO a VALUES (1, 'a'), (2, 'b')", FAILS, CONSTRAINTS),
    Difference("constraints", "INSERT INTO a VALUES (1, 'c')", FAILS, CONSTRAINTS),
    Difference("constraints", "SELECT * FROM a", FAILS, CONSTRAINTS),
    Difference("constraints", "SHOW TBLPROPERTIES a ('primary-key')", FAILS, CONSTRAINTS),
    Difference("constraints", "CREATE TABLE b (id INT PRIMARY KEY, v STRING)", FAILS, CONSTRAINTS),
    Difference("constraints", "SHOW TBLPROPERTIES b ('primary-key')", FAILS, CONSTRAINTS),
    Difference(
        "constraints", "CREATE TABLE c (id INT, v STRING, dt STRING, CONSTRAINT k PRIMARY KEY", FAILS, CONSTRAINTS
    ),
    Difference("constraints", "SHOW TBLPROPERTIES c ('primary-key')", FAILS, CONSTRAINTS),
    Difference("constraints", "CREATE OR REPLACE TABLE b (id INT, v STRING, PRIMARY KEY (v, id))", FAILS, CONSTRAINTS),
    Difference("constraints", "SHOW TBLPROPERTIES b ('primary-key')", FAILS, CONSTRAINTS, nth=2),
    Difference("constraints", "CREATE TABLE d (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES", FAILS, CONSTRAINTS),
    Difference("full_scans", "SELECT * FROM t", PASSES, FULL_SCANS),
    Difference("full_scans", "SELECT count(*) FROM t WHERE p > 0", PASSES, FULL_SCANS),
    Difference("full_scans", "SELECT * FROM t WHERE id > 0", PASSES, FULL_SCANS),
    Difference("full_scans", "SELECT * FROM t", PASSES, FULL_SCANS, nth=6),
    Difference("nested_texts", "UPDATE t SET a = array('5'), m = map('6', '2024-03-03') WHERE id = 2", FAILS, MAPS),
    Difference("nested_texts", "UPDATE t SET s = named_struct('y', 'e', 'x', '10', 'z', NULL) WHERE", FAILS, BY_NAME),
    Difference("nested_texts", "SELECT * FROM t ORDER BY id", ROWS, MAPS, nth=2),
    Difference("nested_texts", "SELECT id, a, s FROM t WHERE id = 4", ROWS, MERGED),
    Difference("text_values", "MERGE INTO t USING (SELECT '2' AS i, '2030-01-01' AS e UNION ALL", FAILS, TEXTS_MERGED),
    Difference("text_values", "SELECT id, d, m, p FROM t WHERE id IN (2, 6) ORDER BY id", ROWS, TEXTS_MERGED),
    Difference("text_values-append", "INSERT INTO t (id, p) VALUES ('x', 1)", PASSES, TEXTS),
    Difference("text_values", "UPDATE t SET m = 'x' WHERE id = 1", PASSES, TEXTS),
    Difference("text_values", "INSERT INTO t (id, d, p) VALUES (8, '2024-13-01', 1)", PASSES, TEXTS),
    Difference("text_values", "INSERT INTO t (id, p) VALUES ('8', 1)", PASSES, POLICY),
    Difference("text_values", "SELECT count(*) FROM t", ROWS, TEXTS),
    Difference("errors", "INSERT INTO t VALUES (true, 'a', DATE '2024-01-01')", PASSES, POLICY),
    Difference("errors", "SELECT count(*) FROM t", ROWS, POLICY),
]

DIFFERENCES = RULES + OF_FILES
