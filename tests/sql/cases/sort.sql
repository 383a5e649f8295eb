CREATE TABLE t (x INT, y STRING, p STRING) PARTITIONED BY (p);
INSERT INTO t VALUES (3, 'c', 'a'), (1, 'a', 'a'), (9, 'i', 'b');
INSERT INTO t VALUES (NULL, 'n', 'a'), (2, 'b', 'a'), (8, 'h', 'b');
CALL sys.compact(table => 't', order_strategy => 'order', order_by => 'x', where => "p = 'a'");
--> true
SELECT partition, file_count FROM `t$partitions` ORDER BY partition;
--> p=a | 1
--> p=b | 2
SELECT commit_kind FROM `t$snapshots` ORDER BY snapshot_id DESC LIMIT 1;
--> COMPACT
SELECT x, y FROM t WHERE p = 'a';
--> NULL | n
--> 1 | a
--> 2 | b
--> 3 | c
CALL sys.compact(table => 't', order_strategy => 'zorder', order_by => 'x,y');
--> true
CALL sys.compact(table => 't', order_strategy => 'HILBERT', order_by => 'x,y', where => "p = 'b'");
--> true
SELECT * FROM t ORDER BY y;
--> 1 | a | a
--> 2 | b | a
--> 3 | c | a
--> 8 | h | b
--> 9 | i | b
--> NULL | n | a
SELECT file_count FROM `t$partitions`;
--> 1
--> 1
CALL sys.compact('t', order_strategy => 'order', order_by => 'p');
--! 'p' is a partition column
CALL sys.compact('t', order_strategy => 'order', order_by => 'z');
--! unknown column 'z'
CREATE TABLE b (id INT, v STRING) TBLPROPERTIES ('bucket' = '2', 'bucket-key' = 'id');
CALL sys.compact('b', order_strategy => 'order', order_by => 'v');
--! only append tables without buckets are sorted
