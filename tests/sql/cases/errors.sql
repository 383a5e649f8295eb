CREATE TABLE t (id INT NOT NULL, v STRING, d DATE) PARTITIONED BY (d);
INSERT INTO t VALUES (1, 'a', DATE '2024-01-01');
SELECT nope FROM t;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
SELECT t.id.x FROM t;
--! INVALID_EXTRACT_BASE_FIELD_TYPE
SELECT * FROM nope;
--! TABLE_OR_VIEW_NOT_FOUND
SELECT * FROM nowhere.t;
--! TABLE_OR_VIEW_NOT_FOUND
SELECT * FROM nocatalog.db.t;
--! TABLE_OR_VIEW_NOT_FOUND
SELECT * FROM t WHERE id = 'x' + ;
--! PARSE_SYNTAX_ERROR
SELECT * FROM t WHERE v > 1 AND nope(v) = 2;
--! UNRESOLVED_ROUTINE
SELECT id FROM t GROUP BY v;
--! MISSING_AGGREGATION
SELECT * FROM `t$nope`;
--! unknown system table 'nope'
SELECT * FROM `t$branch_nope`;
--! has no branch 'nope'; its branches: main
SELECT * FROM `t$snapshots$files`;
--! is not a table name; after the table come $branch_<name> and $<system table>
SELECT * FROM `nope$snapshots`;
--! TABLE_OR_VIEW_NOT_FOUND
SELECT * FROM t WITH ('nope' = '1');
--! unknown option 'nope'
SELECT * FROM t WITH ('scan.snapshot-id' = 'x');
--! is 'x'; it must be a whole number of 64 bits
SELECT * FROM t WITH ('scan.snapshot-id' = '7');
--! snapshot 7 of table t does not exist; snapshots 1 to 1 exist
SELECT * FROM t WITH ('branch' = 'nope');
--! has no branch 'nope'; its branches: main
SELECT * FROM t WITH ('bucket' = '7');
--! is fixed in the table, so it cannot be given when opening it
SELECT * FROM t VERSION AS OF 7;
--! snapshot 7 of table t does not exist; snapshots 1 to 1 exist
SELECT * FROM t VERSION AS OF 'nope';
--! table t has no tag 'nope'; its tags: none
SELECT * FROM t TIMESTAMP AS OF 'x';
--! INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.INPUT
SELECT * FROM t TIMESTAMP AS OF '1999-01-01';
--! has no snapshot at or before
SELECT * FROM `t$snapshots` VERSION AS OF 1;
--! describes the whole history, so it has no versions; read it without one.
INSERT INTO nope VALUES (1);
--! TABLE_OR_VIEW_NOT_FOUND
INSERT INTO t VALUES (1);
--! INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS
INSERT INTO t VALUES (1, 'a', DATE '2024-01-01', 2);
--! INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS
INSERT INTO t VALUES ('x', 'a', DATE '2024-01-01');
--! CAST_INVALID_INPUT
INSERT INTO t VALUES (true, 'a', DATE '2024-01-01');
--! INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST
INSERT INTO t VALUES (3000000000, 'a', DATE '2024-01-01');
--! CAST_OVERFLOW_IN_TABLE_INSERT
INSERT INTO t VALUES (NULL, 'a', DATE '2024-01-01');
--! NOT_NULL_ASSERT_VIOLATION
INSERT INTO t VALUES (1, 'a', 5);
--! INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST
INSERT INTO t (id, id) VALUES (1, 2);
--! COLUMN_ALREADY_EXISTS
INSERT INTO t (id, nope) VALUES (1, 2);
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
INSERT INTO t (v) VALUES ('x');
--! INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA
INSERT INTO t BY NAME SELECT 1 AS id, 2 AS nope;
--! INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS
INSERT INTO t PARTITION (nope = 1) VALUES (1, 'a');
--! NON_PARTITION_COLUMN
INSERT INTO t PARTITION (d = 'x') VALUES (1, 'a');
--! CAST_INVALID_INPUT
INSERT INTO t WITH ('nope' = '1') VALUES (1, 'a', NULL);
--! unknown option 'nope'
INSERT INTO t REPLACE WHERE id = 1 VALUES (1, 'a', NULL);
--! rows are replaced by partition; name values of partition columns (d), or
INSERT INTO `t$files` SELECT * FROM `t$files`;
--! does not support append in batch mode
INSERT INTO t SELECT id, v, raise_error('no rows') FROM t;
--! USER_RAISED_EXCEPTION
DELETE FROM nope;
--! TABLE_OR_VIEW_NOT_FOUND
DELETE FROM t WHERE nope = 1;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
DELETE FROM t WHERE rand() < 0.5;
--! INVALID_NON_DETERMINISTIC_EXPRESSIONS
DELETE FROM `t$files`;
--! Table does not support deletes
UPDATE nope SET id = 1;
--! TABLE_OR_VIEW_NOT_FOUND
UPDATE t SET nope = 1;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
UPDATE t SET id = NULL;
--! NOT_NULL_ASSERT_VIOLATION
UPDATE t SET v = 'a', v = 'b';
--! Multiple assignments for 'v'
UPDATE t SET id = DATE '2024-01-01';
--! DATATYPE_MISMATCH.CAST_WITH_FUNC_SUGGESTION
UPDATE `t$files` SET level = 1;
--! does not support UPDATE TABLE
MERGE INTO nope USING t ON true WHEN MATCHED THEN DELETE;
--! TABLE_OR_VIEW_NOT_FOUND
MERGE INTO t USING nope ON true WHEN MATCHED THEN DELETE;
--! TABLE_OR_VIEW_NOT_FOUND
MERGE INTO t USING (SELECT 1 AS x) s ON t.id = s.nope WHEN MATCHED THEN DELETE;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
MERGE INTO t USING (SELECT 1 AS x) s ON t.id = s.x WHEN MATCHED THEN UPDATE SET nope = 1;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
MERGE INTO t USING (SELECT 1 AS x) s ON t.id = s.x WHEN MATCHED THEN UPDATE SET *;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
MERGE INTO t USING (SELECT 1 AS x) s ON t.id = s.x WHEN NOT MATCHED THEN INSERT *;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
MERGE INTO t USING (SELECT 1 AS x) s ON t.id = s.x WHEN NOT MATCHED THEN INSERT (v) VALUES ('a');
--! No assignment for 'id'
MERGE INTO t USING (SELECT 1 AS x) s ON t.id = s.x WHEN MATCHED THEN UPDATE SET id = DATE '2024-01-01';
--! DATATYPE_MISMATCH.CAST_WITH_FUNC_SUGGESTION
MERGE INTO t USING (SELECT 1 AS x) s ON t.id = s.x;
--! MERGE_WITHOUT_WHEN
MERGE INTO `t$files` f USING t ON true WHEN MATCHED THEN DELETE;
--! does not support MERGE INTO TABLE
TRUNCATE TABLE nope;
--! TABLE_OR_VIEW_NOT_FOUND
TRUNCATE TABLE `t$files`;
--! Table does not support truncates
TRUNCATE TABLE t PARTITION (nope = 1);
--! PARTITIONS_NOT_FOUND
ALTER TABLE t DROP PARTITION (nope = 1);
--! unknown partition column 'nope' in table
ALTER TABLE t DROP PARTITION (d = DATE '1999-01-01');
--! write DROP IF EXISTS PARTITION to ignore that
ALTER TABLE t ADD PARTITION (d = DATE '1999-01-01');
--! partitions cannot be created, renamed or given properties; a partition exists if it has rows
ALTER TABLE t PARTITION (d = DATE '2024-01-01') RENAME TO PARTITION (d = DATE '2025-01-01');
--! partitions cannot be created, renamed or given properties; a partition exists if it has rows
ALTER TABLE `t$files` ADD COLUMN x INT;
--! is a system table; it can only be read
DROP TABLE `t$files`;
--! give the plain name of the table to drop, without a $
DROP TABLE nope;
--! TABLE_OR_VIEW_NOT_FOUND
DROP VIEW t;
--@ 4.2 older ones say it in other words
--! MISSING_CATALOG_ABILITY.VIEWS
CALL sys.nope('t');
--! unknown procedure 'nope' in sys
CALL sys.compat('t');
--! unknown procedure 'compat' in sys; did you mean 'compact'?
CALL nope.compact('t');
--! procedures of this catalog are in 'sys': CALL sys.compact(...)
CALL sys.compact();
--! REQUIRED_PARAMETER_NOT_FOUND
CALL sys.compact(tabel => 't');
--! UNRECOGNIZED_PARAMETER_NAME
CALL sys.compact('t', 't', 't', 't', 't', 't', 't', 't', 't', 't');
--! WRONG_NUM_ARGS.WITHOUT_SUGGESTION
CALL sys.compact(table => 'nope');
--! unknown table 'nope' in database
CALL sys.compact(table => 'a.b.c.d');
--! 'a.b.c.d' is not the name of a table; write it as database.table
CALL sys.compact(table => 't$files');
--! t$files is a system table; procedures are for tables
CALL sys.compact(table => 't', table => 't');
--! DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.DOUBLE_NAMED_ARGUMENT_REFERENCE
CALL sys.compact(table => NULL);
--! procedure compact: argument table must not be null
CALL sys.compact(table => 't', options => 'nope=1');
--! unknown option 'nope'
CALL sys.compact(table => 't', options => 'nope');
--! argument options must be like key=value,key=value, not 'nope'
CALL sys.create_tag(table => 't', tag => 'a', snapshot => 'x');
--! CAST_INVALID_INPUT
CALL sys.create_tag(table => 't', tag => 'a', snapshot => 99);
--! snapshot 99 of table t does not exist; snapshots 1 to 1 exist
CALL sys.create_tag(table => 't', tag => 'a', time_retained => 'long');
--! time_retained is 'long'; give a length of time such as '7 d', or a timedelta
CALL sys.create_tag(table => 't', tag => '');
--! '' cannot be the name of a tag: it must be a text that is not blank, does not
CALL sys.remove_orphan_files(table => 't', dry_run => 'maybe');
--! CAST_INVALID_INPUT
SELECT count(*) FROM t;
--> 1
