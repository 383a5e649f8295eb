-- kinds: append, keyed
CREATE TABLE t (id INT, d DATE, ts TIMESTAMP, n TIMESTAMP_NTZ, m DECIMAL(5, 2), b BOOLEAN, x DOUBLE, v STRING, p INT) PARTITIONED BY (p) $PROPERTIES[p];
INSERT INTO t VALUES ('1', '2024-01-01', '2024-01-01 10:00:00', '2024-01-01 11:00:00', '1.5', 'true', '1e3', 'a', '7');
INSERT INTO t (p, d, id) VALUES ('8', '2024-01-02', 2);
INSERT INTO t BY NAME SELECT '9' AS p, '3' AS ID;
INSERT INTO t PARTITION (p = '10') (m, id) VALUES ('2.25', '4');
INSERT INTO t PARTITION (p = 11) SELECT CAST(id + 4 AS STRING), CAST(d AS STRING), ts, n, CAST(m AS STRING), b, CAST(x AS STRING), v FROM t WHERE id = 1;
SELECT id, d, string(ts), n, m, b, x, v, p FROM t ORDER BY id;
--> 1 | 2024-01-01 | 2024-01-01 10:00:00 | 2024-01-01 11:00:00 | 1.50 | true | 1000.0 | a | 7
--> 2 | 2024-01-02 | NULL | NULL | NULL | NULL | NULL | NULL | 8
--> 3 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 9
--> 4 | NULL | NULL | NULL | 2.25 | NULL | NULL | NULL | 10
--> 5 | 2024-01-01 | 2024-01-01 10:00:00 | 2024-01-01 11:00:00 | 1.50 | true | 1000.0 | a | 11
UPDATE t SET d = '2025-02-03', x = v WHERE id = 2;
MERGE INTO t USING (SELECT '2' AS i, '2030-01-01' AS e UNION ALL SELECT '6', '2031-01-01') s ON t.id = s.i
  WHEN MATCHED THEN UPDATE SET m = '3.5'
  WHEN NOT MATCHED THEN INSERT (id, d, p) VALUES (s.i, s.e, '12');
SELECT id, d, m, p FROM t WHERE id IN (2, 6) ORDER BY id;
--> 2 | 2025-02-03 | 3.50 | 8
--> 6 | 2031-01-01 | NULL | 12
INSERT OVERWRITE t PARTITION (p = 12) SELECT '7', '2032-01-01', NULL, NULL, NULL, NULL, NULL, NULL;
SELECT id, d FROM t WHERE p = 12;
--> 7 | 2032-01-01
SET spark.sql.ansi.enabled=false;
INSERT INTO t (id, p) VALUES ('x', 1);
--! CAST_INVALID_INPUT
UPDATE t SET m = 'x' WHERE id = 1;
--! CAST_INVALID_INPUT
INSERT INTO t (id, d, p) VALUES (8, '2024-13-01', 1);
--! CAST_INVALID_INPUT
SET spark.sql.ansi.enabled=true;
INSERT INTO t (id, d, p) VALUES (8, 5, 1);
--! INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST
SET spark.sql.storeAssignmentPolicy=STRICT;
INSERT INTO t (id, p) VALUES ('8', 1);
--! INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST
SET spark.sql.storeAssignmentPolicy=ANSI;
SELECT count(*) FROM t;
--> 6
