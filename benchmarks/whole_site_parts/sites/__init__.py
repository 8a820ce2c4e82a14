"""Sites of one kind, each on its own hosts, which `whole_site.py --site` crawls."""
