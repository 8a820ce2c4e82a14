"""What is compared of a page, one module a step.

1. `html`: bytes are decoded, refused if they are no text or beyond the `limits`, and parsed once.
2. `area`: of a known site, CSS selectors choose what is compared, and what is left out.
3. `blocks`: one walk over the tree finds blocks and lines of text, and leaves out what is `names`d as noise.
4. `extractors`: a text is made of it: by `main_text`, by trafilatura, by a function of the user's, or all that is
   visible.
5. `extract`: the text is checked: one that is too short gives way to another, and gets the page's name.
6. `facts`: what tells a product from others that read alike.
7. `tokenize`: words and their hashes, by the secret of `keys`.

Beside the way: the URL that a page claims (`canonical`), and what changed between two texts (`difference`).
"""
