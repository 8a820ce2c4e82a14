"""Decode pages, split texts into words, and read URLs."""
