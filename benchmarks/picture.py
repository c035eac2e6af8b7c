"""The suite's figures as a picture: ratios to torch on a logarithmic scale.

    python benchmarks/picture.py benchmarks/figures.json benchmarks/figures.svg

A column for each number of threads, a line for each workload; on it a mark for each library, for the
two floors, and between target and limit a bar. Needs matplotlib, which the extra ``demo`` installs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from table import Row, floor, ratio

#: How each library, and each floor, is marked: the label, the marker, the colour, the ratio.
MARKS: tuple[tuple[str, str, str, Callable[[Row], float | None]], ...] = (
    ("tengen", "o", "tab:blue", lambda w: ratio(w, "tengen")),
    ("HIPS autograd", "x", "tab:red", lambda w: ratio(w, "autograd")),
    ("JAX", "+", "tab:green", lambda w: ratio(w, "jax")),
    ("JAX jit", "1", "tab:olive", lambda w: ratio(w, "jit")),
    ("floor: NumPy", "|", "black", lambda w: floor(w, "numpy")),
    ("floor: machine", "4", "0.5", lambda w: floor(w, "machine")),
)


def lines(run: Mapping[str, Any]) -> list[Row]:
    """What is drawn of a run, from the bottom up: whatever torch did too."""
    return [w for w in (*run["workloads"], *run["processes"]) if ratio(w, "torch") is not None][::-1]


def marks(rows: Sequence[Row]) -> dict[str, list[tuple[float, int]]]:
    """The places of each kind of mark: its ratio, and the number of the line."""
    found: dict[str, list[tuple[float, int]]] = {}
    for label, _, _, of in MARKS:
        places = [(r, i) for i, w in enumerate(rows) if (r := of(w)) is not None and r > 0]
        if places:
            found[label] = places
    return found


def main(source: str, target: str) -> None:
    """Draw a file of figures."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "figures"  # the same bytes for the same figures
    import matplotlib.pyplot as plt

    with open(source, encoding="utf-8") as file:
        runs = json.load(file)["runs"]
    height = 0.16 * max(len(lines(run)) for run in runs) + 1.5
    figure, axes = plt.subplots(1, len(runs), figsize=(2.5 + 4.5 * len(runs), height), squeeze=False)
    for number, (axis, run) in enumerate(zip(axes[0], runs, strict=True)):
        _draw(axis, run, names=number == 0 or _names(run) != _names(runs[0]))
    axes[0][0].legend(fontsize=7, loc="lower left")
    figure.tight_layout()
    figure.savefig(target, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def _names(run: Mapping[str, Any]) -> list[str]:
    return [w["name"] for w in lines(run)]


def _draw(axis: Any, run: Mapping[str, Any], names: bool) -> None:
    rows = lines(run)
    placed = marks(rows)
    for label, marker, colour, _ in MARKS:
        if label in placed:
            xs, ys = zip(*placed[label], strict=True)
            axis.scatter(xs, ys, marker=marker, s=22, c=colour, label=label, zorder=3)
    bounds = [(w["target"], w["limit"], i) for i, w in enumerate(rows) if w["target"] and w["limit"]]
    if bounds:
        targets, limits, places = zip(*bounds, strict=True)
        style = {"color": "tab:orange", "alpha": 0.45, "linewidth": 4}
        axis.hlines(places, targets, limits, label="target to limit", **style)
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_yticks(range(len(rows)), _names(run) if names else [""] * len(rows), fontsize=6)
    axis.set_title(f"threads: {run['threads']}", fontsize=8)
    axis.set_xlabel("torch eager = 1; to the left is faster", fontsize=8)
    axis.grid(axis="x", color="0.9")
    axis.margins(y=0.005)


if __name__ == "__main__":
    main(*sys.argv[1:3])
