"""Parts of `kills.py`."""
