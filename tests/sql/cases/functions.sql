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
CREATE TABLE days (id INT) PARTITIONED BY (dt DATE, region STRING);
SELECT sys.max_pt('days');
--! has no rows in a partition
INSERT INTO days VALUES (1, DATE '2024-01-31', 'eu'), (2, DATE '2024-02-01', 'eu'), (3, DATE '2024-02-01', 'us'), (4, NULL, 'us');
SELECT sys.max_pt('days');
--> 2024-02-01
SELECT id FROM days WHERE dt = sys.MAX_PT('days') ORDER BY id;
--> 2
--> 3
DELETE FROM days WHERE dt = sys.max_pt('days');
SELECT sys.max_pt('days') AS newest, count(*) FROM days;
--> 2024-01-31 | 2
CREATE TABLE hours (id INT) PARTITIONED BY (h INT);
INSERT INTO hours VALUES (1, 9), (2, 10);
SELECT id FROM hours WHERE h = sys.max_pt('hours');
--> 2
SELECT sys.max_pt('t');
--! is not partitioned, so it has no largest partition
SELECT sys.max_pt('nope');
--! unknown table 'nope'
SELECT sys.max_pt(region) FROM days;
--! function max_pt takes a constant, not a column: sys.max_pt('db.t')
SELECT id FROM days WHERE region = sys.max_pt(concat(region, 's'));
--! takes a constant
SELECT sys.max_pt(concat('da', 'ys'));
--> 2024-01-31
SELECT sys.max_pt(7);
--! takes the name of a table: sys.max_pt('db.t')
SELECT sys.nope('t');
--! UNRESOLVED_ROUTINE
