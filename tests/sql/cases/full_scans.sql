-- kinds: append, keyed
CREATE TABLE t (id INT, p INT) PARTITIONED BY (p) $PROPERTIES[p];
CREATE TABLE whole (id INT);
INSERT INTO t VALUES (1, 1), (2, 2);
INSERT INTO whole VALUES (1);
SET `spark.paimon.read.allow.fullScan`=false;
SELECT * FROM whole;
--> 1
SELECT * FROM t;
--! the query would read all 2 partitions. Full scan is not supported
SELECT count(*) FROM t WHERE p > 0;
--! set 'read.allow.fullScan' to true
SELECT * FROM t WHERE id > 0;
--! Full scan is not supported
SELECT * FROM t WHERE p > 1;
--> 2 | 2
SELECT * FROM t WHERE p = sys.max_pt('t');
--> 2 | 2
SELECT * FROM t WHERE p = 3;
--> nothing
SELECT * FROM paimon_incremental_query('t', 0, 1) ORDER BY id;
--> 1 | 1
--> 2 | 2
SELECT count(*) FROM `t$files`;
--> 2
INSERT INTO t VALUES (3, 3);
DELETE FROM t WHERE p = 3;
RESET `spark.paimon.read.allow.fullScan`;
ALTER TABLE t SET TBLPROPERTIES ('read.allow.fullScan' = 'false');
SELECT * FROM t;
--! Full scan is not supported
SELECT count(*) FROM t WITH ('read.allow.fullScan' = 'true');
--> 2
