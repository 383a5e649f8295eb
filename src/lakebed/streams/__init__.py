"""What a stream reads: positions in the history of a table, and the batches between them."""
