CREATE TABLE t (id INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2');
CREATE TABLE u (id INT);
SELECT table_name, key, value FROM sys.all_table_options WHERE database_name = current_database() ORDER BY key;
--> t | bucket | 2
ALTER TABLE u SET TBLPROPERTIES ('write-only' = 'true');
SELECT table_name, key, value FROM sys.all_table_options WHERE database_name = current_database() ORDER BY key;
--> t | bucket | 2
--> u | write-only | true
SELECT count(*) FROM sys.catalog_options WHERE key = 'warehouse';
--> 1
SELECT * FROM sys.all_table_options VERSION AS OF 1;
--! sys.all_table_options shows the current state and has no versions
SELECT * FROM sys.all_the_options;
--! TABLE_OR_VIEW_NOT_FOUND
DROP TABLE sys.catalog_options;
--! TABLE_OR_VIEW_NOT_FOUND
INSERT INTO sys.catalog_options VALUES ('a', 'b');
--! sys.catalog_options
