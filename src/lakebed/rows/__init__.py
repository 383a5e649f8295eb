"""What a worker does with rows: Arrow in, Arrow out. Knows files and columns, never a whole table's state."""
