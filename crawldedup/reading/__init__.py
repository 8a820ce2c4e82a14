"""Read pages: from bytes of HTML to the content that is compared, with one module for each step.

`html` decodes the bytes, rejects anything that isn't text or exceeds its limits, and parses the
page once. If there are CSS selectors for the site, `area` cuts the page to what they select.
`blocks` walks the tree once, finds the blocks and their lines, and leaves out what is hidden or
labeled as noise. `extract` makes the text: by default, `main_text` finds the article among the
blocks, and options select `by_trafilatura`, a function of the user's, or all visible text instead.
If the text is too short, all content is taken, and the page's name comes first. `marks` reads what
tells a page apart from its siblings: names, pictures, players, declared data and links.

Two more modules are not part of this sequence: `difference` shows what changed between two texts,
and `volatile` handles the lines of a site that change with every load. A crawl learns which lines
these are, and `PageReader` leaves them out.
"""
