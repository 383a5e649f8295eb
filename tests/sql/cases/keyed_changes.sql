CREATE TABLE k (id INT NOT NULL, dt STRING NOT NULL, v INT) PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'id,dt', 'bucket' = '1');
INSERT INTO k VALUES (1, 'a', 1), (2, 'b', 2);
UPDATE k SET id = 3 WHERE id = 1;
--! part of the primary key
MERGE INTO k USING (SELECT 1 AS id, 7 AS other) s ON k.id = s.id WHEN MATCHED THEN UPDATE SET id = s.other;
--! MERGE would change 'id'
MERGE INTO k USING (SELECT 1 AS id, 'a' AS dt, 10 AS v) s ON k.id = s.id WHEN MATCHED THEN UPDATE SET *;
SELECT * FROM k ORDER BY id;
--> 1 | a | 10
--> 2 | b | 2
CREATE TABLE p (id INT NOT NULL, a INT, b INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'merge-engine' = 'partial-update');
INSERT INTO p VALUES (1, 1, NULL);
INSERT INTO p VALUES (1, NULL, 2);
SELECT * FROM p;
--> 1 | 1 | 2
UPDATE p SET a = NULL;
--! 'merge-engine' = partial-update
UPDATE p SET a = 7;
SELECT * FROM p;
--> 1 | 7 | 2
DELETE FROM p WHERE id IN (SELECT 1);
--! please use
SELECT count(*) FROM p;
--> 1
