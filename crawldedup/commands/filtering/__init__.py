"""Write what files hold without the copies: `crawldedup filter`."""
