"""The methods of the literature, to measure the default against."""
