"""A chain of 100 elementwise operators on 8x8 float32, forward and backward, against torch."""

from __future__ import annotations

from typing import Any

from harness import Rival, in_turn, row, torch_or_none

import tengen

LENGTH = 100


def chain(module: Any, length: int = LENGTH) -> Rival:
    """Forward and backward through ``length`` products and sums that stay near 1."""
    x = module.ones(8, 8, requires_grad=True)
    factor = module.full((8, 8), 1.001)
    term = module.full((8, 8), 0.001)
    seed = module.ones(8, 8)

    def run() -> Any:
        y = x
        for _ in range(length // 2):
            y = y * factor
            y = y + term
        x.grad = None
        y.backward(seed)
        return x.grad

    return run


def main() -> None:
    """Print the time of each operator of the chain."""
    found: dict[str, Rival] = {}
    for name, module in (("torch", torch_or_none()), ("tengen", tengen)):
        if module is not None:
            found[name] = chain(module)
    gradients = [float(f()[0, 0]) for f in found.values()]  # type: ignore[index]
    assert abs(gradients[0] - gradients[-1]) < 1e-4, "gradients differ"
    seconds = {name: t / LENGTH for name, t in in_turn(found, rounds=25, calls=10).items()}
    print(row("forward + backward, per operator", seconds, "torch"))


if __name__ == "__main__":
    main()
