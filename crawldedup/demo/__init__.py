"""A crawl to try crawldedup on: a local site of near duplicates, or a folder of HTML files."""
