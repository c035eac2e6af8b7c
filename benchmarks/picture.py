"""The suite's figures as a picture: ratios to torch on a logarithmic scale.

    python benchmarks/suite.py --json figures.json
    python benchmarks/picture.py figures.json benchmarks/figures.svg

Needs matplotlib, which the extra ``demo`` installs.
"""

from __future__ import annotations

import json
import sys
from typing import Any

SHOWN = {"tengen": "o", "autograd": "x", "jax": "+", "jit": "1"}


def main(source: str, target: str) -> None:
    """Draw a row for each workload that torch ran too."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "figures"  # the same bytes for the same figures
    import matplotlib.pyplot as plt

    with open(source, encoding="utf-8") as file:
        found = json.load(file)
    rows = [w for w in found["workloads"] if "torch" in w["seconds"]][::-1]
    figure, axes = plt.subplots(figsize=(8, 0.17 * len(rows) + 1.2))
    for name, marker in SHOWN.items():
        points = [(ratio(w, name), i) for i, w in enumerate(rows) if name in w["seconds"]]
        if points:
            axes.scatter(*zip(*points, strict=True), marker=marker, s=18, label=name, zorder=3)
    axes.plot([w["limit"] for w in rows], range(len(rows)), color="0.7", linewidth=0.8, label="not above")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [w["name"] for w in rows], fontsize=6)
    axes.set_xlabel(f"time, torch eager = 1; threads: {found['threads']}")
    axes.margins(y=0.005)
    axes.legend(fontsize=7)
    figure.savefig(target, bbox_inches="tight", metadata={"Date": None})


def ratio(workload: dict[str, Any], name: str) -> float:
    """A library's time, torch's being 1."""
    seconds = workload["seconds"]
    return float(seconds[name] / seconds["torch"])


if __name__ == "__main__":
    main(*sys.argv[1:3])
