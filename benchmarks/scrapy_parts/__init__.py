"""Parts of the benchmark of a Scrapy crawl."""
