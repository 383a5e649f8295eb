-- kinds: append, keyed
CREATE TABLE t (id INT NOT NULL, v STRING, n INT DEFAULT 5) $PROPERTIES;
INSERT INTO t VALUES (1, 'a', 1);
INSERT INTO t BY NAME SELECT 2 AS id, 'b' AS v, 20 AS extra;
--! INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS
SET `spark.paimon.write.merge-schema`=true;
INSERT INTO t BY NAME SELECT 2 AS id, 'b' AS v, 20 AS extra;
SELECT * FROM t ORDER BY id;
--> 1 | a | 1 | NULL
--> 2 | b | 5 | 20
INSERT INTO t SELECT 3, 'c', 3, 30, named_struct('k', 1) AS deep, 'w' AS word;
INSERT INTO t BY NAME SELECT 4 AS ID, named_struct('l', 'in', 'k', 4) AS deep;
INSERT INTO t VALUES (5, 'e');
--! has 6 columns, and the rows have 2; name the columns, or write INSERT INTO
INSERT INTO t BY NAME SELECT 'x' AS id;
--! CAST_INVALID_INPUT
INSERT INTO t BY NAME SELECT 4 AS id, DATE '2024-01-01' AS n;
--! INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST
INSERT INTO t BY NAME SELECT 3000000000 AS id;
--! CAST_OVERFLOW_IN_TABLE_INSERT
INSERT INTO t BY NAME SELECT 'x' AS v;
--! INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA
SELECT * FROM t ORDER BY id;
--> 1 | a | 1 | NULL | NULL | NULL
--> 2 | b | 5 | 20 | NULL | NULL
--> 3 | c | 3 | 30 | [1, NULL] | w
--> 4 | NULL | 5 | NULL | [4, in] | NULL
DESCRIBE t;
--> id | int | NULL
--> v | string | NULL
--> n | int | NULL
--> extra | int | NULL
--> deep | struct<k:int,l:string> | NULL
--> word | string | NULL
SET `spark.paimon.write.merge-schema.type-widening`=true;
INSERT INTO t BY NAME SELECT 5 AS id, 3000000000 AS n, cast(6 AS SMALLINT) AS extra;
SELECT id, n, extra FROM t WHERE id = 5;
--> 5 | 3000000000 | 6
DESCRIBE t n;
--> col_name | n
--> data_type | bigint
--> comment | NULL
DESCRIBE t extra;
--> col_name | extra
--> data_type | int
--> comment | NULL
SET `spark.paimon.write.merge-schema.explicit-cast`=true;
INSERT INTO t BY NAME SELECT 6 AS id, cast(7 AS BIGINT) AS extra;
SELECT id, extra FROM t WHERE id = 6;
--> 6 | 7
RESET `spark.paimon.write.merge-schema.explicit-cast`;
RESET `spark.paimon.write.merge-schema.type-widening`;
INSERT OVERWRITE t SELECT 7, 'g', 7L, 70, NULL, 'w', true AS flag;
SELECT * FROM t;
--> 7 | g | 7 | 70 | NULL | w | true
RESET `spark.paimon.write.merge-schema`;
INSERT INTO t WITH ('write.merge-schema' = 'true') BY NAME SELECT 8 AS id, 1.5 AS half;
SELECT id, half FROM t ORDER BY id;
--> 7 | NULL
--> 8 | 1.5
INSERT INTO t BY NAME SELECT 9 AS id, 1 AS more;
--! INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS
INSERT WITH SCHEMA EVOLUTION INTO t BY NAME SELECT 9 AS id, 1 AS more;
--@ 4.2 the clause is new
SELECT id, more FROM t ORDER BY id;
--@ 4.2 the column is not there
--> 7 | NULL
--> 8 | NULL
--> 9 | 1
MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT 9 AS id, 'z' AS v, 'new' AS most) s ON t.id = s.id
  WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
SELECT id, v, most FROM t WHERE id = 9;
--> 9 | z | new
SELECT more FROM t WHERE id = 9;
--@ 4.2 the column is not there
--> 1
