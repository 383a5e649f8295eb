"""The routes of the REST interface, one module per topic. They read tables, so they run on threads."""
