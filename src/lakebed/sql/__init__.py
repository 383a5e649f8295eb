"""Lakebed as a catalog of a Spark session: Spark parses, analyses and plans, and asks Python for tables.

``attach`` is the front door. Everything that Spark calls is a :class:`~lakebed.sql.jvm.proxy.Proxy`.
"""
