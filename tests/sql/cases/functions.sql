CREATE TABLE t (id INT, v STRING);
INSERT INTO t VALUES (1, 'a');
INSERT INTO t VALUES (2, 'b');
INSERT INTO t VALUES (3, 'c');
SELECT * FROM paimon_incremental_query('t', 1, 3) ORDER BY id;
--> 2 | b
--> 3 | c
SELECT id FROM paimon_incremental_query('t', '0', '1') WHERE v = 'a';
--> 1
SELECT count(*) FROM paimon_incremental_between_timestamp('t', '0', '4102444800000');
--> 3
SELECT * FROM paimon_incremental_query('nope', 1, 3);
--! TABLE_OR_VIEW_NOT_FOUND
SELECT * FROM paimon_incremental_query('t', 1, 9);
--! 9
SELECT * FROM paimon_incremental_query('t');
--! takes the name of a table
SET `spark.paimon.scan.snapshot-id`=1;
SELECT count(*) FROM t;
--> 1
RESET `spark.paimon.scan.snapshot-id`;
SELECT count(*) FROM t;
--> 3
