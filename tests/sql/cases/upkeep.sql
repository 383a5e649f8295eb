CREATE TABLE k (id INT NOT NULL, d DATE NOT NULL, v INT) PARTITIONED BY (d) TBLPROPERTIES ('primary-key' = 'id,d', 'bucket' = '1');
INSERT INTO k VALUES (1, DATE '2024-01-01', 1), (2, DATE '2024-01-01', 2), (3, DATE '2024-01-02', 3);
CALL sys.rescale('k', 3, 'd=2024-01-01');
--> true
SELECT partition, total_buckets FROM `k$partitions`;
--> d=2024-01-01 | 3
--> d=2024-01-02 | 1
CALL sys.rescale(table => 'k', bucket_num => 2, where => "d > DATE '2024-01-01'");
--> true
SELECT partition, total_buckets FROM `k$partitions`;
--> d=2024-01-01 | 3
--> d=2024-01-02 | 2
SELECT * FROM k ORDER BY id;
--> 1 | 2024-01-01 | 1
--> 2 | 2024-01-01 | 2
--> 3 | 2024-01-02 | 3
INSERT INTO k VALUES (4, DATE '2024-01-02', 4);
--! option 'bucket' is 1, but a partition has files of 2 buckets. Call rescale()
ALTER TABLE k SET TBLPROPERTIES ('bucket' = '2');
INSERT INTO k VALUES (4, DATE '2024-01-02', 4);
CALL sys.rescale('k');
--> true
SELECT partition, total_buckets FROM `k$partitions`;
--> d=2024-01-01 | 2
--> d=2024-01-02 | 2
CALL sys.rescale('k', 0);
--! the number of buckets is 0; it must be an integer of at least 1
CALL sys.rescale(table => 'k', partitions => 'd=2024-01-01', where => 'd IS NULL');
--! give either partitions or where, not both
CALL sys.rescale(table => 'k', partitions => 'nope=1');
--! unknown column 'nope'
CALL sys.rescale(table => 'k', where => 'id = 1');
--! unknown column 'id'
CALL sys.mark_partition_done('k', 'd=2024-01-01');
--> true
CALL sys.mark_partition_done(table => 'k', partitions => 'd=2024-01-01;d=2024-01-02');
--> true
CALL sys.mark_partition_done('k', 'd=tomorrow');
--! partition column 'd' is DATE
CALL sys.mark_partition_done('k', 'nope=1');
--! a partition to be marked done has a value of each of d, not of nope
CALL sys.mark_partition_done('k', '');
--! argument partitions names no partition; write it like
CALL sys.remove_unexisting_files('k');
CALL sys.remove_unexisting_files(table => 'k', dry_run => true);
CALL sys.repair_earliest_snapshot(table => 'k', snapshot_id => 2);
--> 1 | 2
SELECT min(snapshot_id) FROM `k$snapshots`;
--> 2
CALL sys.repair_earliest_snapshot('k', 1);
--! snapshot 1 of table k does not exist; snapshots 2 to 5 exist
CALL sys.repair_earliest_snapshot('k', 99);
--! snapshot 99 of table k does not exist; snapshots 2 to 5 exist
CALL sys.create_tag_from_timestamp('k', 'late', 4102444800000);
--! has no snapshot at or after 4102444800000 (epoch milliseconds); choose an
CALL sys.create_tag_from_timestamp(table => 'k', tag => 'early', timestamp => 0, time_retained => '1 d');
SELECT tag_name, snapshot_id FROM `k$tags`;
--> early | 2
CALL sys.rollback_to_watermark('k', 5);
--! has no snapshot with a watermark of at most 5; choose a snapshot or a tag
CALL sys.rollback_to_watermark(table => 'k');
--! REQUIRED_PARAMETER_NOT_FOUND
CALL sys.create_branch('k', 'b', 'early');
--> true
CALL sys.purge_files('k');
--> Success
SELECT count(*) FROM k;
--> 0
SELECT count(*) FROM `k$snapshots`;
--> 1
SELECT count(*) FROM `k$tags`;
--> 0
SELECT count(*) FROM `k$branches`;
--> 0
INSERT INTO k VALUES (5, DATE '2024-01-05', 5);
SELECT * FROM k;
--> 5 | 2024-01-05 | 5
CREATE TABLE a (id INT);
CALL sys.purge_files('a');
--> Success
CALL sys.rescale('a', 2);
--! has no fixed number of buckets ('bucket' = -1), so it cannot be rescaled
CALL sys.mark_partition_done('a', 'x=1');
--! has no partitions, so none can be marked done
CALL sys.repair_earliest_snapshot('a', 1);
--! has no snapshots, so none can be its earliest
CALL sys.create_tag_from_timestamp('a', 'x', 0);
--! has no snapshot at or after 0 (epoch milliseconds); choose an earlier time
INSERT INTO a VALUES (1), (2);
CALL sys.compact_database(including_databases => 'nothing.*');
--> Success
CALL sys.compact_database(including_tables => '(');
--! '(' is not a regular expression: missing ), unterminated subpattern at
CALL sys.compact('a');
--> true
CALL sys.compact(table => 'a', buckets => '1');
--! argument buckets is not supported by Lakebed; leave it out
CALL sys.reset_consumer('a', 'reader', 1);
--> true
CALL sys.reset_consumer('a', 'other', 1);
--> true
CALL sys.clear_consumers('a', 'read.*', '');
--> true
SELECT consumer_id FROM `a$consumers`;
--> other
CALL sys.reset_consumer(table => 'a', consumerId => 'other');
--> true
SELECT count(*) FROM `a$consumers`;
--> 0
CALL sys.expire_snapshots('a', 1, 1);
--> 0
CALL sys.remove_orphan_files(table => 'a', older_than => '2000-01-01 00:00:00');
--> 0 | 0
CALL sys.remove_orphan_files(table => 'a', mode => 'sideways');
--! argument mode must be local or distributed, not 'sideways'
CALL sys.expire_tags('a');
--> No expired tags.
CALL sys.expire_partitions(table => 'a', expiration_time => '1 d');
--! has no partitions, so none can expire
CALL sys.merge_branch('a', 'nope');
--! has no branch 'nope'; its branches: main
CALL sys.delete_tag('a', 'nope');
--! unknown tag 'nope' in table
CALL sys.delete_branch('a', 'nope');
--! unknown branch 'nope' in table
CALL sys.fast_forward('a', 'nope');
--! has no branch 'nope'; its branches: main
CALL sys.rollback('a', '77');
--! snapshot 77 of table a does not exist; snapshots 1 to 1 exist
CALL sys.rollback(table => 'a', tag => 'nope');
--! unknown tag 'nope' in table
CALL sys.rollback('a');
--! give one of version, snapshot and tag to roll back to
CALL lakebed.sys.create_tag('a', 'x');
--> true
