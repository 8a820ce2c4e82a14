"""Find the duplicates among many pages at once, where all are at hand: the engine behind
`crawldedup scan`.
"""
