"""Words to fingerprint: hashed features, and the bits and weights made of them."""
