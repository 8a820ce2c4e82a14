"""Turn texts into fingerprints: short strings of bits that are similar for similar texts.

`tokenize` makes words, `shingles` hashes sequences of them, and `bits` makes the fingerprint.
`anchors` finds paragraphs that are on other pages.
"""

# A page with fewer words is `thin`: it has too few shingles, and sites that need scripts serve the
# same few words on every page.
MIN_WORDS = 20
