"""The HTTP service, `crawldedup serve`: a thin edge over `Deduplicator`.

Only the command line imports it.
"""
