"""The bridge to the JVM of Spark: Python objects behind Java interfaces, values, and the Java source that is compiled at run time."""
