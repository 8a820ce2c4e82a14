"""Find the facts that tell pages apart although they read alike, such as the attributes of products."""

import json
from importlib import resources
from typing import Any, Final

VOCABULARY: Final[dict[str, Any]] = json.loads(resources.files(__name__).joinpath("vocabulary.json").read_text("utf-8"))
"""The words of many languages, and of schema.org and Open Graph, by which products are recognised.

`currencies` that share a sign are one, since a page shows "$" where its data says "CAD"; names that mean other things
beside a number are left out (ft, kn, pounds, won, try). `buy_signs` are parts of the names and texts of buy controls,
`buy_buttons` whole texts. `other_types` have offers and are not what a page sells: the seller, the page, an offer.
`passing` are patterns of what changes from visit to visit, `about_others` classes of that and of other products.
`other_members` and their parts do not describe a product, nor do `other_choices`.
"""


class Most:
    """Bounds what is read of one page for its facts, so that hostile pages take bounded time."""

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
