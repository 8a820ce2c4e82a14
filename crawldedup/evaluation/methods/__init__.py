"""The methods of the literature, to compare the default with; `make_method` makes one from its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.lazy import lazy

if TYPE_CHECKING:
    from crawldedup.evaluation.methods.spec import METHODS as METHODS
    from crawldedup.evaluation.methods.spec import make_method as make_method

__getattr__, __dir__, __all__ = lazy(__name__, {"spec": "METHODS make_method"})
