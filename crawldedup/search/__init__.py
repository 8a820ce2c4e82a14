"""The mathematics of finding near duplicates: which bits flip, where to look, what to accept."""
