"""The steps from a page to its verdict: `judging` takes them in order."""
