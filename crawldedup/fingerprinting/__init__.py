"""Makes fingerprints of words: weighted features, and the bits and weights made of them."""

from typing import Final

MIN_WORDS: Final = 20
"""A page with fewer words is `thin`: its shingles are too few to tell pages apart, and a site whose content comes by
script often serves the same few words on every page."""
