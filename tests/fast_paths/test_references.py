"""The machine holds nothing longer than it should, and lets go of nothing that it does not hold."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import fast_paths

x = tengen.randn(3, 4, requires_grad=True)
y = tengen.randn(3, 4, requires_grad=True)
w = tengen.randn(3, 4)
USES: dict[str, Callable[[], Any]] = {
    "operators": lambda: (x * y + 1, w * w, w - 2, tengen.tanh(w), w < w),
    "numbers": lambda: (w * 1.25, w + 3, w * True, w * float("nan")),
    "backward": lambda: ((x * y).tanh() * x - y / 3).sum().backward(),
    "twice": lambda: tengen.autograd.grad((x * x * y).sum(), [x, y]),
    "in place": lambda: w.clone().mul_(w).add_(2).zero_(),
    "views": lambda: (x.view(-1).view(4, 3), w.T, w.select(0, 1), x.transpose(0, 1).sum()),
    "flags": lambda: (w / 0, tengen.log(w * 0), 0 / (w * 0)),
    "errors": lambda: [failing(lambda: w.mul(tengen.ones(7))), failing(lambda: w.mul("2")), failing(stale)],
    "left": lambda: (w.T * w.T, w.mul(np.float32(2)), tengen.add(w, w, alpha=3), w.sum(dim=0)),
    "results": lambda: (tengen.exp(x).sum().backward(), tengen.sigmoid(x).sum().backward()),
    "linear": lambda: tengen.nn.functional.linear(x, y, None).relu().mean().backward(),
}


def failing(run: Callable[[], Any]) -> str:
    try:
        run()
    except Exception as error:
        return str(error)
    raise AssertionError("it should fail")


def stale() -> None:
    """A value that was saved is written over."""
    a = x * 1
    b = a * a
    a.mul_(2)
    b.sum().backward()


def dot_keeps_dtypes() -> bool:
    """Whether NumPy's own ``dot`` never gives back a reference to the dtype, as NumPy 2.5 on Python 3.12."""
    matrix = np.ones((2, 2), np.float32)
    before = sys.getrefcount(matrix.dtype)
    for _ in range(1000):
        np.dot(matrix, matrix)
    return sys.getrefcount(matrix.dtype) - before > 100


DOT_KEEPS_DTYPES = dot_keeps_dtypes()


def counted() -> dict[str, int]:
    """References to what fast paths use most."""
    T, plain = x._type, type(x)
    kept = {
        "None": None,
        "False": False,
        "True": True,
        "zero": 0,
        "one": 1,
        "Type": T,
        "Tensor": plain,
        "array": x._array,
        "dtype": T.dtype,
        "empty tuple": (),
        "ufunc": np.multiply,
        "active": tengen.core.interception.active,
        "accelerated": tengen.mul,
    }
    if DOT_KEEPS_DTYPES:
        del kept["dtype"]
    return {name: sys.getrefcount(value) for name, value in kept.items()}


@pytest.mark.parametrize("use", USES)
def test_counts_stay_as_they_are(use: str) -> None:
    run = USES[use]
    for _ in range(300):  # caches, the first calls, the leaves' accumulators
        run()
    while gc.collect():  # what others left, and what that kept
        pass
    before, objects = counted(), len(gc.get_objects())
    for _ in range(1000):
        run()
    gc.collect()
    after = counted()
    grown = {n: after[n] - before[n] for n in after if abs(after[n] - before[n]) > 100}
    assert grown == {}
    assert len(gc.get_objects()) - objects < 100  # fewer there may be: what others left goes when it likes


def test_a_graph_is_freed_with_its_result() -> None:
    a = tengen.ones(3, requires_grad=True)
    b = a * a
    node, array = weakref.ref(b.grad_fn), weakref.ref(b._array)
    c = b.tanh()
    del b
    assert node() is not None
    del c
    assert node() is None and array() is None


def test_what_was_saved_is_freed_by_backward() -> None:
    a = tengen.ones(3, requires_grad=True)
    b = a * 1
    c = (b * b).sum()
    array = weakref.ref(b._array)
    del b
    assert array() is not None
    c.backward()
    assert array() is None
    with pytest.raises(RuntimeError, match="a second time"):
        c.backward()


def test_a_deep_graph_is_run_and_freed() -> None:
    a = tengen.ones(2, requires_grad=True)
    b = a
    for _ in range(100_000):
        b = b + 1
    b.sum().backward()
    assert a.grad.tolist() == [1, 1]
    del b


def test_threads() -> None:
    expected = tengen.autograd.grad((w * x).tanh().sum(), x)[0].tolist()
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(300):
            found = tengen.autograd.grad((w * x).tanh().sum(), x)[0].tolist()
            if found != expected:
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_an_interrupt_of_a_kernel_is_no_error_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    a = tengen.ones(2, 2)
    a.mm(a)
    monkeypatch.setattr("tengen.generated.contractions.mm_of_numpy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        a.mm(a)


def test_a_write_that_fails_is_not_counted() -> None:
    a = tengen.ones(2, 3)
    a.mul_(2)
    assert a._version == 1
    failing(lambda: a.mul_(tengen.ones(5)))
    assert a._version == 1 and a.tolist() == [[2, 2, 2]] * 2


def test_it_can_be_stopped() -> None:
    with fast_paths.stopped():
        assert fast_paths.engine() is None
        assert (w * w).tolist() == tengen.mul(w, w).tolist()
    assert fast_paths.engine() is not None
