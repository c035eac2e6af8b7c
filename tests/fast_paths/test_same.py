"""With and without the C machine operators give the same: bits, layouts, graphs, gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import fast_paths
from tengen.testing import declared
from tengen.testing.samples import Call

pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = sorted(declared.operators())
PARTS = 16
#: So many samples of an operator are tried.
SAMPLES = 3


def described(value: Any, depth: int = 3) -> Any:
    """What can be seen of a value, of a Tensor with its graph."""
    if isinstance(value, tengen.Tensor):
        if type(value._array) is not np.ndarray:
            return type(value._array).__name__
        array = value._array
        elements = array.tolist() if array.dtype.hasobject else array.tobytes()  # places in memory differ
        seen = (array.dtype.str, array.shape, array.strides if array.size else (), elements)
        return (*seen, value.requires_grad, value._version, value._base is None, graph(value.grad_fn, depth))
    if isinstance(value, (tuple, list)):
        return [described(v, depth) for v in value]
    return repr(value)


def graph(node: Any, depth: int) -> Any:
    """A Node: its class, what it has saved, and what it leads to."""
    if node is None or not depth:
        return node is None
    names = [n for n in dir(node) if n.startswith("_saved_")]
    kept = [(n, described(getattr(node, n), 0)) for n in names]
    return node.name(), kept, [(graph(n, depth - 1), i) for n, i in node.next_functions]


def grown(result: Any, leaves: list[Any]) -> Any:
    """The gradients that come back to the leaves."""
    outs = [t for t in declared.flat(result) if t.requires_grad and not t.is_complex()]
    total = sum((t.sum() for t in outs), tengen.zeros(()))
    if not total.requires_grad:
        return None
    try:
        grads = tengen.autograd.grad(total, leaves, allow_unused=True)
    except (NotImplementedError, RuntimeError) as error:
        return str(error)
    return described(grads)


def outcome(call: Call, kind: Any, wanted: bool) -> Any:
    """What a call gives, does to its arguments, and gives back; or its error."""
    tengen.manual_seed(0)
    values = call.tensors(kind)
    leaves = [t for t in declared.flat(values) if t.is_floating_point()]
    given = values
    if wanted:
        for t in leaves:
            t.requires_grad_()
        if declared.writes(call.operator):  # a leaf may not be written to
            given = [v * 1 if isinstance(v, tengen.Tensor) and v.requires_grad else v for v in values]
    try:
        result = declared.run(str(call.operator.name), given)
    except Exception as error:
        return type(error).__name__, str(error), described(given)
    return described(result), described(given), grown(result, leaves) if wanted else None


def cases(name: str) -> Iterator[tuple[Call, Any, bool]]:
    for call in declared.calls(name)[:SAMPLES]:
        for kind in (tengen.float32, tengen.int64):
            if call.takes(kind):
                yield call, kind, False
                yield call, kind, True


@pytest.mark.parametrize("part", range(PARTS))
def test_every_operator(part: int) -> None:
    wrong = []
    for name in NAMES[part::PARTS]:
        for call, kind, wanted in cases(name):
            with fast_paths.stopped():
                expected = outcome(call, kind, wanted)
            for _ in range(2):  # the first call makes the fast path
                if outcome(call, kind, wanted) != expected:
                    wrong.append(f"{call} of {kind}{' with gradients' if wanted else ''}")
                    break
    assert wrong == []


def uses(x: Any, y: Any) -> dict[str, Any]:
    """Calls as fast paths have them, with operators and keywords."""
    return {
        "operators": lambda: (x + y, x - 2, 3 * x, x / y, -x, x**2, 2**x, x < y, x == 1.5, abs(x), x @ x.T),
        "functions": lambda: (tengen.add(x, y, alpha=2), tengen.sub(x, y), tengen.sum(x, 1, keepdim=True)),
        "methods": lambda: (x.mul(other=y), x.sum(dim=0), x.mean(axis=1), x.view(-1), x.view(x.numel(), 1)),
        "views": lambda: (
            x[1],
            x[0:2, 1],
            x.t(),
            x.transpose(0, 1) + y.T,
            x.select(0, 1),
            x.expand(2, *x.shape),
        ),
        "layouts": lambda: (x.T * y.T, x[:, ::2] + y[:, ::2], tengen.exp(x.T), x[:0] * y[:0]),
        "special": lambda: (
            x / 0,
            tengen.log(x * 0),
            tengen.exp(x * 1e30),
            (x * np.nan).maximum(y),
            0 / (x * 0),
        ),
        "in place": lambda: x.clone().mul_(y).add_(1).neg_().zero_(),
        "of views": lambda: x.clone().select(0, 1).mul_(3),
        "no history": lambda: (x.detach() * y.detach()).exp_(),
        "errors": lambda: x.mul(y[:, :1].expand(-1, 7)),
        "strings": lambda: x.mul("2"),
        "too many": lambda: tengen.mul(x, y, y),
        "unknown": lambda: tengen.mul(x, y, nothing=1),
        "numbers": lambda: (x * True, x * (2**70), x + 1j, x * np.float32(2), x * float("nan")),
        "bools": lambda: ((x > 0) & (y > 0), ~(x > 0), (x > 0).sum(), (x > 0) * 2),
    }


@pytest.mark.parametrize("wanted", [False, True])
@pytest.mark.parametrize("use", uses(None, None))
@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (60, 90), (600, 300)])
def test_uses(use: str, shape: tuple[int, ...], wanted: bool) -> None:
    found = []
    for stop in (True, False, False):
        tengen.manual_seed(1)
        x, y = tengen.randn(shape, requires_grad=wanted), tengen.randn(shape, requires_grad=wanted)

        def run(x: Any = x, y: Any = y) -> Any:
            try:
                result = uses(x, y)[use]()
            except Exception as error:
                return type(error).__name__, str(error)
            return described(result), described([x, y]), grown(result, [x, y]) if wanted else None

        if stop:
            with fast_paths.stopped():
                found.append(run())
        else:
            found.append(run())
    assert found[1] == found[0] and found[2] == found[0]


@pytest.mark.parametrize("first", [0, 1])
def test_memory_that_is_shared_unknown_to_tensors(first: int) -> None:
    """NumPy sees that operands overlap what is written."""
    expected = np.arange(9.0)
    expected[first : 8 + first] += expected[1 - first : 9 - first].copy()
    memory = np.arange(9.0)
    a, b = tengen.from_numpy(memory[first : 8 + first]), tengen.from_numpy(memory[1 - first : 9 - first])
    a.add_(b)
    assert memory.tolist() == expected.tolist()


def test_an_element_of_what_is_written() -> None:
    memory = np.arange(1.0, 5.0)
    a, b = tengen.from_numpy(memory), tengen.from_numpy(memory[0:1].reshape(()))
    a.mul_(b)
    assert memory.tolist() == [1, 2, 3, 4]
    memory[0] = 2
    a.mul_(b)
    assert memory.tolist() == [4, 4, 6, 8]
