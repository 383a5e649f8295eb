-- kinds: append, keyed
CREATE TABLE t (id INT NOT NULL, day STRING NOT NULL, hour INT NOT NULL) PARTITIONED BY (day, hour) $PROPERTIES[day,hour];
INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 1), (4, 'b', 2), (5, 'c', 1), (6, 'd', 1), (7, 'd', 2);
ALTER TABLE t DROP PARTITION (day = 'c', hour = 1), PARTITION (day = 'zz', hour = 1);
--! partition day=zz/hour=1 of table
SELECT count(*) FROM t;
--> 7
ALTER TABLE t DROP IF EXISTS PARTITION (day = 'c', hour = 1), PARTITION (day = 'zz', hour = 1);
ALTER TABLE t DROP PARTITION (DAY = 'a');
ALTER TABLE t DROP PARTITION (day = 'nothing like it');
SHOW PARTITIONS t;
--> day=b/hour=1
--> day=b/hour=2
--> day=d/hour=1
--> day=d/hour=2
SELECT count(*) FROM `t$snapshots`;
--> 3
ALTER TABLE t DROP PARTITION (hour = 1);
--! Partition spec is invalid
ALTER TABLE t DROP PARTITION (nope = 1);
--! nope
ALTER TABLE t DROP PARTITION (day = 'b', hour = 1), PARTITION (day = 'b', hour = 2);
TRUNCATE TABLE t PARTITION (day = 'd', hour = 2);
SELECT id FROM t;
--> 6
INSERT INTO t VALUES (8, 'e', 1), (9, 'e', 2);
TRUNCATE TABLE t PARTITION (day = 'e');
SELECT id FROM t;
--> 6
SHOW TABLE EXTENDED LIKE 't' PARTITION (day = 'zz', hour = 1);
--! PARTITIONS_NOT_FOUND
SHOW TABLE EXTENDED LIKE 't' PARTITION (day = 'd');
--! Partition spec is invalid
ALTER TABLE nope DROP PARTITION (day = 'd');
--! TABLE_OR_VIEW_NOT_FOUND
CREATE TABLE plain (id INT);
ALTER TABLE plain DROP PARTITION (id = 1);
--! no partitions
