"""Single operators at mid sizes, forward and with backward: the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from libraries import Tensors

from .floors_kernels import KERNELS as FLOORS, kernel
from .workload import Rival, Workload, data, integers

ROWS, COLUMNS, PICKED = 128, 512, 256
Program = Callable[[Tensors, Any, Any, Any], Any]

#: Name, and the program of: the library, x (128x512), indices as large as x, 256 indices of rows.
PROGRAMS: dict[str, Program] = {
    "sum": lambda n, x, i, r: x.sum(),
    "sum(1)": lambda n, x, i, r: x.sum(1),
    "sum(0)": lambda n, x, i, r: x.sum(0),
    "max": lambda n, x, i, r: x.max(),
    "max(1)": lambda n, x, i, r: x.max(1)[0],
    "var(1)": lambda n, x, i, r: x.var(1),
    "softmax": lambda n, x, i, r: x.softmax(1),
    "log_softmax": lambda n, x, i, r: x.log_softmax(1),
    "logsumexp": lambda n, x, i, r: x.logsumexp(1),
    "cumsum": lambda n, x, i, r: x.cumsum(1),
    "cumsum(0)": lambda n, x, i, r: x.cumsum(0),
    "sort": lambda n, x, i, r: x.sort(1)[0],
    "topk": lambda n, x, i, r: x.topk(10, 1)[0],
    "layer_norm": lambda n, x, i, r: n.F.layer_norm(x, (COLUMNS,)),
    "cross_entropy": lambda n, x, i, r: n.F.cross_entropy(x, i[:, 0]),
    "gather": lambda n, x, i, r: x.gather(1, i),
    "scatter_add": lambda n, x, i, r: n.m.zeros(ROWS, COLUMNS).scatter_add(1, i, x),
    "index_select": lambda n, x, i, r: x.index_select(0, r),
    "index_add": lambda n, x, i, r: n.m.zeros(ROWS, COLUMNS).index_add(0, r[:ROWS], x),
    "x[r]": lambda n, x, i, r: x[r],
    "embedding": lambda n, x, i, r: n.F.embedding(r, x),
}


def _rival(program: Program, backward: bool) -> Callable[[Tensors], Rival]:
    def rival(library: Tensors) -> Rival:
        x = library.tensor(data(ROWS, COLUMNS, seed=1), backward)
        i = library.tensor(integers(COLUMNS, ROWS, COLUMNS, seed=2))
        rows = library.tensor(integers(ROWS, PICKED, seed=3))
        if not backward:
            return lambda: program(library, x, i, rows)
        found = program(library, x, i, rows)
        seed = library.tensor(data(*found.shape, seed=4) if found.dim() else data(1, seed=4)[0:1].reshape(()))

        def run() -> Any:
            x.grad = None
            program(library, x, i, rows).backward(seed)
            return x.grad

        return run

    return rival


KERNELS = tuple(
    Workload(
        f"{'backward' if backward else 'kernel'}: {name}",
        f"kernels at 128x512{', with backward' * backward}",
        _rival(program, backward),
        None,
        1.3,
        3.0,
        floor=kernel(name, backward) if name in FLOORS else None,
        reads=4 * ROWS * COLUMNS,
    )
    for backward in (False, True)
    for name, program in PROGRAMS.items()
)
