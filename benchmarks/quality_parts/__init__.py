"""Parts of `quality.py`: articles with a marked text, and what extractors make of pages."""
