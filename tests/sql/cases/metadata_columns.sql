CREATE TABLE t (id INT, name STRING, day STRING) PARTITIONED BY (day);
INSERT INTO t SELECT id, chr(96 + id), 'x' FROM range(1, 3, 1, 1);
INSERT INTO t VALUES (3, 'c', 'y');
SELECT id, __paimon_row_index, __paimon_partition, __paimon_bucket FROM t ORDER BY id;
--> 1 | 0 | [x] | 0
--> 2 | 1 | [x] | 0
--> 3 | 0 | [y] | 0
SELECT __paimon_row_index FROM t WHERE id > 1 ORDER BY id;
--> 1
--> 0
SELECT count(*) FROM (SELECT DISTINCT __paimon_file_path AS f FROM t) JOIN `t$files` ON endswith(f, file_path);
--> 2
SELECT id FROM t WHERE __paimon_row_index = 1;
--> 2
SELECT __paimon_partition.day, count(*) FROM t GROUP BY ALL ORDER BY 1;
--> x | 2
--> y | 1
SELECT * FROM t ORDER BY id LIMIT 1;
--> 1 | a | x
SELECT x.id, y.id FROM t x JOIN t y ON x.__paimon_file_path = y.__paimon_file_path AND x.id < y.id;
--> 1 | 2
SELECT count(DISTINCT __paimon_file_path) FROM t VERSION AS OF 1;
--> 1
SELECT count(DISTINCT input_file_name()), min(input_file_name() = __paimon_file_path) FROM t;
--> 2 | true
SELECT id, endswith(input_file_name(), '.parquet') FROM (SELECT * FROM t WHERE id > 1) ORDER BY id;
--> 2 | true
--> 3 | true
SELECT count(*) FROM t WHERE startswith(input_file_name(), 'file:/');
--> 3
UPDATE t SET name = 'z' WHERE __paimon_row_index = 1;
SELECT id, name FROM t ORDER BY id;
--> 1 | a
--> 2 | z
--> 3 | c
DELETE FROM t WHERE __paimon_file_path LIKE '%day=y%';
SELECT id FROM t ORDER BY id;
--> 1
--> 2
MERGE INTO t USING (SELECT 1 AS n) s ON t.__paimon_row_index = s.n WHEN MATCHED THEN UPDATE SET name = 'm' WHEN NOT MATCHED THEN INSERT (id, name, day) VALUES (9, 'n', 'w');
SELECT id, name FROM t ORDER BY id;
--> 1 | a
--> 2 | m
UPDATE t SET __paimon_bucket = 1;
--! column '__paimon_bucket' says where a row is stored; it cannot be set
MERGE INTO t USING (SELECT 1 AS n) s ON t.id = s.n WHEN MATCHED THEN UPDATE SET t.__paimon_bucket = 1;
--! cannot be set
CREATE TABLE vectors (id INT, name STRING) TBLPROPERTIES ('deletion-vectors.enabled' = 'true');
INSERT INTO vectors VALUES (1, 'a'), (2, 'b'), (3, 'c');
CALL sys.compact('vectors');
CREATE TABLE empty (id INT);
SELECT __paimon_file_path, __paimon_partition FROM empty;
--> nothing
SELECT __paimon_partition FROM (SELECT *, __paimon_partition FROM vectors) LIMIT 1;
--> []
CREATE TABLE keyed (id INT, name STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1');
INSERT INTO keyed SELECT id, chr(96 + id) FROM range(1, 3, 1, 1);
SELECT id, __paimon_row_index FROM keyed ORDER BY id;
--> 1 | 0
--> 2 | 1
INSERT INTO keyed VALUES (2, 'c');
SELECT id, __paimon_row_index FROM keyed;
--! rows that are merged from several files have no metadata columns
SELECT id FROM keyed WHERE input_file_name() = 'x';
--> nothing
CALL sys.compact('keyed');
SELECT id, __paimon_bucket FROM keyed ORDER BY id;
--> 1 | 0
--> 2 | 0
CREATE TABLE marked (id INT, name STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'deletion-vectors.enabled' = 'true');
INSERT INTO marked SELECT id, chr(96 + id) FROM range(1, 3, 1, 1);
INSERT INTO marked VALUES (1, 'c');
SELECT id, name, __paimon_row_index FROM marked ORDER BY id;
--> 1 | c | 0
--> 2 | b | 1
CREATE TABLE own (__paimon_bucket STRING);
INSERT INTO own VALUES ('mine');
SELECT __paimon_bucket, __paimon_row_index FROM own;
--> mine | 0
