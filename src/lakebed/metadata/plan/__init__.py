"""Which files a read, a write or a compaction has to open."""
