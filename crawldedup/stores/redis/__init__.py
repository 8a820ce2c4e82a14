"""The store on a Redis server, which many crawlers on many machines can share."""
