"""Find the duplicates among many pages at once, where all of them are at hand: the engine behind `crawldedup scan`.

A crawl asks an index about one page after the other. Here the pages are columns, each filed under a few keys
(`columns`); pages that share a key are candidates (`pairs`); their signatures decide as in a crawl, and one pass in
their order tells which page of each cluster is kept (`decision`). `engine` runs these steps on one machine,
`crawldedup.spark` on many.
"""
