"""The rules that an index keeps for the next crawl, as one text."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Self

from crawldedup.advice.rules import Rule

NOTE: Final = "rules"
"""The name of the note that holds them; see `Store.note`."""

MOST_RULES: Final = 2_000
"""An index keeps so many rules in all."""


@dataclass(frozen=True, slots=True)
class KeptRules:
    """Rules that hold, and rules that have proved wrong, which are not learned again."""

    rules: tuple[Rule, ...] = ()
    withdrawn: tuple[Rule, ...] = ()

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return what `to_text` wrote. What is no rule is left out: others may have written it."""
        try:
            value = json.loads(text or "{}")
        except (ValueError, RecursionError):
            return cls()
        return cls(*(_rules(value.get(name) if isinstance(value, dict) else None) for name in ("rules", "withdrawn")))

    def to_text(self) -> str:
        """Return JSON."""
        return json.dumps({"rules": _plain(self.rules), "withdrawn": _plain(self.withdrawn)})

    def merged(self, other: KeptRules) -> KeptRules:
        """Return these and the rules of another crawler. What one has withdrawn is withdrawn."""
        withdrawn = {rule.id: rule for rule in (*other.withdrawn, *self.withdrawn)}
        rules = {rule.id: rule for rule in (*other.rules, *self.rules) if rule.id not in withdrawn}
        return KeptRules(tuple(rules.values()), tuple(withdrawn.values()))


def _plain(rules: tuple[Rule, ...]) -> list[dict[str, Any]]:
    """Return rules as plain values, without pages: URLs may hold what is nobody's business later."""
    values = [rule.as_dict() for rule in rules[-MOST_RULES:]]
    return [{name: value for name, value in each.items() if name not in ("examples", "contrary")} for each in values]


def _rules(values: object) -> tuple[Rule, ...]:
    found = []
    for value in values[:MOST_RULES] if isinstance(values, list) else ():
        with suppress(ValueError, TypeError):
            found.append(Rule.from_dict(value))
    return tuple(found)
