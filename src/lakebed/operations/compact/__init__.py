"""Compaction: of primary-key tables, of append tables, and of manifests."""
