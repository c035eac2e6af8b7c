"""A step of each optimiser, against the best of torch's forms (loop, foreach, fused), with one thread.

    python benchmarks/optim.py [optimiser ...]

The ratio is to the form named before it. The clock is the processor time of the process.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from harness import Rival, calibrated, row, torch_or_none

import tengen

#: Shapes of parameters: those of a small network, many small ones, one large one.
SHAPES: dict[str, list[tuple[int, ...]]] = {
    "MLP 784-256-128-10": [(256, 784), (256,), (128, 256), (128,), (10, 128), (10,)],
    "200 of 8x8": [(8, 8)] * 200,
    "one of 1e7": [(10_000_000,)],
}
OPTIONS: dict[str, dict[str, Any]] = {
    "SGD": {},
    "SGD, momentum": {"momentum": 0.9},
    "Adam": {},
    "AdamW": {},
    "RMSprop": {},
    "Adagrad": {},
    "Adadelta": {},
    "Adamax": {},
    "NAdam": {},
    "RAdam": {},
    "ASGD": {},
    "Rprop": {},
}
FORMS: dict[str, dict[str, Any]] = {
    "torch": {"foreach": False},
    "torch foreach": {"foreach": True},
    "torch fused": {"fused": True},
}
LEARNING_RATE = 1e-6  # so that the numbers, however many steps are timed, stay what they are


def optimiser(m: Any, name: str, shapes: list[tuple[int, ...]], form: dict[str, Any]) -> Any:
    """One with parameters and gradients equal in every library; None where there is no such form."""
    numbers = np.random.default_rng(0)
    params = []
    for shape in shapes:
        values = numbers.standard_normal((2, *shape), dtype=np.float32)
        p, grad = m.from_numpy(values[0]).clone(), m.from_numpy(values[1]).clone()
        p.requires_grad_()
        p.grad = grad
        params.append(p)
    try:
        return getattr(m.optim, name.split(",")[0])(params, lr=LEARNING_RATE, **OPTIONS[name], **form)
    except TypeError:
        return None


def rivals(name: str, shapes: list[tuple[int, ...]]) -> dict[str, Rival]:
    """A step in every library and form; checked to give equal parameters after two."""
    torch = torch_or_none()
    made = {"tengen": optimiser(tengen, name, shapes, {})}
    if torch is not None:
        made |= {form: optimiser(torch, name, shapes, options) for form, options in FORMS.items()}
    made = {form: found for form, found in made.items() if found is not None}
    seen = []
    for found in made.values():
        found.step()
        found.step()
        seen.append(np.concatenate([p.detach().numpy().ravel() for p in found.param_groups[0]["params"]]))
    assert all(np.allclose(seen[0], other, rtol=0, atol=1e-6) for other in seen[1:]), "results differ"
    return {form: found.step for form, found in made.items()}


def main(names: list[str], seconds: float = 1.0) -> None:
    """Print a row for each optimiser and each list of shapes."""
    tengen.set_num_threads(1)
    for words, shapes in SHAPES.items():
        print(words)
        for name in names:
            times = calibrated(rivals(name, shapes), seconds, time.process_time)
            best = min((form for form in times if form != "tengen"), key=lambda form: times[form], default="")
            print(row(f"  {name} / {best or 'none'}", times, best))


if __name__ == "__main__":
    main([name for name in OPTIONS if not sys.argv[1:] or name.split(",")[0] in sys.argv[1:]])
