CREATE TABLE t (id BIGINT NOT NULL COMMENT 'key', v VARCHAR(10) DEFAULT 'x', c CHAR(2), s STRUCT<a: INT COMMENT 'in', b: ARRAY<STRING>>, dt STRING, hh INT)
  PARTITIONED BY (dt, hh) COMMENT 'hello' TBLPROPERTIES ('primary-key' = 'id,dt,hh', 'bucket' = '2');
DESCRIBE t;
--> id | bigint | key
--> v | varchar(10) | NULL
--> c | char(2) | NULL
--> s | struct<a:int,b:array<string>> | NULL
--> dt | string | NULL
--> hh | int | NULL
--> # Partition Information |  | 
--> # col_name | data_type | comment
--> dt | string | NULL
--> hh | int | NULL
DESC TABLE t;
--> id | bigint | key
--> v | varchar(10) | NULL
--> c | char(2) | NULL
--> s | struct<a:int,b:array<string>> | NULL
--> dt | string | NULL
--> hh | int | NULL
--> # Partition Information |  | 
--> # col_name | data_type | comment
--> dt | string | NULL
--> hh | int | NULL
DESCRIBE t id;
--> col_name | id
--> data_type | bigint
--> comment | key
DESCRIBE EXTENDED t id;
--> col_name | id
--> data_type | bigint
--> comment | key
DESCRIBE t s.a;
--! DESC TABLE COLUMN does not support nested column: s.a.
DESCRIBE t nope;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
DESCRIBE nope;
--! TABLE_OR_VIEW_NOT_FOUND
DESCRIBE QUERY SELECT id, upper(v) AS u FROM t;
--> id | bigint | key
--> u | string | NULL
DESCRIBE t PARTITION (dt = 'a', hh = 1);
--@ 4.2 older ones describe no partitions of catalogs
--! PARTITIONS_NOT_FOUND
DESCRIBE t PARTITION (dt = 'a');
--@ 4.2 older ones describe no partitions of catalogs
--! Partition spec is invalid
SHOW COLUMNS IN t;
--> id
--> v
--> c
--> s
--> dt
--> hh
SHOW COLUMNS FROM nope;
--! TABLE_OR_VIEW_NOT_FOUND
SHOW TBLPROPERTIES t ('primary-key');
--> primary-key | id,dt,hh
SHOW TBLPROPERTIES t ('bucket');
--> bucket | 2
SHOW TBLPROPERTIES t ('nope');
SHOW TBLPROPERTIES nope;
--! TABLE_OR_VIEW_NOT_FOUND
SHOW PARTITIONS t;
--> nothing
INSERT INTO t (id, dt, hh) VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 1);
SHOW PARTITIONS t;
--> dt=a/hh=1
--> dt=a/hh=2
--> dt=b/hh=1
SHOW PARTITIONS t PARTITION (dt = 'a');
--> dt=a/hh=1
--> dt=a/hh=2
SHOW PARTITIONS t PARTITION (hh = 1);
--> dt=a/hh=1
--> dt=b/hh=1
SHOW PARTITIONS t PARTITION (nope = 1);
--! PARTITIONS_NOT_FOUND
DESCRIBE t PARTITION (dt = 'a', hh = 1);
--@ 4.2 older ones describe no partitions of catalogs
--> id | bigint | key
--> v | varchar(10) | NULL
--> c | char(2) | NULL
--> s | struct<a:int,b:array<string>> | NULL
--> dt | string | NULL
--> hh | int | NULL
--> # Partition Information |  | 
--> # col_name | data_type | comment
--> dt | string | NULL
--> hh | int | NULL
SHOW CREATE TABLE nope;
--! TABLE_OR_VIEW_NOT_FOUND
SHOW CREATE TABLE t;
CREATE TABLE u (id INT);
SHOW PARTITIONS u;
--! INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY
SHOW TABLES;
SHOW TABLES LIKE 't|x';
SHOW VIEWS;
--! MISSING_CATALOG_ABILITY.VIEWS
CREATE VIEW v AS SELECT 1;
--! MISSING_CATALOG_ABILITY.VIEWS
CREATE TEMPORARY VIEW seen AS SELECT id FROM t WHERE hh = 1;
SELECT * FROM seen ORDER BY id;
--> 1
--> 3
DROP VIEW seen;
SHOW PROCEDURES LIKE 'rollback*';
--! PARSE_SYNTAX_ERROR
DESCRIBE PROCEDURE sys.rollback;
--> Procedure:   rollback
--> Description: sys.rollback(table, version?, snapshot?, tag?)
DESCRIBE PROCEDURE sys.nope;
--! unknown procedure 'nope' in sys
DESCRIBE `t$tags`;
--> tag_name | string | NULL
--> snapshot_id | bigint | NULL
--> schema_id | bigint | NULL
--> commit_time | timestamp_ntz | NULL
--> record_count | bigint | NULL
--> create_time | timestamp_ntz | NULL
--> time_retained | string | NULL
SHOW COLUMNS IN `t$branches`;
--> branch_name
--> create_time
SHOW TBLPROPERTIES `t$tags`;
--> nothing
REFRESH TABLE t;
CACHE TABLE t;
SELECT count(*) FROM t;
--> 3
UNCACHE TABLE t;
SELECT current_catalog();
--> lakebed
