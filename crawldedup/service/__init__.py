"""The HTTP service, `crawldedup serve`: a thin layer on top of `Deduplicator`.

Only the command line imports it.
"""
