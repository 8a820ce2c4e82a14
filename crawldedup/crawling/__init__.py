"""What a crawl decides, whatever crawls: shared by the Scrapy plugin and the hooks of others."""
