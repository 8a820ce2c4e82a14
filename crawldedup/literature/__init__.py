"""Other methods for finding near duplicates, as the literature describes them, for comparison.

There is one file per source, in plain numpy and Python, without stores.

- `features`: words, shingles, tf and tf-idf, and simhashes of them (Charikar 2002).
- `simhash_py`: simhashes of hashes, permuted tables and all near pairs, as in the package
  simhash-py.
- `minhash`: shingle sets, MinHash signatures, LSH banding, and brute force for comparison.
- `volatility`: VOSH, and the search that flips volatile bits first (Sood & Loguinov 2011).
- `word_scores`: words weighted by frequency, length and part of speech (Yu, Hu & Zhang 2016).
- `bench`: the exact similarities of a collection, and each method as a detector, for `crawldedup
  bench`.
"""
