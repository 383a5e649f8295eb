-- kinds: append, keyed
CREATE TABLE t (id INT NOT NULL, v STRING, p STRING NOT NULL) PARTITIONED BY (p) $PROPERTIES[p];
INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y');
INSERT INTO t VALUES (3, 'c', 'x');
CALL sys.create_tag('t', 'one', 1);
--> true
ALTER TABLE t ADD COLUMN n INT;
INSERT INTO t (id, p, n) VALUES (4, 'z', 40);
SELECT snapshot_id, schema_id FROM `t$snapshots` WHERE commit_kind = 'APPEND' ORDER BY snapshot_id;
--> 1 | 0
--> 2 | 0
--> 3 | 1
SELECT count(*) = count(DISTINCT commit_time) FROM `t$snapshots`;
--> true
SELECT schema_id, partition_keys FROM `t$schemas` ORDER BY schema_id;
--> 0 | ["p"]
--> 1 | ["p"]
SELECT key FROM `t$options` WHERE key = 'nope';
--> nothing
SELECT tag_name, record_count FROM `t$tags`;
--> one | 2
SELECT branch_name FROM `t$branches`;
--> nothing
SELECT * FROM `t$consumers`;
--> nothing
SELECT partition, record_count FROM `t$partitions`;
--> p=x | 2
--> p=y | 1
--> p=z | 1
SELECT partition, sum(record_count) FROM `t$files` GROUP BY partition;
--> {x} | 2
--> {y} | 1
--> {z} | 1
SELECT partition, sum(record_count) FROM `t$buckets` GROUP BY partition;
--> {x} | 2
--> {y} | 1
--> {z} | 1
SELECT count(*) > 0 FROM `t$manifests`;
--> true
SELECT count(*) > 0 FROM `t$file_key_ranges`;
--> true
SELECT count(*) FROM `t$table_indexes`;
--> 0
SELECT field_name, field_type FROM `t$aggregation_fields`;
--> id | INT NOT NULL
--> v | STRING
--> p | STRING NOT NULL
--> n | INT
SELECT rowkind, id, n FROM `t$audit_log`;
--> +I | 1 | NULL
--> +I | 2 | NULL
--> +I | 3 | NULL
--> +I | 4 | 40
SELECT partition, record_count FROM `t$partitions` VERSION AS OF 1;
--> p=x | 1
--> p=y | 1
SELECT partition, record_count FROM `t$partitions` VERSION AS OF 'one';
--> p=x | 1
--> p=y | 1
SELECT sum(record_count) FROM `t$files` WITH ('scan.tag-name' = 'one');
--> 2
SELECT count(*) FROM `t$files` TIMESTAMP AS OF '2099-01-01 00:00:00';
--> 4
SELECT * FROM `t$audit_log` VERSION AS OF 'one' ORDER BY id;
--> +I | 1 | a | x
--> +I | 2 | b | y
SELECT * FROM `t$tags` VERSION AS OF 1;
--! describes the whole history, so it has no versions; read it without one.
SELECT * FROM `t$files` VERSION AS OF 99;
--! snapshot 99 of table t does not exist; snapshots 1 to 3 exist
SELECT f.partition, s.commit_kind FROM `t$files` f CROSS JOIN `t$snapshots` s WHERE s.snapshot_id = 1 AND f.partition = '{z}';
--> {z} | APPEND
CALL sys.create_branch('t', 'dev', 'one');
--> true
INSERT INTO `t$branch_dev` VALUES (9, 'dev', 'x');
SELECT id FROM `t$branch_dev` ORDER BY id;
--> 1
--> 2
--> 9
SELECT id FROM `t$branch_dev` VERSION AS OF 1 ORDER BY id;
--> 1
--> 2
SELECT count(*) FROM `t$branch_dev$snapshots` WHERE commit_kind = 'APPEND';
--> 2
SELECT partition, record_count FROM `t$branch_dev$partitions`;
--> p=x | 2
--> p=y | 1
SELECT partition, record_count FROM `t$branch_dev$partitions` VERSION AS OF 1;
--> p=x | 1
--> p=y | 1
SELECT sum(record_count) FROM `t$files` WITH ('branch' = 'dev');
--> 3
DELETE FROM `t$branch_dev` WHERE id = 1;
UPDATE `t$branch_dev` SET v = 'changed' WHERE id = 9;
SELECT id, v FROM `t$branch_dev` ORDER BY id;
--> 2 | b
--> 9 | changed
SELECT count(*) FROM t;
--> 4
ALTER TABLE `t$branch_dev` ADD COLUMN extra INT;
SHOW COLUMNS IN `t$branch_dev`;
--> id
--> v
--> p
--> extra
SHOW COLUMNS IN t;
--> id
--> v
--> p
--> n
TRUNCATE TABLE `t$branch_dev`;
SELECT count(*) FROM `t$branch_dev`;
--> 0
DROP TABLE `t$branch_dev`;
--! give the plain name of the table to drop, without a $
SELECT * FROM `t$branch_main$tags` WHERE tag_name = 'nope';
--> nothing
CALL sys.compact('t');
--> true
SELECT id, n FROM `t$ro` ORDER BY id;
--> 1 | NULL
--> 2 | NULL
--> 3 | NULL
--> 4 | 40
