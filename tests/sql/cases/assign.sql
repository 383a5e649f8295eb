-- kinds: append, keyed
CREATE TABLE t (id INT NOT NULL, v VARCHAR(3), s STRUCT<a: INT, b: STRUCT<c: INT, d: STRING>>, n INT DEFAULT 5, m DECIMAL(5, 2)) $PROPERTIES;
INSERT INTO t VALUES (1, 'a', named_struct('a', 1, 'b', named_struct('c', 2, 'd', 'x')), 1, 1.5), (2, 'b', NULL, 2, NULL);
UPDATE t SET s.a = 10, s.b.d = 'y' WHERE id = 1;
UPDATE t SET n = DEFAULT, m = 3 WHERE id = 2;
SELECT * FROM t ORDER BY id;
--> 1 | a | [10, [2, y]] | 1 | 1.50
--> 2 | b | NULL | 5 | 3.00
UPDATE t AS x SET x.v = concat(x.v, x.v) WHERE x.n = (SELECT max(n) FROM t);
UPDATE t SET v = 'abcd' WHERE id = 1;
--! EXCEED_LIMIT_LENGTH
UPDATE t SET m = 12345.678 WHERE id = 1;
--! NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
UPDATE t SET s.nope = 1;
--! FIELD_NOT_FOUND
UPDATE t SET s = named_struct('a', 1, 'b', named_struct('c', 1, 'd', 'z')) WHERE id = 2;
UPDATE t SET s.a = 1, s = NULL;
--! Conflicting assignments for 's'
SELECT * FROM t ORDER BY id;
--> 1 | a | [10, [2, y]] | 1 | 1.50
--> 2 | bb | [1, [1, z]] | 5 | 3.00
MERGE INTO t USING (SELECT * FROM VALUES (1, 100), (2, 200) AS x(id, a)) x ON t.id = x.id
  WHEN MATCHED AND x.id = 1 THEN UPDATE SET t.s.a = x.a, n = DEFAULT
  WHEN MATCHED THEN UPDATE SET s.b.c = x.a;
MERGE INTO t USING (SELECT 7 AS id) x ON t.id = x.id WHEN NOT MATCHED THEN INSERT (id, n) VALUES (x.id, DEFAULT);
MERGE INTO t USING (SELECT 8 AS id) x ON t.id = x.id WHEN NOT MATCHED THEN INSERT (id) VALUES (x.id);
SELECT * FROM t ORDER BY id;
--> 1 | a | [100, [2, y]] | 5 | 1.50
--> 2 | bb | [1, [200, z]] | 5 | 3.00
--> 7 | NULL | NULL | 5 | NULL
--> 8 | NULL | NULL | 5 | NULL
