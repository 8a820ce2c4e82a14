"""The words of many languages, and of schema.org and Open Graph, by which products are recognised.

`currencies` holds the spellings of each: those that share a sign are one, since a page shows "$" where its data says
"CAD", and names that mean other things beside a number are left out (ft, kn, pounds, won, try). `buy_signs` are parts
of the names and texts of buy controls, `buy_buttons` whole texts. `other_types` have offers and are not what a page
sells: the seller, the page, a part of it, an offer.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Final

VOCABULARY: Final[dict[str, Any]] = json.loads(
    resources.files(__package__).joinpath("vocabulary.json").read_text("utf-8")
)
