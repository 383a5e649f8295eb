"""What users do to a table: one verb, one module. Each plans, writes files, and makes one commit.

| verb | module |
|---|---|
| read rows, read changes, diff | ``read``, ``read_changes``, ``diff`` |
| write, overwrite, delete | ``write``, ``overwrite``, ``delete`` |
| UPDATE and MERGE on append tables | ``replace_rows`` |
| drop partitions, truncate | ``drop_partitions`` |
| compact, compact manifests | ``compact/`` |
| expire snapshots, partitions, changelogs | ``expire/`` |
| expire tags, consumers | ``metadata/tags``, ``metadata/consumers`` |
| what runs after every commit | ``after_commit``, and ``compact/compact_after_write`` before it |
| remove orphan files | ``orphans`` |
| roll back, fast-forward, merge a branch | ``rollback``, ``fast_forward``, ``merge_branch`` |
| analyze, rescale, mark partitions done | ``analyze``, ``rescale``, ``mark_partitions_done`` |
| verify | ``verify/`` |
| repair | ``repair/`` |
"""
