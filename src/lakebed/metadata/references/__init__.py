"""Which files are needed by whom. Expiry, tags, rollback, orphan removal and verify all ask here."""
