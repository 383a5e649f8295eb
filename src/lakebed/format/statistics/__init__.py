"""Statistics: those of data files in manifests, and those of whole tables that ANALYZE writes."""
