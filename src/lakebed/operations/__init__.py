"""What can be done to a table, one operation a file. Each plans, writes files, and makes one commit."""
