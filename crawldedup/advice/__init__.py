"""Find out which downloads the next crawl can save, with URL rules mined from verdicts."""
