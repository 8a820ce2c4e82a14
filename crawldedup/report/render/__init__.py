"""Show a report: in a terminal, as a page, or as data."""
