"""Where the numbers of the dashboard come from: the modules here compute what the REST interface returns.

| on the dashboard | module |
|---|---|
| the health of a table, with its verdicts and reasons | ``table_health`` |
| partitions, buckets with their levels, files, totals | ``table_contents`` |
| snapshots, and what each one changed | ``snapshot_changes`` |
| the partitions of a chain table | ``chain_partitions`` |

``live_files`` caches the files of snapshots. All numbers are read from metadata; ``routes`` serves them.
"""
