-- kinds: append, bucketed, keyed, dynamic, vectors
CREATE TABLE t (id INT NOT NULL, v STRING, n INT) $PROPERTIES;
UPDATE t SET n = 1;
SELECT count(*) FROM t;
--> 0
INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4), (5, NULL, NULL);
UPDATE t SET v = upper(v), n = n + 10 WHERE id <= 2 OR n IS NULL;
SELECT * FROM t ORDER BY id;
--> 1 | A | 11
--> 2 | B | 12
--> 3 | c | 3
--> 4 | d | 4
--> 5 | NULL | NULL
UPDATE t SET n = (SELECT max(n) FROM t) WHERE id IN (SELECT id FROM t WHERE v = 'c');
SELECT n FROM t WHERE id = 3;
--> 12
UPDATE t SET n = 'text' WHERE id = 1;
--! cast
UPDATE t SET nope = 1;
--! nope
DELETE FROM t WHERE v IS NULL;
DELETE FROM t WHERE id IN (SELECT 4);
DELETE FROM t WHERE length(v) = 7;
SELECT * FROM t ORDER BY id;
--> 1 | A | 11
--> 2 | B | 12
--> 3 | c | 12
MERGE INTO t USING (SELECT * FROM VALUES (1, 'new'), (2, NULL), (9, 'nine') AS s(id, v)) s ON t.id = s.id
  WHEN MATCHED AND s.v IS NULL THEN DELETE
  WHEN MATCHED THEN UPDATE SET v = s.v
  WHEN NOT MATCHED AND s.id > 100 THEN INSERT (id) VALUES (s.id)
  WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)
  WHEN NOT MATCHED BY SOURCE AND t.n < 0 THEN DELETE
  WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = -1;
SELECT * FROM t ORDER BY id;
--> 1 | new | 11
--> 3 | c | -1
--> 9 | nine | NULL
MERGE INTO t USING (SELECT * FROM VALUES (1, 'x'), (1, 'y') AS s(id, v)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v;
--! MERGE_CARDINALITY_VIOLATION
MERGE INTO t AS target USING (SELECT * FROM VALUES (1, 'x', 0), (5, 'y', 0) AS s(id, v, n)) AS source ON target.id = source.id
  WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
SELECT * FROM t ORDER BY id;
--> 1 | x | 0
--> 3 | c | -1
--> 5 | y | 0
--> 9 | nine | NULL
MERGE INTO t USING (SELECT * FROM VALUES (1, 'q', 0), (6, 'z', 0) AS s(id, v, n)) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *;
MERGE INTO t USING (SELECT * FROM VALUES (6), (6), (1) AS s(id)) s ON t.id = s.id WHEN NOT MATCHED BY SOURCE AND t.id > 4 THEN DELETE;
SELECT * FROM t ORDER BY id;
--> 1 | x | 0
--> 3 | c | -1
--> 6 | z | 0
MERGE INTO t USING (SELECT 1 AS id UNION ALL SELECT 1) s ON t.id = s.id WHEN MATCHED THEN DELETE;
SELECT id FROM t ORDER BY id;
--> 3
--> 6
MERGE INTO t USING t AS s ON t.id = s.id AND s.id = 3 WHEN MATCHED THEN UPDATE SET n = s.n * 5;
SELECT * FROM t ORDER BY id;
--> 3 | c | -5
--> 6 | z | 0
DELETE FROM t;
SELECT count(*) FROM t;
--> 0
