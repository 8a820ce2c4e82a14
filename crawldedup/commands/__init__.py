"""The code behind the commands of `crawldedup`, and the formats of files they read and write."""
