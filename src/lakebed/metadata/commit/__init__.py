"""How a table gets its next snapshot: commits, the conflicts they check, and how manifests are merged."""
