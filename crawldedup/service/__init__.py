"""The HTTP service:

`crawldedup serve`. A thin edge over `Deduplicator`; only the command line imports it.
"""
