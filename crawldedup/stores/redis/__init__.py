"""The shared store: one Redis server."""
