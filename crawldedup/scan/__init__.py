"""Find the duplicates among many pages at once, where all of them are at hand: the engine behind `crawldedup scan`.

`read` makes columns of pages, `pairs` meets those that share a key, and `engine` tells which are kept, for Spark, too.
"""
