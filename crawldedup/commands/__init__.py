"""The commands behind `crawldedup` and `scrapy dedup`: each asks a Deduplicator and shows its answer."""
