"""The texts, the methods and the accounting of `archive.py`."""
