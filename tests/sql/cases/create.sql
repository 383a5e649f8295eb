CREATE TABLE a (id BIGINT NOT NULL COMMENT 'key', v VARCHAR(10) DEFAULT 'x', s STRUCT<a: INT, b: STRING>, m MAP<STRING, INT>, dt STRING)
  USING paimon PARTITIONED BY (dt) COMMENT 'hello' TBLPROPERTIES ('primary_key' = 'dt,id', 'bucket' = '2');
CREATE TABLE a (id INT);
--! TABLE_OR_VIEW_ALREADY_EXISTS
CREATE TABLE IF NOT EXISTS a (id INT);
DESCRIBE a;
--> id | bigint | key
--> v | varchar(10) | NULL
--> s | struct<a:int,b:string> | NULL
--> m | map<string,int> | NULL
--> dt | string | NULL
--> # Partition Information |  | 
--> # col_name | data_type | comment
--> dt | string | NULL
DESCRIBE a id;
--> col_name | id
--> data_type | bigint
--> comment | key
SHOW TBLPROPERTIES a ('primary-key');
--> primary-key | dt,id
SHOW TBLPROPERTIES a ('bucket');
--> bucket | 2
SHOW COLUMNS IN a;
--> id
--> v
--> s
--> m
--> dt
CREATE TABLE b LIKE a;
--@ 4.2 older ones look for tables in Spark's own catalog
SHOW TBLPROPERTIES b ('bucket');
--@ 4.2 the table is not there
--> bucket | 2
SHOW TBLPROPERTIES b ('primary-key');
--@ 4.2 the table is not there
--> primary-key | dt,id
DESCRIBE b v;
--@ 4.2 the table is not there
--> col_name | v
--> data_type | varchar(10)
--> comment | NULL
INSERT INTO a VALUES (1, 'a', named_struct('a', 1, 'b', 'x'), map('k', 1), 'd1');
DESCRIBE a PARTITION (dt = 'd1');
--@ 4.2 older ones describe no partitions of catalogs
DESCRIBE a PARTITION (dt = 'd2');
--@ 4.2 older ones describe no partitions of catalogs
--! PARTITIONS_NOT_FOUND
CREATE TABLE c USING lakebed PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'id,dt', 'bucket' = '1') AS SELECT id, s.b AS sb, dt FROM a;
SELECT * FROM c;
--> 1 | x | d1
CREATE OR REPLACE TABLE c AS SELECT 5 AS five;
SELECT * FROM c;
--> 5
REPLACE TABLE c (x INT, y STRING);
SELECT * FROM c;
--> nothing
SHOW TABLES;
CREATE TABLE e (id INT) USING parquet;
--! USING parquet
CREATE TABLE e (id INT) LOCATION '/tmp/x';
--! LOCATION
CREATE TABLE e (id INT) PARTITIONED BY (bucket(4, id));
--! 'bucket-key'
CREATE TABLE e (id INT) TBLPROPERTIES ('bukcet' = '1');
--! did you mean 'bucket'?
CREATE TABLE e (id INT) TBLPROPERTIES ('primary-key' = 'nope', 'bucket' = '1');
--! nope
CREATE TABLE e (id INT) TBLPROPERTIES ('primary-key' = 'id', 'primary_key' = 'id', 'bucket' = '1');
--! give one of them
CREATE TABLE e (id INT DEFAULT (1 + 1));
--! literal
CREATE TABLE e (id INTERVAL DAY);
--! interval
CREATE TABLE nowhere.e (id INT);
--! SCHEMA_NOT_FOUND
DROP TABLE b;
--@ 4.2 the table is not there
DROP TABLE b;
--! TABLE_OR_VIEW_NOT_FOUND
DROP TABLE IF EXISTS b;
SELECT count(*) FROM b;
--! TABLE_OR_VIEW_NOT_FOUND
