"""Makes fingerprints of words: weighted features, and the bits and weights made of them."""

# A page with fewer words is `thin`: it has too few shingles, and sites whose content comes by script often serve the
# same few words on every page.
MIN_WORDS = 20
