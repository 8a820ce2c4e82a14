"""Find the duplicates among many pages at once, with all of them at hand: the engine behind
`crawldedup scan`.
"""
