"""Show the service to a person: pages in HTML without scripts."""
