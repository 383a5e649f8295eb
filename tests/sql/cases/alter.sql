-- kinds: append, keyed
CREATE TABLE t (id INT NOT NULL, v STRING, s STRUCT<a: INT>) $PROPERTIES;
INSERT INTO t VALUES (1, 'a', named_struct('a', 1));
ALTER TABLE t ADD COLUMNS (n INT COMMENT 'nn' AFTER id, z DOUBLE);
ALTER TABLE t ADD COLUMN s.b STRING;
ALTER TABLE t RENAME COLUMN v TO w;
ALTER TABLE t ALTER COLUMN n TYPE BIGINT;
ALTER TABLE t ALTER COLUMN n COMMENT 'number';
ALTER TABLE t ALTER COLUMN z FIRST;
ALTER TABLE t ALTER COLUMN w AFTER s;
ALTER TABLE t ALTER COLUMN s.b COMMENT 'inside';
DESCRIBE t;
--> z | double | NULL
--> id | int | NULL
--> n | bigint | number
--> s | struct<a:int,b:string> | NULL
--> w | string | NULL
INSERT INTO t VALUES (2.5, 2, 20, named_struct('a', 2, 'b', 'in'), 'b');
SELECT * FROM t ORDER BY id;
--> NULL | 1 | NULL | [1, NULL] | a
--> 2.5 | 2 | 20 | [2, in] | b
ALTER TABLE t ALTER COLUMN w SET DEFAULT 'dd';
INSERT INTO t (id) VALUES (3);
SELECT w FROM t WHERE id = 3;
--> dd
ALTER TABLE t ALTER COLUMN w DROP DEFAULT;
INSERT INTO t (id) VALUES (4);
SELECT w FROM t WHERE id = 4;
--> NULL
ALTER TABLE t DROP COLUMN s.b;
ALTER TABLE t DROP COLUMNS (s, z);
ALTER TABLE t DROP COLUMN IF EXISTS nope;
ALTER TABLE t DROP COLUMN nope;
--! nope
SELECT * FROM t WHERE id < 3 ORDER BY id;
--> 1 | NULL | a
--> 2 | 20 | b
ALTER TABLE t ALTER COLUMN n TYPE INT;
--! n
ALTER TABLE t ADD COLUMN m INT NOT NULL;
--! cannot be NOT NULL
ALTER TABLE t ALTER COLUMN w SET NOT NULL;
--! w
ALTER TABLE t SET TBLPROPERTIES ('snapshot.num-retained.max' = '20', 'comment' = 'told');
SHOW TBLPROPERTIES t ('snapshot.num-retained.max');
--> snapshot.num-retained.max | 20
ALTER TABLE t UNSET TBLPROPERTIES ('snapshot.num-retained.max');
ALTER TABLE t SET TBLPROPERTIES ('snapshot.num-retained.maxx' = '20');
--! unknown option
ALTER TABLE t SET TBLPROPERTIES ('primary-key' = 'w');
--! primary key cannot change
COMMENT ON TABLE t IS 'a comment';
ALTER TABLE t RENAME TO u;
SELECT count(*) FROM u;
--> 4
SELECT * FROM t;
--! TABLE_OR_VIEW_NOT_FOUND
ALTER TABLE t RENAME TO v;
--! TABLE_OR_VIEW_NOT_FOUND
ALTER TABLE u ADD COLUMN w INT;
--! FIELD_ALREADY_EXISTS
