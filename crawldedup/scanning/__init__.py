"""The command `scan`: find the clusters of near duplicates within a collection."""
