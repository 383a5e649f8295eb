"""Column types: what they are, their texts in a schema file, in SQL and in Spark, and their Arrow counterparts."""
