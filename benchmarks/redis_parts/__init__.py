"""Parts of the benchmarks of the Redis index."""
