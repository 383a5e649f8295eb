"""Compaction: of primary-key tables, of append tables, and of manifests.

``compaction_rules`` says when a primary-key table has to be compacted, ``compact_after_write`` does it after a write.
"""
