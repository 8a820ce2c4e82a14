"""Find the duplicates among many pages at once, where all of them are at hand: the engine behind `crawldedup scan`.

`columns` are what is compared of pages, `pairs` meets those that share a key, `decision` tells which pages of each
cluster are kept. `engine` runs these steps on one machine, `crawldedup.spark` on many.
"""
