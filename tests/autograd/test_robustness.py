"""Threads, errors in the middle, very deep graphs, and nothing that only the collector would free."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import tengen
from tengen.autograd.graph_task import current
from tengen.core.interception import active

#: Nodes one after the other: what follows them by recursion does not come to the end. A stack has 8 MiB: 130
#: bytes for each, less than the frames of any function in C that calls itself through Python's.
DEEP = 64_000


def leaf(m: Any, *values: float) -> Any:
    return m.tensor(values or (1.0, 2.0), dtype=m.float64, requires_grad=True)


class Once(Exception):
    """What hooks raise here."""


def fail(*arguments: Any) -> None:
    raise Once("from inside")


# -- threads -----------------------------------------------------------------------------------


def program(m: Any, x: Any, number: int) -> Any:
    """A graph that is a little different for each number, with views, writes and a Function."""
    y = x * float(number % 7 + 1)
    z = y.clone()
    z[0] = y[1] * 2
    z.mul_(y)
    for _ in range(number % 5):
        z = z.sin() + y.view(2, 1).reshape(2)
    return (Doubled[m.__name__].apply(z) * x).sum()


def _doubled(m: Any) -> Any:
    class Made(m.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2 * ctx.saved_tensors[0]

    return Made


class _Doubled(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        import importlib

        made = self[name] = _doubled(importlib.import_module(name))
        return made


Doubled = _Doubled()


def test_a_hundred_graphs_from_eight_threads(m: Any) -> None:
    """Made, differentiated and freed at once; each gives what it gives alone."""

    def alone(number: int) -> list[float]:
        x = leaf(m, 0.5 + number / 100, 1.5)
        program(m, x, number).backward()
        return x.grad.tolist()  # type: ignore[no-any-return]

    expected = [alone(n) for n in range(100)]
    for _ in range(3):
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(alone, range(100))) == expected


def test_graphs_that_share_leaves_from_eight_threads(m: Any) -> None:
    """What they accumulate into one leaf is the exact sum, whichever comes first."""
    x = leaf(m, 1.0, 2.0)
    start = threading.Barrier(8)

    def work(_: int) -> None:
        start.wait()
        for _ in range(25):
            (x * 3.0).sum().backward()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert x.grad.tolist() == [600.0, 600.0]


def test_one_graph_differentiated_by_eight_threads(m: Any) -> None:
    x = leaf(m)
    y = (x.exp() * x).sum()
    (expected,) = m.autograd.grad(y, x, retain_graph=True)

    def work(_: int) -> Any:
        return m.autograd.grad(y, x, retain_graph=True)[0]

    with ThreadPoolExecutor(8) as pool:
        assert all(g.tolist() == expected.tolist() for g in pool.map(work, range(100)))


def test_modes_hooks_and_errors_in_other_threads_do_not_reach_this_one(m: Any) -> None:
    """One thread fails in a hook, one is in no_grad, one watches saved tensors: a fourth sees nothing."""
    stop = threading.Event()
    x = leaf(m)

    def failing() -> None:
        while not stop.is_set():
            y = leaf(m) * 2
            y.register_hook(fail)
            with pytest.raises(Once):
                y.sum().backward()

    def silent() -> None:
        while not stop.is_set():
            with m.no_grad():
                assert not (x * 2).requires_grad

    def packing() -> None:
        while not stop.is_set():
            with m.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
                w = leaf(m)
                (w * w).sum().backward()
                assert w.grad.tolist() == [2.0, 4.0]

    with ThreadPoolExecutor(3) as pool:
        others = [pool.submit(work) for work in (failing, silent, packing)]
        try:
            for _ in range(300):
                w = leaf(m)
                y = w * w
                assert y.requires_grad
                y.sum().backward()
                assert w.grad.tolist() == [2.0, 4.0]
        finally:
            stop.set()
        for other in others:
            other.result()
    if m is tengen:
        assert not active


# -- errors in the middle --------------------------------------------------------------------


def tensor_hook(m: Any, x: Any, y: Any) -> None:
    y.register_hook(fail)


def leaf_hook(m: Any, x: Any, y: Any) -> None:
    x.register_hook(fail)


def prehook(m: Any, x: Any, y: Any) -> None:
    y.grad_fn.register_prehook(fail)


def posthook(m: Any, x: Any, y: Any) -> None:
    y.grad_fn.register_hook(fail)


def post_accumulate(m: Any, x: Any, y: Any) -> None:
    x.register_post_accumulate_grad_hook(fail)


def callback(m: Any, x: Any, y: Any) -> None:
    queue = m.autograd.Variable._execution_engine.queue_callback
    y.register_hook(lambda g: queue(fail))


def multi_grad(m: Any, x: Any, y: Any) -> None:
    m.autograd.graph.register_multi_grad_hook((x, y), fail)


def wrong_size(m: Any, x: Any, y: Any) -> None:
    y.register_hook(lambda g: m.ones(5))


FAILING = [tensor_hook, leaf_hook, prehook, posthook, post_accumulate, callback, multi_grad, wrong_size]


@pytest.mark.parametrize("place", FAILING)
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_hook_that_fails_leaves_nothing_behind(
    m: Any, place: Callable[[Any, Any, Any], None], create_graph: bool
) -> None:
    """The next passes, of other graphs and of the same leaf, are right; nothing is accumulated twice."""
    x = leaf(m)
    y = x * 2
    place(m, x, y)
    with pytest.raises((Once, RuntimeError)):
        (y * y).sum().backward(create_graph=create_graph)
    assert m.is_grad_enabled()
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        m.autograd.Variable._execution_engine.queue_callback(fail)
    if m is tengen:
        assert current.task is None and not active
    other = leaf(m)
    (other * other).sum().backward()
    assert other.grad.tolist() == [2.0, 4.0]
    if place not in (leaf_hook, post_accumulate, multi_grad):
        x.grad = None
        (x * 3).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]


def test_after_a_hook_has_failed_once_the_same_graph_gives_the_right_gradient(m: Any) -> None:
    x = leaf(m)
    y = x * 2
    tries = iter([True, False])

    def hook(grad: Any) -> None:
        if next(tries):
            raise Once("the first time")

    y.register_hook(hook)
    loss = (y * y).sum()
    with pytest.raises(Once):
        loss.backward(retain_graph=True)
    assert x.grad is None
    loss.backward(retain_graph=True)
    assert x.grad.tolist() == [8.0, 16.0]


def test_an_error_in_a_pass_within_a_pass(m: Any) -> None:
    x = leaf(m)
    y = x * 2

    def inner(grad: Any) -> None:
        with m.enable_grad(), pytest.raises(Once):
            z = leaf(m) * 2
            z.register_hook(fail)
            z.sum().backward()
        assert not m.is_grad_enabled()

    y.register_hook(inner)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and m.is_grad_enabled()


def test_errors_of_pack_and_unpack_hooks(m: Any) -> None:
    hooks = m.autograd.graph.saved_tensors_hooks
    x = leaf(m)
    with pytest.raises(Once), hooks(fail, lambda t: t):
        x * x
    with hooks(lambda t: t, fail):
        y = (x * x).sum()
    with pytest.raises(Once):
        y.backward()
    assert m.is_grad_enabled() and x.grad is None
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    if m is tengen:
        assert not active


# -- very deep graphs ------------------------------------------------------------------------


def chain(x: Any, count: int = DEEP) -> Any:
    y = x
    for _ in range(count):
        y = y * 1.0
    return y


def scalar() -> Any:
    return tengen.tensor(1.0, dtype=tengen.float64, requires_grad=True)


def test_deep_forward_backward_twice_and_free() -> None:
    x = scalar()
    y = chain(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 2
    del y


def test_deep_and_freed_without_a_backward_pass() -> None:
    y = chain(scalar())
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_deep_with_only_some_inputs() -> None:
    x = scalar()
    (gradient,) = tengen.autograd.grad(chain(x), x)
    assert gradient.item() == 1


def test_deep_and_differentiated_twice() -> None:
    x = scalar()
    y = x
    for _ in range(DEEP // 4):
        y = y * x
    (first,) = tengen.autograd.grad(y, x, create_graph=True)
    assert first.item() == DEEP // 4 + 1
    (second,) = tengen.autograd.grad(first, x)
    assert second.item() == (DEEP // 4 + 1) * (DEEP // 4)
    y = chain(x)
    (first,) = tengen.autograd.grad(y, x, create_graph=True)
    assert first.item() == 1
    del y, first


def test_deep_with_hooks() -> None:
    x = scalar()
    seen = [0, 0]

    def on_tensor(grad: Any) -> None:
        seen[0] += 1

    def on_node(inputs: Any, outputs: Any) -> None:
        seen[1] += 1

    y = x
    for _ in range(DEEP):
        y = y * 1.0
        y.register_hook(on_tensor)
        y.grad_fn.register_hook(on_node)
    y.backward()
    assert seen == [DEEP, DEEP] and x.grad.item() == 1


def test_deep_with_gradients_retained() -> None:
    x = scalar()
    tensors = [x * 1.0]
    for _ in range(DEEP // 4):
        tensors.append(tensors[-1] * 1.0)
        tensors[-1].retain_grad()
    tensors[-1].backward()
    assert tensors[1].grad.item() == 1


@pytest.mark.parametrize("save_result", [False, True])
def test_deep_with_custom_functions(save_result: bool) -> None:
    class Same(tengen.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            result = a * 1.0
            ctx.save_for_backward(result if save_result else a)
            return result

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            assert len(ctx.saved_tensors) == 1
            return grad

    x = scalar()
    y = x
    for _ in range(DEEP):
        y = Same.apply(y)
    y.backward()
    assert x.grad.item() == 1
    del y


def test_deep_with_writes_and_views() -> None:
    x = scalar()
    y = x * 1.0
    for _ in range(DEEP // 2):
        y.mul_(1.0)
    z = y.view(1)
    for _ in range(DEEP // 2):
        z = z.view(1)
    z.sum().backward()
    assert x.grad.item() == 1
    base = tengen.ones(2, requires_grad=True) * 1.0
    for _ in range(DEEP // 20):
        base[0].mul_(1.0)
    base.sum().backward()


def test_deep_with_saved_tensor_hooks() -> None:
    x = scalar()
    y = x
    with tengen.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        for _ in range(DEEP // 4):
            y = y * y
    y.backward()
    assert x.grad is not None


#: Frees a chain of objects and tuples, as graphs are, in a thread with a stack of so many bytes.
FREES_A_CHAIN = """
import sys, threading
class Node:
    __slots__ = ("edges", "__weakref__")
