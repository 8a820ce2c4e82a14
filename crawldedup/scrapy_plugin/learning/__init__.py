"""What a crawl learns while it runs: which requests would bring copies, and are not worth a download."""
