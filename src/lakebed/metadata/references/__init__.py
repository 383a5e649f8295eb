"""Which files are needed, and by what. Expiry, tags, rollback, the removal of orphan files and verify all use it."""
