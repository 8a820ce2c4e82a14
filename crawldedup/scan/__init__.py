"""Find the duplicates in a collection of pages: the engine behind `crawldedup scan`."""
