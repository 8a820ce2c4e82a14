"""Bounds on what is read of one page for its facts, so that hostile pages take bounded time."""

from __future__ import annotations

from typing import Final

MAX_VALUE: Final = 300
"""Characters of a name, a value or a text on a button. Real ones have up to 150."""
MAX_CLASS: Final = 500
"""Characters of the classes of an element."""
MAX_TYPES: Final = 9
"""Types of one element or JSON object."""
MAX_EDGES: Final = 100
"""Start and end tags within an element that are passed in search of its text; a picture may come before it."""
MAX_LINES: Final = 4_000
"""Lines of a page."""
MAX_LINE: Final = 20_000
"""Characters of a line."""
MAX_DESCRIPTION: Final = 12_000
"""Characters of the main text of a page that only looks like a product's; a longer one is an article."""
MAX_BUTTONS: Final = 1_000
"""Buttons and forms, and as many links, that may be buy controls."""
MAX_OPTIONS: Final = 500
"""Options of a select."""
MAX_NUMBERS: Final = 3_000
"""Short texts with a number. A page with more may hold a price."""

MAX_MARKED: Final = 2_000
"""Elements with structured data, of each kind."""
MAX_MARKED_PRODUCTS: Final = 100
"""Products in microdata and RDFa."""
MAX_SCRIPTS: Final = 20
"""Scripts of JSON-LD."""
MAX_SCRIPT: Final = 500_000
"""Characters of such a script."""
MAX_NODES: Final = 5_000
"""Objects and lists of such a script."""
MAX_SCRIPT_PRODUCTS: Final = 1_000
"""Products in all such scripts."""
MAX_OFFERS: Final = 100
"""Offers, variants and values of one product in JSON-LD."""
MAX_VALUES: Final = 200
"""Identifiers, and as many attributes, of one product: each is looked for in all that the page shows."""
