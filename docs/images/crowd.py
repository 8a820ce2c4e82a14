"""Draw docs/images/crowd.svg: what the crowd rule makes of three pages. It needs the extra `plot`."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from crawldedup.fingerprinting.fingerprint import VERIFY_BITS
from crawldedup.search.crowd import crowd_rule
from crawldedup.search.decision import SCALED_LIMIT, likelihood_rule
from crawldedup.search.model import flip_probabilities

SIMILARITY, RECALL = 0.9, 0.98
LOWEST = 0.76
PAGES = {
    "one page resembles it": (0.87,),
    "pages of one template resemble it alike": (0.88, 0.87, 0.865, 0.85, 0.84, 0.83, 0.82),
    "one stands out of the template": (0.94, 0.87, 0.86, 0.85, 0.84, 0.83, 0.82),
}
GRID = np.arange(LOWEST - 0.02, 1.0, 0.001)


def main() -> None:
    """Draw the picture."""
    rule = crowd_rule(SIMILARITY, RECALL, VERIFY_BITS, SCALED_LIMIT)
    costs = mean_costs(rule.thresholds[0])
    figure, axes = plt.subplots(len(PAGES), sharex=True, figsize=(8, 4.2), layout="constrained")
    for axis, (title, estimates) in zip(axes, PAGES.items(), strict=True):
        found = np.interp(estimates, GRID, costs).round().astype(int).tolist()
        bar = rule.bar(found)
        assert bar.threshold is not None
        verdict = "near duplicate" if min(found) <= bar.limit else "new"
        crowd_ends = min(estimate for estimate, cost in zip(estimates, found, strict=True) if is_in_crowd(cost, found))
        axis.axvspan(bar.threshold, 1, color="tab:green", alpha=0.12)
        axis.axvline(bar.threshold, color="tab:green")
        axis.hlines(0, crowd_ends, max(estimates), color="tab:orange", linewidth=9, alpha=0.35)
        axis.plot(estimates, [0] * len(estimates), "o", color="tab:blue")
        pages = "1 page" if bar.crowd == 1 else f"a crowd of {bar.crowd}"
        axis.set_title(f"{title}: {pages}, accepted from {bar.threshold:.3f} on: {verdict}", fontsize=9, loc="left")
        axis.set_yticks([])
        axis.set_ylim(-1, 1)
    axes[-1].set_xlim(LOWEST, 1)
    axes[-1].set_xlabel("estimated similarity of remembered pages to the new one")
    plt.rcParams["svg.hashsalt"] = "crowd"
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


def is_in_crowd(cost: int, costs: list[int]) -> bool:
    """Return True for a page that counts."""
    rule = crowd_rule(SIMILARITY, RECALL, VERIFY_BITS, SCALED_LIMIT)
    return cost * rule.limits[0] <= min(costs) * rule.reach


def mean_costs(threshold: float) -> np.ndarray:
    """Return the mean cost of pages at each similarity of the grid."""
    weights = np.random.default_rng(0).standard_normal((100, VERIFY_BITS)).astype(np.float32)
    costs = [np.frombuffer(likelihood_rule(own, threshold).costs, np.uint8) for own in weights]
    return np.array(
        [
            np.mean([cost @ flip_probabilities(own, similarity) for own, cost in zip(weights, costs, strict=True)])
            for similarity in GRID
        ]
    )


if __name__ == "__main__":
    main()
