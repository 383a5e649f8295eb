CREATE TABLE t (id INT, a ARRAY<INT>, m MAP<INT, DATE>, s STRUCT<x: INT, y: STRING, z: ARRAY<STRUCT<d: DATE>>>);
INSERT INTO t VALUES (1, array('1', '2'), map('3', '2024-01-01'), named_struct('x', '7', 'y', 'b', 'z', array(named_struct('d', '2024-02-02'))));
INSERT INTO t (s, id) SELECT struct('8', 'c', NULL), '2';
INSERT INTO t BY NAME SELECT 3 AS id, named_struct('z', NULL, 'y', 'd', 'x', '9') AS s;
SELECT * FROM t ORDER BY id;
--> 1 | [1, 2] | {3: 2024-01-01} | [7, b, [[2024-02-02]]]
--> 2 | NULL | NULL | [8, c, NULL]
--> 3 | NULL | NULL | [9, d, NULL]
INSERT INTO t (id, a) VALUES (4, array('x'));
--! CAST_INVALID_INPUT
INSERT INTO t (id, s) SELECT 4, named_struct('y', 'c', 'x', '8', 'z', NULL);
--! CAST_INVALID_INPUT
UPDATE t SET a = array('5'), m = map('6', '2024-03-03') WHERE id = 2;
UPDATE t SET s = named_struct('y', 'e', 'x', '10', 'z', NULL) WHERE id = 3;
MERGE INTO t USING (SELECT 1 AS id, array('9') AS a) q ON t.id = q.id WHEN MATCHED THEN UPDATE SET a = q.a;
SELECT * FROM t ORDER BY id;
--> 1 | [9] | {3: 2024-01-01} | [7, b, [[2024-02-02]]]
--> 2 | [5] | {6: 2024-03-03} | [8, c, NULL]
--> 3 | NULL | NULL | [10, e, NULL]
SET `spark.paimon.write.merge-schema`=true;
INSERT INTO t BY NAME SELECT '4' AS id, array('1') AS a, named_struct('x', '11', 'y', 'f', 'z', CAST(NULL AS ARRAY<STRUCT<d: DATE>>), 'w', 'new') AS s;
SELECT id, a, s FROM t WHERE id = 4;
--> 4 | [1] | [11, f, NULL, new]
SET `spark.paimon.write.merge-schema.type-widening`=true;
INSERT INTO t BY NAME SELECT '5' AS id, array('2') AS a;
SELECT id + 0, a FROM t WHERE id = 5;
--> 5 | [2]
DESCRIBE t id;
--> col_name | id
--> data_type | int
--> comment | NULL
