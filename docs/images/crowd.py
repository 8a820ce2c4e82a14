"""Draw crowd.svg: what the crowd rule makes of three pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from figures import new_figure, save_figure

from crawldedup.fingerprinting.bits import VERIFY_BITS
from crawldedup.search.decision import crowd_rule, flip_probabilities, likelihood_rule

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

SIMILARITY, RECALL = 0.9, 0.98
LOWEST = 0.76
PAGES = {
    "One page resembles the new one": (0.87,),
    "Pages with one template resemble it equally": (0.88, 0.87, 0.865, 0.85, 0.84, 0.83, 0.82),
    "One stands out from its template": (0.94, 0.87, 0.86, 0.85, 0.84, 0.83, 0.82),
}
GRID = np.arange(LOWEST - 0.02, 1.0, 0.001)


def draw(path: Path) -> None:
    """Draw the picture."""
    rule = crowd_rule(SIMILARITY, RECALL, VERIFY_BITS)
    costs = mean_costs(rule.thresholds[0])
    figure = new_figure(8, 4.6)
    charts = figure.subplots(len(PAGES), sharex=True)
    for chart, (title, estimates) in zip(charts, PAGES.items(), strict=True):
        found = np.interp(estimates, GRID, costs).round().astype(int).tolist()
        bar = rule.bar(found)
        assert bar.threshold is not None
        verdict = "near duplicate" if min(found) <= bar.limit else "new"
        nearest = min(found) * rule.reach
        crowd_ends = min(
            each
            for each, cost in zip(estimates, found, strict=True)
            if cost * rule.limits[0] <= nearest
        )
        chart.axvspan(bar.threshold, 1, color="tab:green", alpha=0.12)
        chart.axvline(bar.threshold, color="tab:green")
        chart.hlines(0, crowd_ends, max(estimates), color="tab:orange", linewidth=11, alpha=0.35)
        chart.plot(estimates, [0] * len(estimates), "o", color="tab:blue")
        chart.text(
            bar.threshold + 0.002,
            0.92,
            f"accepted at {bar.threshold:.3f} or more",
            va="top",
            fontsize=8.5,
        )
        if bar.crowd > 1:
            chart.text(crowd_ends, -0.75, f"a crowd of {bar.crowd}", fontsize=8.5)
        chart.set_title(f"{title}: {verdict}", fontsize=10, loc="left")
        chart.set_yticks([])
        chart.set_ylim(-1, 1)
    charts[-1].set_xlim(LOWEST, 1)
    charts[-1].set_xlabel("estimated similarity of a remembered page (dot) to the new one")
    save_figure(figure, path)


def mean_costs(threshold: float) -> NDArray[np.float64]:
    """Return the mean cost of pages at each similarity of the grid."""
    weights = np.random.default_rng(0).standard_normal((100, VERIFY_BITS)).astype(np.float32)
    costs = [np.frombuffer(likelihood_rule(own, threshold).costs, np.uint8) for own in weights]
    return np.array(
        [
            np.mean(
                [
                    cost @ flip_probabilities(own, similarity)
                    for own, cost in zip(weights, costs, strict=True)
                ]
            )
            for similarity in GRID
        ]
    )
