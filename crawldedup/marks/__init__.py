"""Tell siblings from copies: pages that share a template, and pages that share a content.

A mark is something a page shows that says which content it is: its name, its lead picture, a
player, declared data. `address` reads what a URL names, `values` holds the marks of a page as short
keyed hashes, and `relation` compares those of two pages. `crawldedup.reading.marks` reads them from
HTML. The stores compare marks within their atomic step, so everything here works on small sets of
numbers: the scripts for Redis do the same.
"""
