"""What a crawl learns about hosts: what changes with every load, and which URLs are only views.

Loading one address twice within minutes, and finding one page at two addresses, shows things that
no fixed vocabulary can know: which numbers change with every load (`lines`), which marks do
(`marks`), and which parts of an address name views (`views`). `knowledge` gathers this for each
host, and exchanges it with the other crawlers of an index.

Only the pages in a user's folder decide what is learned about that folder: nothing that is learned
in it applies to the folders of other users. Folders are compared in full, never by a short hash.
"""
