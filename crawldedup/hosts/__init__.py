"""What a crawl learns about hosts.

Two answers to one address within minutes, and one page at two addresses, tell what no vocabulary
can: which numbers change with every load (`lines`), which marks do (`marks`), and which parts of an
address name views (`views`). `knowledge` gathers this, host by host, and exchanges it with the
other crawlers of an index.

Whoever owns a folder decides what is learned there, and nothing that is learned in a folder of one
user counts in that of another. Folders are compared as they are written, never by a short hash.
"""
