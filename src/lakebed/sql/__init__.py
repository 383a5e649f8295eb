"""Lakebed as a catalog of a Spark session: Spark parses, analyses and plans statements, and asks Python for tables.

``attach`` adds the catalog to a session. All objects that Spark calls are :class:`~lakebed.sql.jvm.proxy.Proxy`
objects.
"""
