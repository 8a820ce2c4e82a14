"""The store in a SQLite file, and in memory."""
