CREATE DATABASE words COMMENT 'some words' WITH DBPROPERTIES ('a' = 'b', 'c' = 'd');
CREATE DATABASE words;
--! SCHEMA_ALREADY_EXISTS
CREATE DATABASE IF NOT EXISTS words COMMENT 'others';
SHOW DATABASES LIKE 'wor*';
--> words
SHOW NAMESPACES LIKE 'nothing*';
--> nothing
COMMENT ON DATABASE words IS 'other words';
ALTER DATABASE words SET DBPROPERTIES ('a' = 'z', 'e' = 'f');
ALTER DATABASE words UNSET DBPROPERTIES ('c');
ALTER DATABASE words SET LOCATION '/tmp/x';
--! database 'words': its location cannot be set
CREATE DATABASE farther LOCATION '/tmp/x';
--! database 'farther': LOCATION: a database is stored in the warehouse; leave LOCATION out
CREATE DATABASE `a.b`;
--! 'a.b' cannot be a database name: it must not hold '.' or '$'
CREATE DATABASE `a$b`;
--! 'a$b' cannot be a database name: it must not hold '.' or '$'
CREATE DATABASE words.inner;
--! database 'words.inner': databases cannot be nested; give it one name
ALTER DATABASE nope SET DBPROPERTIES ('a' = 'b');
--! SCHEMA_NOT_FOUND
DESCRIBE DATABASE nope;
--! SCHEMA_NOT_FOUND
CREATE TABLE words.t (id INT);
INSERT INTO words.t VALUES (1);
SELECT * FROM words.t;
--> 1
SELECT * FROM lakebed.words.t;
--> 1
ALTER TABLE words.t RENAME TO words.u;
ALTER TABLE words.u RENAME TO nowhere.u;
--! unknown database 'nowhere' in warehouse
SHOW TABLES IN words;
--> words | u | false
SHOW TABLES IN words LIKE 'x*';
--> nothing
SHOW TABLES IN nope;
--! SCHEMA_NOT_FOUND
DROP DATABASE words;
--! SCHEMA_NOT_EMPTY
DROP DATABASE words RESTRICT;
--! SCHEMA_NOT_EMPTY
DROP DATABASE words CASCADE;
DROP DATABASE words;
--! SCHEMA_NOT_FOUND
DROP DATABASE IF EXISTS words;
USE nope;
--! SCHEMA_NOT_FOUND
SELECT current_catalog();
--> lakebed
SELECT * FROM words.t;
--! TABLE_OR_VIEW_NOT_FOUND
