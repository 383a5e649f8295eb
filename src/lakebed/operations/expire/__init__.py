"""Who expires what: snapshots (by the rules in ``retention``), partitions and long-lived changelogs.

``operations/after_commit`` starts them after a commit, unless the table is ``write-only``. Tags and consumers expire in
``metadata/tags`` and ``metadata/consumers``.
"""
