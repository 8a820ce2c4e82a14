"""Bounds on what is read of one page for its facts, so that hostile pages take bounded time."""

from typing import Final

VALUE: Final = 300  # characters of a name, a value or a text on a button; real ones have up to 150
CLASS: Final = 500  # characters of the classes of an element
TYPES: Final = 9  # types of one element
EDGES: Final = 100  # start and end tags within an element before its text; a picture may stand there
LINES: Final = 4_000  # lines of a page
LINE: Final = 20_000  # characters of a line
DESCRIPTION: Final = 20_000  # characters of the main text of a page that only looks like a product's, no article's
CONTROLS: Final = 1_000  # buttons, inputs and forms that may be buy controls, and as many links
ASIDES: Final = 10  # asides that may hold such controls
CONTROL_TEXTS: Final = 5  # texts of one control
NUMBERS: Final = 3_000  # short texts with a number; a page with more may hold a price
MARKED: Final = 2_000  # elements with structured data, of each kind
MARKED_PRODUCTS: Final = 100  # products in microdata and RDFa
SCRIPTS: Final = 20  # scripts of JSON-LD
SCRIPT: Final = 500_000  # characters of such a script
NODES: Final = 5_000  # objects and lists of such a script
SCRIPT_PRODUCTS: Final = 1_000  # products in all such scripts
OFFERS: Final = 100  # offers, variants and values of one product in JSON-LD
VALUES: Final = 200  # identifiers of one product, and as many attributes: each is looked for in all that is shown
