"""The bytes of a Paimon table: pure functions between bytes, JSON and Arrow. No I/O."""
