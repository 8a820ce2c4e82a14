"""Stores that remember pages, all with the same protocol: in memory, in SQLite, and in Redis."""
