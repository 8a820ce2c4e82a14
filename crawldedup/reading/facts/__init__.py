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
