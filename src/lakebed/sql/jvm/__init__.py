"""The bridge to the JVM of Spark: Python objects behind Java interfaces, values, Java compiled at run time."""
