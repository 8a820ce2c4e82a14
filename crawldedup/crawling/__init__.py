"""What a crawl does with verdicts, in Scrapy and in other frameworks alike."""
