-- kinds: append, keyed
CREATE TABLE t (id INT NOT NULL, v STRING) $PROPERTIES;
INSERT INTO t VALUES (1, 'a');
INSERT INTO t VALUES (2, 'b');
ALTER TABLE t CREATE TAG `2024-10-12`;
ALTER TABLE t CREATE TAG b AS OF VERSION 1 RETAIN 3 HOURS;
alter table t create tag if not exists b;
SHOW TAGS t;
--> 2024-10-12
--> b
SELECT tag_name, snapshot_id, time_retained FROM `t$TAGS` ORDER BY tag_name;
--> 2024-10-12 | 2 | NULL
--> b | 1 | PT3H
ALTER TABLE t CREATE TAG b;
--! tag 'b' of table
ALTER TABLE t CREATE OR REPLACE TAG b AS OF VERSION 2 RETAIN 2 DAYS;
ALTER TABLE t CREATE OR REPLACE TAG c;
ALTER TABLE t REPLACE TAG c AS OF VERSION 1;
ALTER TABLE t RENAME TAG c TO d;
SELECT tag_name, snapshot_id, time_retained FROM `t$tags` ORDER BY tag_name;
--> 2024-10-12 | 2 | NULL
--> b | 2 | PT48H
--> d | 1 | NULL
SELECT count(*) FROM t VERSION AS OF 'd';
--> 1
ALTER TABLE t REPLACE TAG nope;
--! nope
ALTER TABLE t DELETE TAG `2024-10-12, b`;
ALTER TABLE t DELETE TAG IF EXISTS nope;
SHOW TAGS t;
--> d
ALTER TABLE nope CREATE TAG x;
--! TABLE_OR_VIEW_NOT_FOUND
SHOW TAGS nope;
--! TABLE_OR_VIEW_NOT_FOUND
ALTER TABLE t CREATE TAG;
--! PARSE_SYNTAX_ERROR
CALL sys.nope('t');
--! known: clear_consumers, compact
