-- Properties of the user are stored and shown; a name that is like an option is refused.
CREATE TABLE t (id INT COMMENT 'its number', dt STRING) PARTITIONED BY (dt) COMMENT 'told'
TBLPROPERTIES ('k1' = 'v1', 'team.owner' = 'sales', 'bucket' = '-1');
SHOW TBLPROPERTIES t ('k1');
--> k1 | v1
SELECT * FROM `t$options` ORDER BY key;
--> bucket | -1
--> k1 | v1
--> team.owner | sales
ALTER TABLE t SET TBLPROPERTIES ('k2' = 'v2');
ALTER TABLE t UNSET TBLPROPERTIES ('k1');
SELECT key FROM `t$options` ORDER BY key;
--> bucket
--> k2
--> team.owner
INSERT INTO t VALUES (1, 'a');
CREATE TABLE no (id INT) TBLPROPERTIES ('bukcet' = '2');
--! unknown option 'bukcet' in table
ALTER TABLE t SET TBLPROPERTIES ('snapshot.num_retained.max' = '20');
--! did you mean 'snapshot.num-retained.max'?
CREATE TABLE no (id INT) TBLPROPERTIES ('s3.secret-key' = 'x');
--! is a setting of the storage
CREATE TABLE only_added (id INT) TBLPROPERTIES ('branch-merge.enabled' = 'true');
INSERT INTO only_added VALUES (1);
INSERT INTO only_added VALUES (2);
CALL sys.create_branch('only_added', 'b');
INSERT INTO `only_added$branch_b` VALUES (3);
CALL sys.compact('only_added');
--! 'branch-merge.enabled' = true
INSERT OVERWRITE only_added VALUES (9);
--! 'branch-merge.enabled' = true
DELETE FROM only_added WHERE id = 1;
--! 'branch-merge.enabled' = true
SELECT count(*) FROM only_added;
--> 2
CREATE TABLE no (id INT) TBLPROPERTIES ('branch-merge.enabled' = 'true', 'primary-key' = 'id');
--! has a primary key, so its branches cannot be merged
CREATE TABLE no (id INT) TBLPROPERTIES ('branch-merge.enabled' = 'true', 'deletion-vectors.enabled' = 'true');
--! has deletion vectors, so its branches cannot be merged
CREATE TABLE shown (a INT, b STRING COMMENT 'bb') PARTITIONED BY (b) TBLPROPERTIES ('k1' = 'v1', 'primary-key' = 'a,b', 'bucket' = '1');
SHOW TBLPROPERTIES shown ('k1');
--> k1 | v1
