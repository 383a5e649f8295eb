-- kinds: append, dynamic, vectors
CREATE TABLE t (id INT NOT NULL, v STRING, d DATE NOT NULL, h INT NOT NULL) PARTITIONED BY (d, h) $PROPERTIES[d,h];
INSERT INTO t VALUES (1, 'a', DATE '2024-01-01', 1), (2, 'b', DATE '2024-01-01', 2), (3, 'c', DATE '2024-01-02', 1);
SHOW PARTITIONS t;
--> d=2024-01-01/h=1
--> d=2024-01-01/h=2
--> d=2024-01-02/h=1
SELECT id FROM t WHERE d = '2024-01-01' AND h = 2;
--> 2
SELECT id FROM t WHERE d > DATE '2024-01-01';
--> 3
SELECT d, count(*) FROM t GROUP BY d ORDER BY d;
--> 2024-01-01 | 2
--> 2024-01-02 | 1
INSERT INTO t PARTITION (d = '2024-01-03', h = 1) VALUES (4, 'd');
INSERT INTO t PARTITION (d = DATE '2024-01-03', h) SELECT 5, 'e', 2;
INSERT OVERWRITE t PARTITION (d = '2024-01-03') SELECT 6, 'f', 3;
SELECT * FROM t WHERE d = '2024-01-03' ORDER BY id;
--> 6 | f | 2024-01-03 | 3
INSERT OVERWRITE t PARTITION (d = '2024-01-01', h = 1) VALUES (10, 'A');
SELECT id FROM t ORDER BY id;
--> 2
--> 3
--> 6
--> 10
INSERT INTO t REPLACE WHERE d = DATE '2024-01-02' VALUES (30, 'C', DATE '2024-01-02', 9);
INSERT INTO t REPLACE WHERE d = DATE '2024-01-02' VALUES (31, 'C', DATE '2024-01-09', 9);
--! the data has rows outside of the partition
SELECT id FROM t ORDER BY id;
--> 2
--> 6
--> 10
--> 30
SET spark.sql.sources.partitionOverwriteMode=dynamic;
INSERT OVERWRITE t VALUES (11, 'AA', DATE '2024-01-01', 1);
SELECT id FROM t ORDER BY id;
--> 2
--> 6
--> 11
--> 30
SET spark.sql.sources.partitionOverwriteMode=static;
ALTER TABLE t DROP PARTITION (d = '2024-01-01', h = 2);
ALTER TABLE t DROP PARTITION (h = 9);
--! Partition spec is invalid
SHOW PARTITIONS t;
--> d=2024-01-01/h=1
--> d=2024-01-02/h=9
--> d=2024-01-03/h=3
TRUNCATE TABLE t PARTITION (d = '2024-01-03', h = 3);
SHOW PARTITIONS t;
--> d=2024-01-01/h=1
--> d=2024-01-02/h=9
DELETE FROM t WHERE d = DATE '2024-01-01';
SELECT count(*) FROM t;
--> 1
INSERT OVERWRITE t VALUES (1, 'z', DATE '2024-02-01', 1);
INSERT OVERWRITE t SELECT * FROM t WHERE false;
SELECT count(*) FROM t;
--> 0
