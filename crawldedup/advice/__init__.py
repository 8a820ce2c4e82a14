"""Advise which downloads the next crawl can save: mine URL rules from the verdicts of a crawl."""