def work():
    node = None
    for _ in range(100_000):
        node, inner = Node(), node
        node.edges = ((inner, 0), (None, 0))
threading.stack_size(int(sys.argv[1]))
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def small_stack() -> int:
    """A stack on which Python itself can free a long chain: of 3.13 some versions need more than 512 KB."""
    for size in (512 * 1024, 1024 * 1024, 2048 * 1024):
        command = [sys.executable, "-c", FREES_A_CHAIN, str(size)]
        if subprocess.run(command, capture_output=True).returncode == 0:
            return size
    pytest.skip("this Python frees no long chain of its own objects in a thread with a stack of 2 MB")


def test_deep_in_a_thread_with_a_small_stack() -> None:
    """Neither running nor freeing a graph follows it by recursion, of Python or of C."""
    done: list[float] = []

    def work() -> None:
        x = scalar()
        y = chain(x, DEEP // 2)
        y.backward(retain_graph=True)
        del y
        done.append(x.grad.item())

    before = threading.stack_size(small_stack())
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert done == [1.0]


# -- cycles ------------------------------------------------------------------------------------


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


GRAPHS: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda m, x: x * x,
    "saves its result": lambda m, x: x.exp(),
    "several results": lambda m, x: x.sort()[0] + x.unbind()[0],
    "list": lambda m, x: m.cat([x, x.tanh()]),
    "reduction": lambda m, x: m.softmax(x, 0).max(0)[0],
    "matrix": lambda m, x: m.linalg.inv(m.diag(x)).sum(0),
    "view": lambda m, x: (x * 1).view(2, 1)[0],
    "write": lambda m, x: (x * 1).mul_(x).add_(2).sigmoid_(),
    "result written": lambda m, x: x.exp().clone().add_(0).exp_().sin(),
    "write into a view": lambda m, x: write_into_a_view(x),
    "Function": lambda m, x: Doubled[m.__name__].apply(x),
    "norm": lambda m, x: x.norm(),
    "nothing implemented": lambda m, x: x + m.floor_divide(x, 2).detach(),
}


