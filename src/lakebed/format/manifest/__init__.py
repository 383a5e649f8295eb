"""The Avro files that list the files of a table: manifest lists, manifests and index manifests."""
