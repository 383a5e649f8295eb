-- kinds: append, bucketed, keyed, dynamic, vectors, partial, aggregation, first
CREATE TABLE t (id INT NOT NULL, v STRING, n INT) $PROPERTIES;
SELECT * FROM t;
--> nothing
SELECT count(*) FROM t;
--> 0
INSERT INTO t VALUES (1, 'a', 10), (2, 'b', NULL);
INSERT INTO t VALUES (3, NULL, 30);
SELECT * FROM t ORDER BY id;
--> 1 | a | 10
--> 2 | b | NULL
--> 3 | NULL | 30
SELECT count(*), count(v), sum(n) FROM t;
--> 3 | 2 | 40
SELECT v FROM t WHERE id = 2;
--> b
SELECT id FROM t WHERE n > 5 ORDER BY id DESC LIMIT 1;
--> 3
SELECT id FROM t WHERE v IS NULL OR n IS NULL ORDER BY id;
--> 2
--> 3
SELECT a.id FROM t a JOIN t b ON a.id = b.id + 1 ORDER BY a.id;
--> 2
--> 3
ALTER TABLE t ADD COLUMN w DATE;
INSERT INTO t VALUES (4, 'd', 40, DATE '2024-01-01');
SELECT id, w FROM t WHERE id > 2 ORDER BY id;
--> 3 | NULL
--> 4 | 2024-01-01
CALL sys.compact('t');
--> true
SELECT * FROM t ORDER BY id;
--> 1 | a | 10 | NULL
--> 2 | b | NULL | NULL
--> 3 | NULL | 30 | NULL
--> 4 | d | 40 | 2024-01-01
INSERT OVERWRITE t SELECT id + 10, v, n, w FROM t WHERE id < 3;
SELECT id FROM t ORDER BY id;
--> 11
--> 12
TRUNCATE TABLE t;
SELECT count(*) FROM t;
--> 0
