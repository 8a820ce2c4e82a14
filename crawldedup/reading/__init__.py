"""What is compared of a page, one module a step.

`html` decodes the bytes, refuses what is no text or beyond its bounds, and parses the page once.
Where the site is known, `area` cuts it to what CSS selectors choose. `blocks` walks the tree once,
finds the blocks and their lines, and leaves out what is hidden or labeled as noise. `extract`
makes the text: by default `main_text` finds the article among the blocks; `by_trafilatura`, a
function of the user's and all visible text are one option away. A text that is too short gives way
to all that is content, and begins with the page's name. `marks` reads what tells a page from its
siblings: names, pictures, players, declared data and links.

Beside the way stand what changed between two texts (`difference`), and which lines of a site change
with every load (`volatile`): a crawl learns them, and `PageReader` leaves them out.
"""
