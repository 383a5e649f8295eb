"""The state of a table: schemas, snapshots, manifests, what is live, and how it changes. Never touches rows."""
