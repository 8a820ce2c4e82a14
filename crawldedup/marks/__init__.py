"""Tell siblings, which are pages that share a template, from copies, which share their content.

A mark is something on a page that shows which content it is: its name, its lead picture, a player,
or declared data. `address` reads the parts of a URL, `values` holds the marks of a page as short
keyed hashes, and `relation` compares the marks of two pages. `crawldedup.reading.marks` reads marks
from HTML. The stores compare marks within their atomic step, so everything here works on small sets
of numbers, and the scripts for Redis do the same.
"""
