CREATE TABLE t (id INT NOT NULL, v STRING, dt STRING NOT NULL) PARTITIONED BY (dt)
  TBLPROPERTIES ('primary-key' = 'id,dt', 'bucket' = '1', 'num-sorted-run.compaction-trigger' = '100');
INSERT INTO t VALUES (1, 'a', '20240101');
INSERT INTO t VALUES (1, 'b', '20240101');
INSERT INTO t VALUES (2, 'c', '20240102');
CALL sys.compact(table => 't', partitions => 'dt=20240101');
--> true
SELECT commit_kind FROM `t$snapshots` WHERE snapshot_id = 4;
--> COMPACT
SELECT partition, file_count FROM `t$partitions`;
--> dt=20240101 | 1
--> dt=20240102 | 1
CALL sys.compact(table => 't', compact_strategy => 'minor', where => "dt = '20240102'");
--> true
CALL sys.compact(table => 't', compact_strategy => 'nope');
--! must be full or minor
CALL sys.compact(table => 't', where => 'id = 1');
--! id
CALL sys.compact('t', order_strategy => 'zorder', order_by => 'v');
--! only append tables without buckets are sorted
CALL sys.compact('t', order_by => 'v');
--! order_strategy and order_by go together
CALL sys.compact('t', order_strategy => 'order');
--! order_strategy and order_by go together
CALL sys.compact('t', order_strategy => 'up', order_by => 'v');
--! must be one of none, order, zorder, hilbert, not 'up'
CALL sys.compact('t', compact_strategy => 'minor', order_strategy => 'order', order_by => 'v');
--! sorting rewrites all rows
CALL sys.compact('nope');
--! unknown table 'nope'
CALL sys.compat('t');
--! did you mean 'compact'?
CALL sys.compact(tabel => 't');
--! UNRECOGNIZED_PARAMETER_NAME
CALL sys.compact();
--! REQUIRED_PARAMETER_NOT_FOUND
CALL sys.create_tag('t', 'one', 'x');
--! x
CALL sys.compact_manifest('t');
--> true
CALL sys.compact_manifest(table => 't', dry_run => true);
--> true
CALL sys.compact_manifest(table => 't', manifest_sort_enabled => true, manifest_sort_partition_field => 'dt');
--> true
CALL sys.compact_manifest(table => 't', manifest_sort_max_rewrite_size => 'much');
--! manifest-sort.max-rewrite-size
CALL sys.compact(table => 't', partition_idle_time => '1 d', partitions => 'dt="20240102"');
--> true
CALL sys.compact(table => 't', partition_idle_time => 'soon');
--! give a length of time such as '7 d'
CALL sys.create_tag('t', 'one', 1);
--> true
CALL sys.create_tag(table => 't', tag => 'kept', snapshot => 2, time_retained => '1 d');
--> true
CALL sys.create_tag('t', 'one', 1);
--! one
CALL sys.rename_tag('t', 'one', 'first');
--> true
CALL sys.replace_tag(table => 't', tag => 'first', snapshot => 2);
--> true
SELECT tag_name, snapshot_id FROM `t$tags` ORDER BY tag_name;
--> first | 2
--> kept | 2
CALL sys.delete_tag('t', 'kept');
--> true
CALL sys.expire_tags(table => 't', older_than => '2000-01-01 00:00:00');
--> No expired tags.
CALL sys.create_branch('t', 'dev', 'first');
--> true
CALL sys.create_branch(table => 't', branch => 'dev', ignoreIfExists => 'true');
--> true
CALL sys.create_branch('t', 'empty');
--> true
CALL sys.rename_branch('t', 'empty', 'void');
--> true
SELECT branch_name FROM `t$branches`;
--> dev
--> void
CALL sys.delete_branch('t', 'void');
--> true
INSERT INTO `t$branch_dev` VALUES (3, 'dev', '20240103');
CALL sys.fast_forward('t', 'dev');
--> true
SELECT * FROM t ORDER BY id;
--> 1 | b | 20240101
--> 3 | dev | 20240103
CALL sys.rollback('t', 'first');
--> 3 | 2
CALL sys.rollback(table => 't', snapshot => 2, tag => 'first');
--! give one of
SELECT count(*) FROM t;
--> 1
INSERT INTO t VALUES (9, 'z', '20200101');
CALL sys.rollback_to_timestamp(table => 't', timestamp => 4102444800000);
--> 3 | 3
CALL sys.expire_partitions(table => 't', expiration_time => '1 d', timestamp_formatter => 'yyyyMMdd', timestamp_pattern => '$dt', max_expires => 1);
--> dt=20200101
CALL sys.reset_consumer(table => 't', consumerId => 'c1', nextSnapshotId => 2);
--> true
SELECT * FROM `t$consumers`;
--> c1 | 2
CALL sys.clear_consumers('t');
--> true
CALL sys.delete_tag('t', 'first');
--> true
CALL sys.delete_branch('t', 'dev');
--> true
CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1);
--> 3
CALL sys.remove_orphan_files(table => 't', dry_run => true);
--> 0 | 0
CREATE TABLE a (id INT);
INSERT INTO a VALUES (1);
CALL sys.create_branch('a', 'b');
--> true
INSERT INTO `a$branch_b` VALUES (2);
CALL sys.merge_branch('a', 'b');
--> true
SELECT * FROM a ORDER BY id;
--> 1
--> 2
CALL nowhere.compact('t');
--! sys
