CREATE TABLE p (id INT, v STRING) PARTITIONED BY (dt STRING COMMENT 'day', hh INT);
INSERT INTO p VALUES (1, 'a', '0101', 1), (2, 'b', '0102', 2);
INSERT INTO p PARTITION (dt = '0102', hh = 3) VALUES (3, 'c');
INSERT INTO p PARTITION (dt = '0103', hh) SELECT 4, 'd', 4;
INSERT INTO p BY NAME SELECT 5 AS hh, '0103' AS dt, 5 AS id;
INSERT INTO p (hh, dt, id) VALUES (6, '0103', 6);
SELECT * FROM p ORDER BY id;
--> 1 | a | 0101 | 1
--> 2 | b | 0102 | 2
--> 3 | c | 0102 | 3
--> 4 | d | 0103 | 4
--> 5 | NULL | 0103 | 5
--> 6 | NULL | 0103 | 6
SHOW PARTITIONS p;
--> dt=0101/hh=1
--> dt=0102/hh=2
--> dt=0102/hh=3
--> dt=0103/hh=4
--> dt=0103/hh=5
--> dt=0103/hh=6
SHOW PARTITIONS p PARTITION (dt = '0102');
--> dt=0102/hh=2
--> dt=0102/hh=3
SHOW PARTITIONS p PARTITION (nope = '0102');
--! nope
INSERT OVERWRITE p PARTITION (dt = '0102', hh = 3) SELECT 30, 'C';
INSERT OVERWRITE p PARTITION (dt = '0103', hh) SELECT 40, 'D', 4;
SELECT * FROM p ORDER BY id;
--> 1 | a | 0101 | 1
--> 2 | b | 0102 | 2
--> 30 | C | 0102 | 3
--> 40 | D | 0103 | 4
SET spark.sql.sources.partitionOverwriteMode=dynamic;
INSERT OVERWRITE p SELECT id + 1, v, dt, hh FROM p WHERE dt = '0102';
SELECT * FROM p ORDER BY id;
--> 1 | a | 0101 | 1
--> 3 | b | 0102 | 2
--> 31 | C | 0102 | 3
--> 40 | D | 0103 | 4
SET spark.sql.sources.partitionOverwriteMode=static;
ALTER TABLE p DROP PARTITION (dt = '0102', hh = 2);
ALTER TABLE p DROP PARTITION (dt = '0102', hh = 2);
--! write DROP IF EXISTS PARTITION to ignore that
ALTER TABLE p DROP IF EXISTS PARTITION (dt = '0102', hh = 2);
ALTER TABLE p ADD PARTITION (dt = '0102', hh = 2);
--! a partition exists if it has rows, so insert rows instead
TRUNCATE TABLE p PARTITION (dt = '0103', hh = 4);
SELECT id FROM p ORDER BY id;
--> 1
--> 31
INSERT OVERWRITE p SELECT 9, 'z', '0109', 9;
SELECT * FROM p;
--> 9 | z | 0109 | 9
INSERT INTO p SELECT * FROM p;
SELECT count(*) FROM p;
--> 2
TRUNCATE TABLE p;
SELECT * FROM p;
--> nothing
INSERT INTO p VALUES (1, 'a', '0101');
--! INSERT_COLUMN_ARITY_MISMATCH
INSERT INTO p VALUES ('x', 'a', '0101', 1);
--! cast
INSERT INTO p BY NAME SELECT 1 AS nope;
--! nope
CREATE TABLE d (id INT NOT NULL, v STRING DEFAULT 'it''s', n DECIMAL(5, 2) DEFAULT 1.5, d DATE DEFAULT DATE '2024-01-01', b BOOLEAN DEFAULT true, c VARCHAR(3));
INSERT INTO d (id) VALUES (1);
INSERT INTO d VALUES (2, DEFAULT, DEFAULT, NULL, false, 'abc');
INSERT INTO d VALUES (3, 'x', 2, NULL, NULL, 'abcd');
--! EXCEED_LIMIT_LENGTH
INSERT INTO d VALUES (NULL, 'x', 2, NULL, NULL, 'abc');
--! NOT_NULL
SELECT * FROM d ORDER BY id;
--> 1 | it's | 1.50 | 2024-01-01 | true | NULL
--> 2 | it's | 1.50 | NULL | false | abc
