"""What users do with a chain table from time to time: compact, expire, verify, convert, copy views."""
