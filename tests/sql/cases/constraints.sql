CREATE TABLE a (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) TBLPROPERTIES ('bucket' = '1');
INSERT INTO a VALUES (1, 'a'), (2, 'b');
INSERT INTO a VALUES (1, 'c');
SELECT * FROM a;
--> 1 | c
--> 2 | b
SHOW TBLPROPERTIES a ('primary-key');
--> primary-key | id
CREATE TABLE b (id INT PRIMARY KEY, v STRING);
SHOW TBLPROPERTIES b ('primary-key');
--> primary-key | id
CREATE TABLE c (id INT, v STRING, dt STRING, CONSTRAINT k PRIMARY KEY (dt, id) NOT ENFORCED) PARTITIONED BY (dt);
SHOW TBLPROPERTIES c ('primary-key');
--> primary-key | dt,id
CREATE OR REPLACE TABLE b (id INT, v STRING, PRIMARY KEY (v, id));
SHOW TBLPROPERTIES b ('primary-key');
--> primary-key | v,id
CREATE TABLE d (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('primary-key' = 'id');
CREATE TABLE e (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('primary-key' = 'v');
--! name other columns; give one of them
CREATE TABLE e (id INT, v STRING, PRIMARY KEY (nope));
--! nope
CREATE TABLE e (id INT, v STRING, PRIMARY KEY (id) ENFORCED);
--! ENFORCED
CREATE TABLE e (id INT, v STRING, CHECK (id > 0));
--! tables know no constraint but PRIMARY KEY (...) NOT ENFORCED
CREATE TABLE e (id INT, v STRING, UNIQUE (id));
--! tables know no constraint but PRIMARY KEY (...) NOT ENFORCED
SHOW TABLES LIKE 'e';
--> nothing
ALTER TABLE a ADD CONSTRAINT k PRIMARY KEY (v) NOT ENFORCED;
--! is given in CREATE TABLE
ALTER TABLE a DROP CONSTRAINT k;
--! is given in CREATE TABLE
