"""The methods by which pages are compared: the default, and those of the literature on the same stores."""
