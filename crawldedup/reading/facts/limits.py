"""Bounds on what is read of one page for its facts, so that hostile pages take bounded time."""

from typing import Final

VALUE: Final = 500  # characters of a name, a value, a text on a button, or the classes of an element
LINES: Final = 4_000  # lines of a page
LINE: Final = 20_000  # characters of a line
DESCRIPTION: Final = 20_000  # characters of the main text of a page that only looks like a product's, no article's
ELEMENTS: Final = 2_000  # buttons, inputs and forms that may be buy controls, links, and those with structured data
SCRIPTS: Final = 20  # scripts of JSON-LD
SCRIPT: Final = 500_000  # characters of such a script
NODES: Final = 5_000  # objects and lists of such a script
ASIDES: Final = 10  # asides that may hold such controls
PRODUCTS: Final = 1_000  # products in all such scripts, and in microdata and RDFa
VALUES: Final = 200  # offers, variants and values of one product: each value is looked for in all that is shown
