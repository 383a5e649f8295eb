CREATE TABLE t (id BIGINT, seq BIGINT, v STRING) PARTITIONED BY (dt STRING) TBLPROPERTIES ('primary-key' = 'dt,id', 'bucket' = '1', 'bucket-key' = 'id', 'sequence.field' = 'seq', 'partition.timestamp-pattern' = '$dt', 'partition.timestamp-formatter' = 'yyyyMMdd', 'chain-table.enabled' = 'true');
CALL sys.create_branch('t', 'snapshot');
--> true
CALL sys.create_branch('t', 'delta');
--> true
ALTER TABLE t SET TBLPROPERTIES ('scan.fallback-snapshot-branch' = 'snapshot', 'scan.fallback-delta-branch' = 'delta');
ALTER TABLE `t$branch_snapshot` SET TBLPROPERTIES ('scan.fallback-snapshot-branch' = 'snapshot', 'scan.fallback-delta-branch' = 'delta');
ALTER TABLE `t$branch_delta` SET TBLPROPERTIES ('scan.fallback-snapshot-branch' = 'snapshot', 'scan.fallback-delta-branch' = 'delta');
INSERT OVERWRITE `t$branch_snapshot` PARTITION (dt = '20250101') VALUES (1, 1, 'a'), (2, 1, 'b');
INSERT OVERWRITE `t$branch_delta` PARTITION (dt = '20250102') VALUES (2, 2, 'B'), (3, 1, 'c');
SELECT * FROM t WHERE dt = '20250102';
--> 1 | 1 | a | 20250102
--> 2 | 2 | B | 20250102
--> 3 | 1 | c | 20250102
SELECT branch_name FROM `t$branches`;
--> delta
--> snapshot
CALL sys.create_branch('t', 'delta');
--! branch 'delta'
CALL sys.create_branch('t', 'dev');
--> true
CALL sys.create_branch('t', 'dev');
--! branch 'dev'
CREATE TABLE u (id BIGINT, v STRING) PARTITIONED BY (dt STRING) TBLPROPERTIES ('primary-key' = 'dt,id', 'bucket' = '1', 'partition.timestamp-pattern' = '$dt', 'partition.timestamp-formatter' = 'yyyyMMdd', 'chain-table.enabled' = 'true');
CALL sys.create_branch('u', 'full');
CALL sys.create_branch('u', 'changes');
ALTER TABLE u SET TBLPROPERTIES ('scan.fallback-snapshot-branch' = 'full', 'scan.fallback-delta-branch' = 'changes');
ALTER TABLE `u$branch_full` SET TBLPROPERTIES ('scan.fallback-snapshot-branch' = 'full', 'scan.fallback-delta-branch' = 'changes');
ALTER TABLE `u$branch_changes` SET TBLPROPERTIES ('scan.fallback-snapshot-branch' = 'full', 'scan.fallback-delta-branch' = 'changes');
INSERT INTO `u$branch_full` VALUES (1, 'a', '20250101');
INSERT INTO `u$branch_changes` VALUES (2, 'b', '20250102');
SELECT * FROM u WHERE dt = '20250102';
--> 1 | a | 20250102
--> 2 | b | 20250102
