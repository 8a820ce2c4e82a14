"""Makes fingerprints of words: weighted features, and the bits and weights made of them."""
