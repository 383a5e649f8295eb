CREATE TABLE p (id INT NOT NULL, a INT, b INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'merge-engine' = 'partial-update');
INSERT INTO p VALUES (1, 1, NULL), (2, 2, 2);
INSERT INTO p VALUES (1, NULL, 10);
SELECT * FROM p ORDER BY id;
--> 1 | 1 | 10
--> 2 | 2 | 2
UPDATE p SET a = a + 2 WHERE id = 1;
SELECT * FROM p ORDER BY id;
--> 1 | 3 | 10
--> 2 | 2 | 2
UPDATE p SET a = NULL WHERE id = 1;
--! UPDATE would set 'a' to NULL, which 'merge-engine' = partial-update ignores; delete the row
UPDATE p SET a = nullif(a, 3);
--! would set 'a' to NULL
DELETE FROM p WHERE id = 1;
--! please use
DELETE FROM p WHERE id IN (SELECT 1);
--! please use
MERGE INTO p USING (SELECT 1 AS id, 1 AS a, CAST(NULL AS INT) AS b) s ON p.id = s.id WHEN MATCHED THEN UPDATE SET *;
--! MERGE would set 'b' to NULL
MERGE INTO p USING (SELECT 1 AS id, 1 AS a, 10 AS b) s ON p.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
MERGE INTO p USING (SELECT 1 AS id, 5 AS a, 6 AS b) s ON p.id = s.id WHEN MATCHED THEN DELETE;
--! cannot be deleted one by one: its 'merge-engine' is partial-update;
MERGE INTO p USING (SELECT 3 AS id, 5 AS a, 6 AS b) s ON p.id = s.id WHEN NOT MATCHED THEN INSERT *;
SELECT * FROM p ORDER BY id;
--> 1 | 1 | 10
--> 2 | 2 | 2
--> 3 | 5 | 6
INSERT INTO p VALUES (4, NULL, 4);
UPDATE p SET a = NULL, b = 5 WHERE id = 4;
SELECT * FROM p WHERE id = 4;
--> 4 | NULL | 5
CALL sys.compact(table => 'p');
DELETE FROM p WHERE b > 5 AND id < 3;
SELECT * FROM p ORDER BY id;
--> 2 | 2 | 2
--> 3 | 5 | 6
--> 4 | NULL | 5
DELETE FROM p WHERE id IN (SELECT 2) OR a IS NULL;
INSERT INTO p VALUES (2, NULL, 9);
SELECT * FROM p ORDER BY id;
--> 2 | NULL | 9
--> 3 | 5 | 6
TRUNCATE TABLE p;
CREATE TABLE g (id INT NOT NULL, a INT, s INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'merge-engine' = 'partial-update', 'fields.s.sequence-group' = 'a');
INSERT INTO g VALUES (1, 1, 1);
UPDATE g SET a = 2;
--! option 'fields.s.sequence-group' would merge them
MERGE INTO g USING (SELECT 1 AS id, 5 AS a, 6 AS s) s ON g.id = s.id WHEN MATCHED THEN UPDATE SET *;
--! option 'fields.s.sequence-group' would merge them
CREATE TABLE r (id INT NOT NULL, a INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'merge-engine' = 'partial-update', 'partial-update.remove-record-on-delete' = 'true');
INSERT INTO r VALUES (1, 1), (2, 2);
DELETE FROM r WHERE id = 1;
MERGE INTO r USING (SELECT 2 AS id) s ON r.id = s.id WHEN MATCHED THEN DELETE;
SELECT count(*) FROM r;
--> 0
CREATE TABLE a (id INT NOT NULL, n BIGINT, m INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum', 'fields.m.aggregate-function' = 'max');
INSERT INTO a VALUES (1, 1, 1), (2, 2, 2);
INSERT INTO a VALUES (1, 10, 0);
SELECT * FROM a ORDER BY id;
--> 1 | 11 | 1
--> 2 | 2 | 2
SELECT id FROM a WHERE n = 11;
--> 1
SELECT id FROM a WHERE n = 10;
--> nothing
UPDATE a SET n = 0;
--! UPDATE replaces values, but 'merge-engine' = aggregation
DELETE FROM a WHERE id = 1;
--! please use
MERGE INTO a USING (SELECT 1 AS id, 5L AS n, 6 AS m) s ON a.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
--! MERGE replaces values, but 'merge-engine' = aggregation
INSERT OVERWRITE a VALUES (9, 9, 9);
SELECT * FROM a;
--> 9 | 9 | 9
CREATE TABLE f (id INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'merge-engine' = 'first-row');
INSERT INTO f VALUES (1, 'a'), (2, 'b');
INSERT INTO f VALUES (1, 'later'), (3, 'c');
SELECT * FROM f ORDER BY id;
--> 1 | a
--> 2 | b
--> 3 | c
UPDATE f SET v = 'x';
--! UPDATE replaces values, but 'merge-engine' = first-row
DELETE FROM f WHERE id = 1;
INSERT INTO f VALUES (1, 'again');
SELECT * FROM f ORDER BY id;
--> 1 | again
--> 2 | b
--> 3 | c
CREATE TABLE i (id INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'ignore-delete' = 'true');
INSERT INTO i VALUES (1, 'a');
DELETE FROM i WHERE id = 1;
--! cannot be deleted one by one: it ignores deletes ('ignore-delete').
UPDATE i SET v = 'b';
SELECT * FROM i;
--> 1 | b
CREATE TABLE s (id INT NOT NULL, v STRING, ts INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'sequence.field' = 'ts');
INSERT INTO s VALUES (1, 'new', 10);
INSERT INTO s VALUES (1, 'old', 5);
SELECT * FROM s;
--> 1 | new | 10
