"""Overhead of single operators on 8x8 float32, without and with recording, against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import Rival, in_turn, row, torch_or_none

import tengen

Make = Callable[[Any, Any, Any], Rival]

OPERATORS: dict[str, Make] = {
    "add": lambda m, a, b: lambda: a + b,
    "mul": lambda m, a, b: lambda: a * b,
    "mul by a number": lambda m, a, b: lambda: a * 2.0,
    "exp": lambda m, a, b: lambda: a.exp(),
    "sum": lambda m, a, b: lambda: a.sum(),
    "sum(dim=1)": lambda m, a, b: lambda: a.sum(dim=1),
    "matmul": lambda m, a, b: lambda: a @ b,
    "index": lambda m, a, b: lambda: a[1],
    "view": lambda m, a, b: lambda: a.view(64),
    "transpose": lambda m, a, b: lambda: a.t(),
    "cat": lambda m, a, b: lambda: m.cat([a, b]),
}


def rivals(make: Make, recording: bool) -> dict[str, Rival]:
    """One operator in every library, on equal operands; checked to give equal results."""
    found = {}
    for name, module in (("torch", torch_or_none()), ("tengen", tengen)):
        if module is not None:
            a = module.full((8, 8), 1.5, requires_grad=recording)  # type: ignore[attr-defined]
            b = module.full((8, 8), 0.5)  # type: ignore[attr-defined]
            found[name] = make(module, a, b)
    results = [list(map(float, f().detach().reshape(-1).tolist())) for f in found.values()]  # type: ignore[attr-defined]
    assert all(abs(x - y) < 1e-4 for x, y in zip(results[0], results[-1], strict=True)), "results differ"
    return found


def main() -> None:
    """Print a row for each operator, and the mean ratio."""
    for recording in (False, True):
        print("recording" if recording else "not recording")
        ratios = []
        for name, make in OPERATORS.items():
            seconds = in_turn(rivals(make, recording), rounds=15, calls=1000)
            print(row("  " + name, seconds, "torch"))
            if "torch" in seconds:
                ratios.append(seconds["tengen"] / seconds["torch"])
        if ratios:
            print(f"  {'mean':30} {sum(ratios) / len(ratios):5.2f}")


if __name__ == "__main__":
    main()
