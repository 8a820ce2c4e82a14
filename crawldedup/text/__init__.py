"""Text of a page: extraction, words."""
