"""Programs that the fuzzer has found, which the suite runs.

A finding's last line but one is a Program, and its first word the check: both go here, with what was wrong.
"""

from __future__ import annotations

from programs import Program, Step, Wire

#: What was wrong -> the check that saw it, and the smallest program that showed it.
PINNED: dict[str, tuple[str, Program]] = {
    "in-place variants of composites wrote over what the composite's parts had saved": (
        "forward",
        Program("float64", (Step("clip", "[3, 4], -1, 1", "in place"),)),
    ),
    "scores without rows were refused for a dtype that no kernel is asked for": (
        "alike",
        Program("bool", (Step("multi_margin_loss", "[0, 4], ints([0], 0, 4), reduction=0"),)),
    ),
    "under vmap a value that fills a place twice got its gradient twice": (
        "per_example",
        Program("float64", (Step("index_fill.int_Tensor", "[3, 4], 0, ints([2], 0, 3), []"),)),
    ),
    "the tangent of a reshape that copied was a view, so a write to the copy changed another tangent": (
        "forward",
        Program(
            "complex128",
            (
                Step("as_strided", "[3, 4], (2, 2), (4, 1), 1"),
                Step("square", "[]", "in place", (((0, None), Wire(0, "window", 0)),)),
            ),
        ),
    ),
}
