CREATE TABLE a (id BIGINT NOT NULL COMMENT 'key', v STRING) PARTITIONED BY (dt STRING, hh INT) TBLPROPERTIES ('primary_key' = 'id,dt,hh', 'bucket' = '1');
INSERT INTO a VALUES (1, 'a', 'd1', 1), (2, 'b', 'd1', 2);
CREATE TABLE b LIKE a;
--@ 4.2 older ones look for tables in Spark's own catalog
CREATE TABLE b LIKE a;
--@ 4.2 older ones look for tables in Spark's own catalog
--! TABLE_OR_VIEW_ALREADY_EXISTS
CREATE TABLE IF NOT EXISTS b LIKE a;
--@ 4.2 older ones look for tables in Spark's own catalog
CREATE TABLE c LIKE a USING paimon TBLPROPERTIES ('bucket' = '3');
--@ 4.2 older ones look for tables in Spark's own catalog
SHOW TBLPROPERTIES c ('bucket');
--@ 4.2 the table is not there
--> bucket | 3
SHOW TBLPROPERTIES c ('primary-key');
--@ 4.2 the table is not there
--> primary-key | id,dt,hh
SHOW COLUMNS IN c;
--@ 4.2 the table is not there
--> id
--> v
--> dt
--> hh
SELECT count(*) FROM c;
--@ 4.2 the table is not there
--> 0
CREATE TABLE d LIKE nope;
--@ 4.2 older ones look for tables in Spark's own catalog
--! TABLE_OR_VIEW_NOT_FOUND
CREATE TABLE IF NOT EXISTS d AS SELECT * FROM a;
CREATE TABLE IF NOT EXISTS d AS SELECT 1 AS other;
SELECT * FROM d ORDER BY id;
--> 1 | a | d1 | 1
--> 2 | b | d1 | 2
CREATE TABLE d AS SELECT 1 AS other;
--! TABLE_OR_VIEW_ALREADY_EXISTS
CREATE TABLE e PARTITIONED BY (dt) COMMENT 'x' AS SELECT id, dt FROM a;
SHOW PARTITIONS e;
--> dt=d1
CREATE TABLE f USING paimon TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2') AS SELECT id, v FROM a;
SELECT * FROM f ORDER BY id;
--> 1 | a
--> 2 | b
CREATE TABLE g AS SELECT id, nope FROM a;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
CREATE TABLE g AS SELECT 1 / raise_error('no') AS x;
--! USER_RAISED_EXCEPTION
SELECT * FROM g;
--! TABLE_OR_VIEW_NOT_FOUND
CREATE OR REPLACE TABLE f AS SELECT 5 AS five;
SELECT * FROM f;
--> 5
REPLACE TABLE f (x INT, y STRING) TBLPROPERTIES ('bucket' = '1', 'bucket-key' = 'x');
SHOW TBLPROPERTIES f ('bucket-key');
--> bucket-key | x
SELECT * FROM f;
--> nothing
REPLACE TABLE nope (x INT);
--! TABLE_OR_VIEW_NOT_FOUND
CREATE OR REPLACE TABLE nope (x INT);
CREATE TABLE h (id INT, v STRING) OPTIONS ('bucket' = '2', 'bucket-key' = 'id');
SHOW TBLPROPERTIES h ('bucket-key');
--> bucket-key | id
CREATE TABLE j (a TINYINT, b SMALLINT, c FLOAT, d CHAR(3), e BINARY, f TIMESTAMP_NTZ, g TIMESTAMP, h ARRAY<STRUCT<a: INT, b: MAP<STRING, ARRAY<INT>>>>, i DECIMAL(38, 10), k BOOLEAN);
INSERT INTO j VALUES (1, 2, 1.5, 'ab', X'0102', TIMESTAMP_NTZ '2024-01-01 00:00:00.123456', TIMESTAMP '2024-01-01 00:00:00', array(named_struct('a', 1, 'b', map('k', array(1, 2)))), 123456789012345678.0123456789, true);
SELECT a, b, c, d, e, f, string(g), h, i, k FROM j;
--> 1 | 2 | 1.5 | ab  | 0102 | 2024-01-01 00:00:00.123456 | 2024-01-01 00:00:00 | [[1, {k: [1, 2]}]] | 123456789012345678.0123456789 | true
SELECT a FROM j WHERE d = 'ab' AND e = X'0102' AND h[0].a = 1 AND h[0].b['k'][1] = 2 AND i > 1 AND f < TIMESTAMP_NTZ '2024-01-01 00:00:01';
--> 1
CREATE TABLE l (id INT) USING paimon;
CREATE TABLE m (id INT) USING lakebed;
CREATE TABLE n (id INT) USING iceberg;
--! USING iceberg: tables of this catalog are Paimon tables; write USING paimon,
CREATE TABLE n (id INT) LOCATION '/tmp/x';
--! LOCATION: a table is stored in the folder of its database,
CREATE EXTERNAL TABLE n (id INT);
--! EXTERNAL: a table is stored in the folder of its database; leave EXTERNAL out
CREATE TABLE n (id INT) CLUSTERED BY (id) INTO 4 BUCKETS;
--! bucket(4, id): tables are partitioned by plain columns; for buckets set
CREATE TABLE n (id INT) CLUSTER BY (id);
--! cluster_by(id): tables are partitioned by plain columns; for buckets
CREATE TABLE n (id INT, CHECK (id > 0));
--! tables know no constraint but PRIMARY KEY (...) NOT ENFORCED
CREATE TABLE n (id INT GENERATED ALWAYS AS IDENTITY);
--! does not support identity column
CREATE TABLE n (id INT, b INT GENERATED ALWAYS AS (id + 1));
--! does not support generated columns
CREATE TABLE n (id INT, ID INT);
--! COLUMN_ALREADY_EXISTS
CREATE TABLE n (id INT) PARTITIONED BY (nope);
--! Couldn't find column nope
CREATE TABLE n (id INT) PARTITIONED BY (years(id));
--! years(id): tables are partitioned by plain columns; for buckets set
CREATE TABLE n (id INT, x INTERVAL DAY);
--! column 'x': Spark type interval day has no Paimon counterpart that Lakebed
CREATE TABLE n (id INT, x VARIANT);
--! column 'x': Spark type variant has no Paimon counterpart that Lakebed
CREATE TABLE n (id INT DEFAULT 'x');
--! INVALID_DEFAULT_VALUE.DATA_TYPE
CREATE TABLE n (id INT DEFAULT rand());
--! INVALID_DEFAULT_VALUE.DATA_TYPE
CREATE TABLE n (id DATE DEFAULT current_date());
--! column 'id': a default is a literal, not 'current_date()'
CREATE TABLE n (id INT) TBLPROPERTIES ('bukcet' = '1');
--! unknown option 'bukcet' in table
CREATE TABLE n (id INT) TBLPROPERTIES ('bucket' = 'many');
--! is 'many'; it must be -1 (dynamic: as many buckets as needed) or a positive number
CREATE TABLE n (id INT) TBLPROPERTIES ('bucket' = '2');
--! 'bucket' = 2 needs a 'bucket-key' to spread rows by
CREATE TABLE n (id INT) TBLPROPERTIES ('bucket' = '2', 'bucket-key' = 'nope');
--! option bucket-key: unknown column 'nope' in table
CREATE TABLE n (id INT) TBLPROPERTIES ('primary-key' = 'nope', 'bucket' = '1');
--! unknown primary key column 'nope'
CREATE TABLE n (id INT, dt STRING) PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1');
--! the primary key must hold every partition column, and 'dt' is not in it;
CREATE TABLE n (id INT) TBLPROPERTIES ('file.format' = 'csv');
--! is 'csv': Lakebed writes Parquet, ORC and Avro only; set it to one of them, or
CREATE TABLE n (id INT) TBLPROPERTIES ('provider' = 'x');
--! UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY
CREATE TABLE `n$x` (id INT);
--! give the plain name of the table to create, without a $
CREATE TABLE nowhere.n (id INT);
--! SCHEMA_NOT_FOUND
CREATE TABLE n ();
--! PARSE_SYNTAX_ERROR
DESCRIBE n;
--! TABLE_OR_VIEW_NOT_FOUND
