"""HTML pages as trees: what parsing one costs, and its blocks of text."""