def write_into_a_view(x: Any) -> Any:
    y = x * 1
    v = y[:1]
    v.exp_()
    return y * v


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("way", ["backward", "retain", "create", "forward only", "retain_grad", "hooks"])
@pytest.mark.usefixtures("no_collector")
def test_a_graph_dies_with_its_last_name(m: Any, name: str, way: str) -> None:
    """With the collector off: no reference leads from a Node back to itself."""
    x = leaf(m)
    y = GRAPHS[name](m, x)
    node = weakref.ref(y.grad_fn) if m is tengen else None
    loss = y.sum()
    root = weakref.ref(loss)
    if way == "retain_grad":
        y.retain_grad()
    elif way == "hooks":
        y.register_hook(lambda g: g * 2)
        y.grad_fn.register_hook(lambda a, b: None)
    if way == "create":
        (g,) = m.autograd.grad(loss, x, create_graph=True)
        if g.requires_grad:
            g.sum().backward()
        del g
    elif way != "forward only":
        loss.backward(retain_graph=way == "retain")
    x.grad = None
    del y, loss
    assert root() is None and (node is None or node() is None)


@pytest.mark.usefixtures("no_collector")
def test_a_graph_with_packed_values_dies_too(m: Any) -> None:
    x = leaf(m)
    with m.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        y = (x.exp() * x).sum()
    root = weakref.ref(y)
    node = weakref.ref(y.grad_fn) if m is tengen else None
    y.backward(retain_graph=True)
    del y
    assert root() is None and (node is None or node() is None)


@pytest.mark.usefixtures("no_collector")
def test_a_graph_dies_after_an_error(m: Any) -> None:
    x = leaf(m)
    y = x.exp() * x
    y.register_hook(fail)
    node = weakref.ref(y.grad_fn) if m is tengen else None
    root = weakref.ref(y)
    try:
        y.sum().backward()
    except Once as error:
        error.__traceback__ = None
    del y
    assert root() is None and (node is None or node() is None)
