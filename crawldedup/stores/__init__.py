"""Where pages are remembered: memory, SQLite, Redis, behind one protocol."""
