-- kinds: append, keyed
CREATE TABLE t (id INT NOT NULL, v STRING, s STRUCT<a: INT, b: STRING>) $PROPERTIES;
INSERT INTO t VALUES (1, 'a', named_struct('a', 1, 'b', 'x')), (2, 'b', named_struct('a', 2, 'b', 'y'));
UPDATE t SET s = named_struct('b', 'z', 'a', 10) WHERE id = 1;
MERGE INTO t USING (SELECT 2 AS id, named_struct('b', 'w', 'a', 20) AS s) n ON t.id = n.id
  WHEN MATCHED THEN UPDATE SET t.s = n.s;
SELECT id, s FROM t ORDER BY id;
--> 1 | [10, z]
--> 2 | [20, w]
MERGE INTO t USING (SELECT 2 AS id, 'c' AS v, named_struct('a', 3, 'b', 'q', 'c', 1) AS s, 5 AS extra) n ON t.id = n.id
  WHEN MATCHED THEN UPDATE SET t.extra = n.extra;
--! extra
SET `spark.paimon.write.merge-schema`=true;
MERGE INTO t USING (SELECT 2 AS ID, named_struct('c', 1L, 'a', 3) AS s, 5 AS extra) n ON t.id = n.ID
  WHEN MATCHED THEN UPDATE SET *
  WHEN NOT MATCHED THEN INSERT *;
SELECT * FROM t ORDER BY id;
--> 1 | a | [10, z, NULL] | NULL
--> 2 | b | [3, w, 1] | 5
MERGE INTO t USING (SELECT 3 AS id, 'c' AS v, 'more' AS more, 1 AS unused) n ON t.id = n.id
  WHEN MATCHED THEN DELETE
  WHEN NOT MATCHED THEN INSERT (id, v, more) VALUES (n.id, n.v, n.more)
  WHEN NOT MATCHED BY SOURCE AND t.id = 1 THEN UPDATE SET v = 'gone';
SELECT id, v, extra, more FROM t ORDER BY id;
--> 1 | gone | NULL | NULL
--> 2 | b | 5 | NULL
--> 3 | c | NULL | more
MERGE INTO t USING (SELECT 3 AS id, 1 AS failed, assert_true(false) AS n) n ON t.id = n.id
  WHEN MATCHED THEN UPDATE SET t.failed = n.failed, t.v = string(n.n);
--! is not true
MERGE INTO t USING (SELECT 3 AS id, 1 AS failed UNION ALL SELECT 3, 2) n ON t.id = n.id
  WHEN MATCHED THEN UPDATE SET *;
--! MERGE_CARDINALITY_VIOLATION
DESCRIBE t;
--> id | int | NULL
--> v | string | NULL
--> s | struct<a:int,b:string,c:bigint> | NULL
--> extra | int | NULL
--> more | string | NULL
CREATE TABLE deep (id INT NOT NULL, l ARRAY<STRUCT<a: INT, b: INT>>, m MAP<STRING, STRUCT<a: INT, b: INT>>) $PROPERTIES;
INSERT INTO deep VALUES (1, array(named_struct('a', 1, 'b', 2)), map('k', named_struct('a', 1, 'b', 2)));
MERGE INTO deep USING (SELECT 1 AS id, array(named_struct('b', 3, 'c', 4)) AS l, map('k', named_struct('c', 5, 'a', 6)) AS m) n
  ON deep.id = n.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
SELECT l[0].a, l[0].b, l[0].c, m['k'].a, m['k'].b, m['k'].c FROM deep;
--> NULL | 3 | 4 | 6 | NULL | 5
SET `spark.paimon.write.merge-schema.type-widening`=true;
MERGE INTO t USING (SELECT 3 AS id, 3000000000 AS extra) n ON t.id = n.id
  WHEN MATCHED THEN UPDATE SET *;
SELECT id, extra FROM t WHERE id = 3;
--> 3 | 3000000000
RESET `spark.paimon.write.merge-schema.type-widening`;
RESET `spark.paimon.write.merge-schema`;
