-- kinds: append, keyed
CREATE TABLE t (id BIGINT NOT NULL, v STRING, n INT, d DATE, m DECIMAL(10, 2), ts TIMESTAMP, b BOOLEAN, f DOUBLE, s STRUCT<a: INT, c: STRING>, l ARRAY<INT>) $PROPERTIES;
SELECT * FROM t;
--> nothing
SELECT count(*) FROM t;
--> 0
INSERT INTO t VALUES
  (1, 'one', 10, DATE '2024-01-01', 1.50, TIMESTAMP '2024-01-01 12:00:00', true, 1.5, named_struct('a', 1, 'c', 'x'), array(1, 2)),
  (2, 'two', NULL, DATE '2024-02-01', 2.50, TIMESTAMP '2024-02-01 12:00:00', false, double('NaN'), NULL, array()),
  (3, NULL, 30, NULL, NULL, NULL, NULL, -0.0, named_struct('a', 3, 'c', NULL), NULL);
INSERT INTO t (id, v) VALUES (4, 'four%'), (5, 'f_ve');
SELECT id, v, n, d, m, string(ts), b, s, l FROM t WHERE id < 4 ORDER BY id;
--> 1 | one | 10 | 2024-01-01 | 1.50 | 2024-01-01 12:00:00 | true | [1, x] | [1, 2]
--> 2 | two | NULL | 2024-02-01 | 2.50 | 2024-02-01 12:00:00 | false | NULL | []
--> 3 | NULL | 30 | NULL | NULL | NULL | NULL | [3, NULL] | NULL
SELECT count(*) FROM t;
--> 5
SELECT count(v), sum(n), max(d) FROM t;
--> 4 | 40 | 2024-02-01
SELECT v FROM t WHERE id = 2;
--> two
SELECT id FROM t WHERE 2 < id AND v LIKE 'f%';
--> 4
--> 5
SELECT id FROM t WHERE v LIKE 'four\%';
--> 4
SELECT id FROM t WHERE v LIKE '%o%';
--> 1
--> 2
--> 4
SELECT id FROM t WHERE contains(v, '_v') OR endswith(v, 'ne');
--> 1
--> 5
SELECT id FROM t WHERE n IS NULL;
--> 2
--> 4
--> 5
SELECT id FROM t WHERE NOT (n IS NULL OR id = 1);
--> 3
SELECT id FROM t WHERE id IN (1, 3, 99) AND n > 10;
--> 3
SELECT id FROM t WHERE id NOT IN (1, 2, 3);
--> 4
--> 5
SELECT id FROM t WHERE d = DATE '2024-02-01';
--> 2
SELECT id FROM t WHERE d IN (DATE '2024-01-01', DATE '2024-02-01') AND d < '2024-01-15';
--> 1
SELECT id FROM t WHERE m >= 2.5;
--> 2
SELECT id FROM t WHERE ts < TIMESTAMP '2024-01-15 00:00:00';
--> 1
SELECT id FROM t WHERE ts = TIMESTAMP '2024-02-01 12:00:00';
--> 2
SELECT id FROM t WHERE b;
--> 1
SELECT id FROM t WHERE NOT b;
--> 2
SELECT id FROM t WHERE f > 100;
--> 2
SELECT id FROM t WHERE f = 0;
--> 3
SELECT id FROM t WHERE n <=> NULL AND v <=> 'two';
--> 2
SELECT id FROM t WHERE s.a = 3;
--> 3
SELECT s.c FROM t WHERE id = 1;
--> x
SELECT id FROM t WHERE length(v) = 3 AND id > 1;
--> 2
SELECT id + 1 AS next FROM t WHERE id % 2 = 1 ORDER BY next DESC LIMIT 2;
--> 6
--> 4
SELECT count(*) FROM (SELECT * FROM t LIMIT 2);
--> 2
SELECT ID, V FROM t WHERE Id = 1;
--> 1 | one
SELECT a.id, b.v FROM t a JOIN t b ON a.id = b.id - 1 WHERE a.id < 3 ORDER BY a.id;
--> 1 | two
--> 2 | NULL
SELECT a.id FROM t a LEFT ANTI JOIN (SELECT 1 AS id) x ON a.id = x.id WHERE a.id < 3;
--> 2
SELECT id FROM t WHERE id = (SELECT max(id) FROM t);
--> 5
SELECT id FROM t WHERE id IN (SELECT id + 3 FROM t) ORDER BY id;
--> 4
--> 5
WITH big AS (SELECT * FROM t WHERE id > 3) SELECT a.id, b.id FROM big a JOIN big b ON a.id = b.id ORDER BY 1;
--> 4 | 4
--> 5 | 5
SELECT id FROM t WHERE id = 1 UNION ALL SELECT id FROM t WHERE id = 2 ORDER BY id;
--> 1
--> 2
SELECT nope FROM t;
--! UNRESOLVED_COLUMN
SELECT * FROM nope;
--! TABLE_OR_VIEW_NOT_FOUND
SELECT * FROM nowhere.t;
--! TABLE_OR_VIEW_NOT_FOUND
SELECT * FROM t WHERE id = ;
--! PARSE_SYNTAX_ERROR
