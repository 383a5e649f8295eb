"""The state of a table: schemas, snapshots, manifests, live files, and how commits change them. Never reads rows."""
