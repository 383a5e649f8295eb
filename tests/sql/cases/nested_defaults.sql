CREATE TABLE t (id INT, a ARRAY<INT> DEFAULT array(1, 2), m MAP<STRING, INT> DEFAULT map('k', 1),
  s STRUCT<x: INT, y: STRING> DEFAULT struct(1, 'q'));
INSERT INTO t (id) VALUES (1);
ALTER TABLE t ALTER COLUMN a SET DEFAULT array(7);
ALTER TABLE t ALTER COLUMN s SET DEFAULT named_struct('x', 3, 'y', 'it');
INSERT INTO t (id) VALUES (2);
SELECT id, a[0], m['k'], s.x, s.y FROM t ORDER BY id;
--> 1 | 1 | 1 | 1 | q
--> 2 | 7 | 1 | 3 | it
ALTER TABLE t ALTER COLUMN a DROP DEFAULT;
INSERT INTO t (id) VALUES (3);
SELECT a FROM t WHERE id = 3;
--> NULL
CREATE TABLE no (id INT, a ARRAY<INT> DEFAULT array(1 + 1));
--! is not a value of type
CREATE TABLE no (id INT, s STRUCT<x: INT, y: STRING> DEFAULT struct(1));
--! DEFAULT
CREATE TABLE typed (id INT, n BIGINT DEFAULT 5L, m MAP<INT, DOUBLE> DEFAULT map(99, 99.5D), t MAP<BIGINT, STRING> DEFAULT map(9, "it's"));
INSERT INTO typed (id) VALUES (1);
SELECT n, m[99], t[9] FROM typed;
--> 5 | 99.5 | it's
