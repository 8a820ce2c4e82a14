"""The shared store: a Redis Cluster."""
