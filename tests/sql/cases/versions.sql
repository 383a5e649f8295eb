-- kinds: append, keyed
CREATE TABLE t (id INT NOT NULL, v STRING) $PROPERTIES;
INSERT INTO t VALUES (1, 'a');
INSERT INTO t VALUES (2, 'b');
CALL sys.create_tag('t', 'first', 1);
--> true
CALL sys.create_tag(table => 't', tag => '2', snapshot => 1);
--> true
ALTER TABLE t ADD COLUMN n INT;
INSERT INTO t VALUES (3, 'c', 30);
SELECT * FROM t VERSION AS OF 1;
--> 1 | a
SELECT * FROM t VERSION AS OF 'first';
--> 1 | a
SELECT * FROM t VERSION AS OF 3 ORDER BY id;
--> 1 | a | NULL
--> 2 | b | NULL
--> 3 | c | 30
SELECT * FROM t VERSION AS OF '2';
--> 1 | a
SELECT count(*) FROM t TIMESTAMP AS OF '2099-01-01 00:00:00';
--> 3
SELECT count(*) FROM t TIMESTAMP AS OF current_timestamp();
--> 3
SELECT * FROM t TIMESTAMP AS OF '1999-01-01';
--! has no snapshot at or before
SELECT * FROM t VERSION AS OF 9;
--! snapshot 9 of table
SELECT * FROM t VERSION AS OF 'nope';
--! nope
SELECT id, v FROM t WITH ('scan.snapshot-id' = '1');
--> 1 | a
SELECT * FROM t WITH ('scan.tag-name' = 'first');
--> 1 | a
SELECT id FROM t WITH ('incremental-between' = '1,3');
--> 2
--> 3
SELECT * FROM t WITH ('scan.snapshot-i' = '1');
--! unknown option 'scan.snapshot-i'
SELECT snapshot_id, commit_kind FROM `t$snapshots` ORDER BY snapshot_id;
--> 1 | APPEND
--> 2 | APPEND
--> 3 | APPEND
SELECT tag_name, snapshot_id FROM `t$tags` WHERE tag_name = 'first';
--> first | 1
SELECT schema_id FROM `t$schemas`;
--> 0
--> 1
SELECT count(*) FROM `t$files`;
--> 3
SELECT * FROM `t$nope`;
--! unknown system table 'nope'
SELECT * FROM `nope$files`;
--! TABLE_OR_VIEW_NOT_FOUND
INSERT INTO `t$files` SELECT * FROM `t$files`;
--! does not support append in batch mode
CALL sys.create_branch('t', 'dev', 'first');
--> true
SELECT * FROM `t$branch_dev`;
--> 1 | a
INSERT INTO `t$branch_dev` VALUES (7, 'g');
SELECT * FROM `t$branch_dev` ORDER BY id;
--> 1 | a
--> 7 | g
SELECT count(*) FROM t;
--> 3
SELECT snapshot_id FROM `t$branch_dev$snapshots` ORDER BY snapshot_id;
--> 1
--> 2
SELECT branch_name FROM `t$branches`;
--> dev
SELECT * FROM `t$branch_nope`;
--! branch 'nope'
SET spark.paimon.branch=dev;
SELECT count(*) FROM t;
--> 2
RESET spark.paimon.branch;
SELECT * FROM t WITH ('branch' = 'dev') ORDER BY id;
--> 1 | a
--> 7 | g
SELECT count(*) FROM t;
--> 3
