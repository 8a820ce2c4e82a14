"""The embedded store of one process."""
