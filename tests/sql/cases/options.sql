CREATE TABLE t (id INT, v STRING);
INSERT INTO t VALUES (1, 'a');
INSERT INTO t VALUES (2, 'b');
CREATE TABLE u (id INT);
INSERT INTO u VALUES (1);
INSERT INTO u VALUES (2);
CALL sys.create_tag('t', 'first', 1);
--> true
SET `spark.paimon.scan.snapshot-id`=1;
SELECT count(*) FROM t;
--> 1
SELECT count(*) FROM u;
--> 1
SELECT count(*) FROM `t$snapshots`;
--> 2
SELECT count(*) FROM t VERSION AS OF 2;
--> 2
RESET `spark.paimon.scan.snapshot-id`;
SELECT count(*) FROM t;
--> 2
SET `spark.paimon.*.*.u.scan.snapshot-id`=1;
SELECT count(*) FROM t;
--> 2
SELECT count(*) FROM u;
--> 1
RESET `spark.paimon.*.*.u.scan.snapshot-id`;
SET `spark.paimon.lakebed.*.t.scan.tag-name`=first;
SELECT count(*) FROM t;
--> 1
SELECT count(*) FROM u;
--> 2
RESET `spark.paimon.lakebed.*.t.scan.tag-name`;
SET `spark.paimon.elsewhere.*.t.scan.tag-name`=first;
SELECT count(*) FROM t;
--> 2
RESET `spark.paimon.elsewhere.*.t.scan.tag-name`;
SET `spark.paimon.lakebed.nope.t.scan.tag-name`=first;
SELECT count(*) FROM t;
--> 2
RESET `spark.paimon.lakebed.nope.t.scan.tag-name`;
SET `spark.paimon.scan.version`=first;
SELECT * FROM t;
--> 1 | a
RESET `spark.paimon.scan.version`;
SET `spark.paimon.nope`=1;
SELECT count(*) FROM t;
--! unknown option 'nope'
RESET `spark.paimon.nope`;
SET `spark.paimon.scan.snapshot-id`=x;
SELECT count(*) FROM t;
--! is 'x'; it must be a whole number of 64 bits
RESET `spark.paimon.scan.snapshot-id`;
SELECT * FROM t WITH ('scan.snapshot-id' = '1');
--> 1 | a
SELECT a.id, b.id FROM t WITH ('scan.snapshot-id' = '1') a CROSS JOIN t WITH ('scan.snapshot-id' = '2') b ORDER BY b.id;
--> 1 | 1
--> 1 | 2
SELECT t.id, t.v FROM t WITH ('scan.snapshot-id' = '1') WHERE t.id > 0;
--> 1 | a
WITH old AS (SELECT * FROM t WITH ('scan.snapshot-id' = '1')) SELECT t.id FROM t LEFT ANTI JOIN old ON t.id = old.id;
--> 2
SELECT (SELECT count(*) FROM t WITH ('scan.snapshot-id' = '1')), (SELECT count(*) FROM t), (SELECT count(*) FROM t WITH ('incremental-between' = '0,2'));
--> 1 | 2 | 2
SELECT id FROM t WHERE id NOT IN (SELECT id FROM t WITH ('scan.tag-name' = 'first'));
--> 2
SELECT a.id FROM paimon_incremental_query('t', 0, 1) a UNION ALL SELECT b.id + 10 FROM paimon_incremental_query('t', 1, 2) b;
--> 1
--> 12
SELECT * FROM nope WITH ('scan.snapshot-id' = '1');
--! TABLE_OR_VIEW_NOT_FOUND
SELECT count(*) FROM t WITH ('scan.watermark' = '1');
--! has no snapshot with a watermark of at least 1
SELECT count(*) FROM t VERSION AS OF 'watermark-1';
--! has no snapshot with a watermark of at least 1
SELECT count(*) FROM t WITH ('incremental-between' = '1,2');
--> 1
SELECT count(*) FROM t WITH ('incremental-between' = '2,1');
--! since is snapshot 2, which is after until, snapshot 1; exchange the two
SELECT count(*) FROM t WITH ('scan.timestamp-millis' = '4102444800000');
--> 2
SELECT count(*) FROM t WITH ('scan.timestamp' = '2099-01-01 00:00:00');
--> 2
SELECT count(*) FROM t WITH ('scan.snapshot-id' = '1', 'scan.tag-name' = 'first');
--! give at most one of version=, timestamp= and tag=
SELECT id FROM paimon_incremental_query('t', 'first', '2');
--> 2
SELECT id FROM paimon_incremental_query('t', 0, 2) ORDER BY id;
--> 1
--> 2
SELECT count(*) FROM paimon_incremental_between_timestamp('t', '1970-01-02 00:00:00', '2099-01-01 00:00:00');
--> 2
SELECT count(*) FROM paimon_incremental_to_auto_tag('t', '2024-01-01');
--> 0
SELECT id FROM paimon_incremental_query(CONCAT('', 't'), 1, 1 + 1);
--> 2
SELECT p.id FROM paimon_incremental_query('t', 1, 2) p JOIN u ON p.id = u.id;
--> 2
SELECT * FROM paimon_incremental_query('t');
--! paimon_incremental_query takes the name of a table and the interval to read
SELECT * FROM paimon_incremental_query('t', 1, 2, 3);
--! option 'incremental-between' must be of the form start,end, not '1,2,3'
SELECT * FROM paimon_incremental_query('t', 1, 9);
--! has no snapshot 9; its latest is 2
SELECT * FROM paimon_incremental_query('nope', 1, 2);
--! TABLE_OR_VIEW_NOT_FOUND
SELECT * FROM paimon_incremental_query('t', rand(), 2);
--! paimon_incremental_query takes constants, not rand()
SELECT * FROM paimon_incremental_between_timestamp('t', 'x', 'y');
--! option 'incremental-between-timestamp' is 'x', which is not a time; give one such as
SELECT * FROM paimon_incremental_nope('t', 1, 2);
--! MISSING_CATALOG_ABILITY.TABLE_VALUED_FUNCTIONS
CREATE TABLE w (id INT) TBLPROPERTIES ('scan.snapshot-id' = '1');
INSERT INTO t WITH ('commit.user-prefix' = 'mine') VALUES (3, 'c');
SELECT count(*) FROM `t$snapshots` WHERE commit_user LIKE 'mine%';
--> 1
