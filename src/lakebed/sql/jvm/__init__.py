"""The bridge to the JVM of Spark: Python objects behind Java interfaces, values, and Java sources compiled at run time."""
