-- kinds: append, keyed
CREATE TABLE t (id INT NOT NULL, v STRING, s STRUCT<a: INT, n: STRUCT<x: INT>>, l ARRAY<STRUCT<p: INT>>, m MAP<STRING, STRUCT<q: INT>>) $PROPERTIES;
INSERT INTO t VALUES (1, 'a', named_struct('a', 1, 'n', named_struct('x', 5)), array(named_struct('p', 1)), map('k', named_struct('q', 9)));
ALTER TABLE t ADD COLUMN s.n.y STRING COMMENT 'deep' FIRST;
ALTER TABLE t ADD COLUMNS (l.element.r INT, m.value.w INT AFTER q);
ALTER TABLE t RENAME COLUMN s.a TO b;
ALTER TABLE t ALTER COLUMN s.b TYPE BIGINT;
ALTER TABLE t ALTER COLUMN s.b AFTER n;
ALTER TABLE t ALTER COLUMN s.n.x COMMENT 'xx';
DESCRIBE t;
--> id | int | NULL
--> v | string | NULL
--> s | struct<n:struct<y:string,x:int>,b:bigint> | NULL
--> l | array<struct<p:int,r:int>> | NULL
--> m | map<string,struct<q:int,w:int>> | NULL
SELECT * FROM t;
--> 1 | a | [[NULL, 5], 1] | [[1, NULL]] | {k: [9, NULL]}
ALTER TABLE t DROP COLUMN l.element.p;
ALTER TABLE t DROP COLUMN m.value.q;
INSERT INTO t VALUES (2, 'b', named_struct('n', named_struct('y', 'yy', 'x', 6), 'b', 3000000000), array(named_struct('r', 2)), map('k', named_struct('w', 8)));
SELECT * FROM t ORDER BY id;
--> 1 | a | [[NULL, 5], 1] | [[NULL]] | {k: [NULL]}
--> 2 | b | [[yy, 6], 3000000000] | [[2]] | {k: [8]}
ALTER TABLE t ADD COLUMN z INT DEFAULT 7;
ALTER TABLE t ADD COLUMN d DECIMAL(5, 2) FIRST;
ALTER TABLE t ALTER COLUMN z TYPE DECIMAL(12, 2);
ALTER TABLE t ALTER COLUMN d TYPE DECIMAL(7, 2), v COMMENT 'words', z AFTER d;
SHOW COLUMNS IN t;
--> d
--> z
--> id
--> v
--> s
--> l
--> m
INSERT INTO t (id) VALUES (3);
SELECT d, z, id, v FROM t ORDER BY id;
--> NULL | NULL | 1 | a
--> NULL | NULL | 2 | b
--> NULL | 7.00 | 3 | NULL
ALTER TABLE t CHANGE COLUMN v v STRING COMMENT 'told';
COMMENT ON COLUMN t.id IS 'the id';
--@ 4.3 the statement is new
DESCRIBE t id;
--@ 4.3 the comment is not there
--> col_name | id
--> data_type | int
--> comment | the id
ALTER TABLE t ALTER COLUMN v DROP NOT NULL;
ALTER TABLE t ALTER COLUMN v SET DEFAULT current_date();
--! column 'v': a default is a literal, not 'current_date()'
ALTER TABLE t ALTER COLUMN z SET DEFAULT 'x';
--! INVALID_DEFAULT_VALUE.DATA_TYPE
ALTER TABLE t ALTER COLUMN v TYPE INT;
--! NOT_SUPPORTED_CHANGE_COLUMN
ALTER TABLE t ALTER COLUMN d TYPE DECIMAL(3, 1);
--! NOT_SUPPORTED_CHANGE_COLUMN
ALTER TABLE t ALTER COLUMN s TYPE INT;
--! NOT_SUPPORTED_CHANGE_COLUMN
ALTER TABLE t ALTER COLUMN nope TYPE INT;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
ALTER TABLE t RENAME COLUMN nope TO x;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
ALTER TABLE t RENAME COLUMN v TO z;
--! FIELD_ALREADY_EXISTS
ALTER TABLE t ADD COLUMN v INT;
--! FIELD_ALREADY_EXISTS
ALTER TABLE t ADD COLUMN nope.x INT;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
ALTER TABLE t ADD COLUMN x INT AFTER nope;
--! FIELD_NOT_FOUND
ALTER TABLE t ADD COLUMN x INTERVAL DAY;
--! column 'x': Spark type interval day has no Paimon counterpart that Lakebed
ALTER TABLE t ADD COLUMN x INT NOT NULL;
--! new column 'x' cannot be NOT NULL, because old rows have no value for it; add
ALTER TABLE t DROP COLUMN s.nope;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
ALTER TABLE t DROP COLUMN IF EXISTS nope, z;
ALTER TABLE t REPLACE COLUMNS (id INT, v STRING);
--! ALTER TABLE ... REPLACE COLUMNS would drop all columns with their values; add
ALTER TABLE t SET LOCATION '/x';
--! ALTER TABLE: 'location' is not a property that a Paimon table has
ALTER TABLE t UNSET TBLPROPERTIES ('nope');
ALTER TABLE t SET TBLPROPERTIES ('snapshot.num-retained.max' = 'many');
--! is 'many'; it must be a whole number of 32 bits
ALTER TABLE t SET TBLPROPERTIES ('merge-engine' = 'aggregation');
--! option 'merge-engine' cannot change once a table has snapshots; create a new
ALTER TABLE t SET TBLPROPERTIES ('provider' = 'x');
--! UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY
ALTER TABLE t SET TBLPROPERTIES ('primary_key' = 'v');
--! ALTER TABLE: the primary key cannot change; create a new table and copy the
ALTER TABLE t ADD CONSTRAINT c CHECK (id > 0);
--! ALTER TABLE: constraints cannot be added
ALTER TABLE t CLUSTER BY (id);
--! ALTER TABLE: ClusterBy is not a change that Paimon tables know
ALTER TABLE t SET SERDE 'x';
--! NOT_SUPPORTED_COMMAND_FOR_V2_TABLE
ALTER TABLE t RECOVER PARTITIONS;
--! NOT_SUPPORTED_COMMAND_FOR_V2_TABLE
ALTER TABLE t RENAME TO t;
--! TABLE_OR_VIEW_ALREADY_EXISTS
ALTER TABLE nope ADD COLUMN x INT;
--! TABLE_OR_VIEW_NOT_FOUND
SHOW COLUMNS IN t;
--> d
--> id
--> v
--> s
--> l
--> m
CREATE TABLE k (id INT NOT NULL, dt STRING NOT NULL, v INT) PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'id,dt', 'bucket' = '1');
ALTER TABLE k DROP COLUMN id;
--! primary key column 'id' cannot be dropped; create a new table and copy the
ALTER TABLE k DROP COLUMN dt;
--! partition column 'dt' cannot be dropped; create a new table and copy the rows
ALTER TABLE k RENAME COLUMN dt TO d;
--! partition column 'dt' cannot be renamed; create a new table and copy the rows
ALTER TABLE k ALTER COLUMN id DROP NOT NULL;
--! primary key column 'id' cannot be made nullable; create a new table and copy
