"""Row-wise operators and reductions over large arrays: memory traffic and cores."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from libraries import Tensors

from .workload import Rival, Workload, data, integers

ROWS, COLUMNS = 4096, 1024
IMAGES = (64, 64, 64, 32)
Program = Callable[[Tensors, Any, Any], Any]

#: Name, the shape of the input x, and the program of: the library, x, a weight as long as a row or channel.
PROGRAMS: dict[str, tuple[tuple[int, ...], Program]] = {
    "sum": ((ROWS, COLUMNS), lambda n, x, w: x.sum()),
    "sum(0)": ((ROWS, COLUMNS), lambda n, x, w: x.sum(0)),
    "mean(1)": ((ROWS, COLUMNS), lambda n, x, w: x.mean(1)),
    "amax(1)": ((ROWS, COLUMNS), lambda n, x, w: x.amax(1)),
    "max(1)": ((ROWS, COLUMNS), lambda n, x, w: x.max(1)[0]),
    "var(1)": ((ROWS, COLUMNS), lambda n, x, w: x.var(1)),
    "var": ((ROWS, COLUMNS), lambda n, x, w: x.var()),
    "norm": ((ROWS, COLUMNS), lambda n, x, w: x.norm()),
    "logsumexp": ((ROWS, COLUMNS), lambda n, x, w: x.logsumexp(1)),
    "softmax": ((ROWS, COLUMNS), lambda n, x, w: x.softmax(1)),
    "log_softmax": ((ROWS, COLUMNS), lambda n, x, w: x.log_softmax(1)),
    "layer_norm": ((ROWS, COLUMNS), lambda n, x, w: n.F.layer_norm(x, (COLUMNS,), w, w)),
    "rms_norm": ((ROWS, COLUMNS), lambda n, x, w: n.F.rms_norm(x, (COLUMNS,), w)),
    "batch_norm": (IMAGES, lambda n, x, w: n.F.batch_norm(x, None, None, w, w, True)),
    "group_norm": (IMAGES, lambda n, x, w: n.F.group_norm(x, 8, w, w)),
    "instance_norm": (IMAGES, lambda n, x, w: n.F.instance_norm(x, weight=w, bias=w)),
}


def _cross_entropy(library: Tensors) -> Callable[[Any, Any], Any]:
    target = library.tensor(integers(COLUMNS, ROWS, seed=2))
    return lambda x, w: library.F.cross_entropy(x, target)


def _rival(shape: tuple[int, ...], program: Program | None, backward: bool) -> Callable[[Tensors], Rival]:
    def rival(library: Tensors) -> Rival:
        x = library.tensor(data(*shape, seed=1), backward)
        w = library.tensor(data(shape[1], seed=3), backward)
        run = _cross_entropy(library) if program is None else lambda x, w: program(library, x, w)
        if not backward:
            return lambda: run(x, w)
        found = run(x, w)
        seed = library.tensor(data(found.numel(), seed=4).reshape(tuple(found.shape)))

        def both() -> Any:
            x.grad = w.grad = None
            run(x, w).backward(seed)
            return x.grad if w.grad is None else (x.grad, w.grad)

        return both

    return rival


ROW_WISE = tuple(
    Workload(
        f"{'rows backward' if backward else 'rows'}: {name} {'x'.join(str(n) for n in shape)}",
        f"rows of large arrays{', with backward' * backward}",
        _rival(shape, program, backward),
        None,
        1.3,
        3.0,
        reads=4 * prod(shape),
    )
    for backward in (False, True)
    for name, (shape, program) in {**PROGRAMS, "cross_entropy": ((ROWS, COLUMNS), None)}.items()
)
