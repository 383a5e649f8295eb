"""Schemas of tables: one version of a schema, and the changes that lead to the next version."""
