"""Decode pages, extract their text and split it into words."""
