"""What differs between kinds of tables: one set of rules for each kind, which a ``Table`` asks.

:class:`~lakebed.table_rules.interface.TableRules` is the interface, :class:`~lakebed.table_rules.plain.PlainRules` the
rules of ordinary tables. :mod:`lakebed.chain.rules` has the rules of chain tables, and :mod:`lakebed.table_kinds`
decides which apply.
"""
