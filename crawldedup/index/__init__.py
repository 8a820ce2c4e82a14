"""The way of a page through an index: `judging` reads as its steps."""
