"""The routes of the REST interface, a module for each kind of thing. All work on tables, so all run on threads."""
