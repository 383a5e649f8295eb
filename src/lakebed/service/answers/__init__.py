"""What the service answers: the contents, history and health of tables, read from their metadata."""
