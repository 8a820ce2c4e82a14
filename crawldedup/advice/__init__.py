"""Find out which downloads the next crawl can save: rules for URLs, mined from the verdicts of a
crawl.
"""
