"""Sites of one kind each, on hosts of their own: what `whole_site.py --site` crawls."""
