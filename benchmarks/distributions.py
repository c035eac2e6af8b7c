"""Making, sampling and differentiating the ten usual distributions, beside torch's.

    python benchmarks/distributions.py [--threads default] [name ...]

A row is a distribution and what is done with it: ``make``; ``sample`` of 1 to a million; ``draw``, which is
``rsample``, ``log_prob`` of that, and the gradients of its sum. The ratio is to torch. With one thread the
clock is the processor time of the process, with the libraries' own choice of threads the wall's.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from harness import Rival, calibrated, row, torch_or_none

import tengen

SIZES = (1, 100, 10_000, 1_000_000)
DRAWS = (100, 10_000)
WEIGHTS = [0.1, 0.2, 0.3, 0.4]

#: The parameters of each, and what it is made with beside them.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Normal": ({"loc": 0.5, "scale": 1.5}, {}),
    "Uniform": ({"low": -1.0, "high": 2.0}, {}),
    "Bernoulli": ({"probs": 0.3}, {}),
    "Categorical": ({"probs": WEIGHTS}, {}),
    "Poisson": ({"rate": 4.0}, {}),
    "Gamma": ({"concentration": 2.5, "rate": 1.5}, {}),
    "Beta": ({"concentration1": 2.0, "concentration0": 3.0}, {}),
    "Dirichlet": ({"concentration": [0.5, 2.0, 3.0]}, {}),
    "Exponential": ({"rate": 1.5}, {}),
    "Multinomial": ({"probs": WEIGHTS}, {"total_count": 10}),
}

Made = Callable[[], Any]


def maker(m: Any, name: str, requires_grad: bool = False) -> Made:
    """A function that makes the distribution of tensors, which are made once."""
    parameters, others = CASES[name]
    tensors = {
        k: m.from_numpy(np.array(v, np.float32)).requires_grad_(requires_grad) for k, v in parameters.items()
    }
    return lambda: getattr(m.distributions, name)(**tensors, **others)


def sampling(m: Any, name: str, count: int) -> Rival:
    made = maker(m, name)()
    return lambda: made.sample((count,))


def drawing(m: Any, name: str, count: int) -> Rival:
    make = maker(m, name, requires_grad=True)

    def step() -> object:
        made = make()
        made.log_prob(made.rsample((count,))).sum().backward()
        return made

    return step


def rows(names: list[str], libraries: dict[str, Any]) -> Iterator[tuple[str, dict[str, Rival]]]:
    """What is timed, by name."""
    for name in names:
        yield f"{name} make", {k: maker(m, name) for k, m in libraries.items()}
        for count in SIZES:
            yield f"{name} sample {count}", {k: sampling(m, name, count) for k, m in libraries.items()}
        if getattr(tengen.distributions, name).has_rsample:
            for count in DRAWS:
                yield f"{name} draw {count}", {k: drawing(m, name, count) for k, m in libraries.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", default=[], help="distributions, by default all")
    parser.add_argument("--threads", choices=("1", "default"), default="1")
    parser.add_argument("--seconds", type=float, default=0.6, help="for each row")
    arguments = parser.parse_args()
    torch: Any = torch_or_none()
    if arguments.threads == "1":
        tengen.set_num_threads(1)
    elif torch is not None:
        torch.set_num_threads(tengen.get_num_threads())
    libraries = {"tengen": tengen, "torch": torch}
    if torch is None:
        del libraries["torch"]
    for name, rivals in rows(arguments.names or list(CASES), libraries):
        print(row(name, calibrated(rivals, arguments.seconds, arguments.threads == "1"), "torch"), flush=True)


if __name__ == "__main__":
    main()
