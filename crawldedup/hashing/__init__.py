"""Words to fingerprints."""
