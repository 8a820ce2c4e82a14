"""The HTTP service of `crawldedup serve`, which lets programs in any language use a Deduplicator.

Only the command line imports it.
"""
