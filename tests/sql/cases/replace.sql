CREATE TABLE t (id BIGINT, data STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2');
INSERT INTO t VALUES (1, 'old');
CALL sys.create_tag('t', 'kept');
REPLACE TABLE t (id STRING, amount INT) TBLPROPERTIES ('bucket' = '-1');
SELECT * FROM t;
--> nothing
SELECT id, data FROM t VERSION AS OF 1;
--> 1 | old
CREATE OR REPLACE TABLE t AS SELECT id + 1 AS n, data FROM t VERSION AS OF 'kept';
SELECT * FROM t;
--> 2 | old
SELECT id, data FROM t VERSION AS OF 'kept';
--> 1 | old
CREATE OR REPLACE TABLE t AS SELECT CAST(raise_error('no rows') AS INT) AS x;
--! no rows
SELECT * FROM t;
--> 2 | old
CREATE OR REPLACE TABLE t (id INT, p STRING) PARTITIONED BY (p);
SELECT * FROM t VERSION AS OF 1;
--! snapshot 1 of table t does not exist
CREATE TABLE s (id INT) STORED AS PARQUET;
--! STORED AS
CREATE TABLE s LIKE t STORED AS PARQUET;
--@ 4.2 Spark passes no CREATE TABLE LIKE on before
--! STORED AS
