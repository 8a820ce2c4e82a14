"""Decisions of a crawl that don't depend on the crawler: for Scrapy and for other frameworks."""
