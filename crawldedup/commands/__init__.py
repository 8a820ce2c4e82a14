"""The code behind the commands of `crawldedup`, and the formats of files that they read and write.
"""
