"""Worker processes that hold the Deduplicator: a page goes there as bytes and comes back as a verdict."""
