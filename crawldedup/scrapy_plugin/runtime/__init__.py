"""What a crawl keeps running beside its event loop."""
