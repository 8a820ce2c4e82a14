"""Take a page to its verdict: read it, search the index for similar pages, and decide.

Start with `judging`, which calls the other modules in that order."""
