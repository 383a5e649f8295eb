"""The changes that ``table.alter`` takes.

>>> from lakebed import changes
>>> changes.AddColumn("note", "STRING", position=changes.After("id"))
AddColumn(path='note', type='STRING', description=None, position=After(name='id'), default=None)
"""

from lakebed.format.schema.evolution import (
    AddColumn,
    After,
    Before,
    DropColumn,
    First,
    Last,
    RemoveOption,
    RenameColumn,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)

__all__ = [
    "AddColumn",
    "After",
    "Before",
    "DropColumn",
    "First",
    "Last",
    "RemoveOption",
    "RenameColumn",
    "SetOption",
    "UpdateColumnComment",
    "UpdateColumnDefault",
    "UpdateColumnNullability",
    "UpdateColumnPosition",
    "UpdateColumnType",
    "UpdateComment",
]
