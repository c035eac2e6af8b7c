"""What PyTorch pins down about autograd, by number, in tengen and in torch.

1  something saved was changed in place        7  custom Functions
2  detach() and data                           8  checkpoint
3  a second backward                           9  threads that share a leaf
4  the order of hooks                         10  subgradients
5  what hooks may return                      11  complex gradients
6  the arguments of backward and grad         12  no reference cycles
"""

from __future__ import annotations

import gc
import importlib
import math
import re
import threading
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from in_threads import in_threads

Program = Callable[[Any, Any], Any]

SECOND_TIME = "Trying to backward through the graph a second time|after they have already been freed"


def leaf(m: ModuleType, *values: float) -> Any:
    """A float64 leaf."""
    return m.tensor(list(values), dtype=m.float64, requires_grad=True)


def function(m: ModuleType, forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    """A Function with these methods."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Custom", (m.autograd.Function,), methods)


# -- 1: something saved was changed in place -------------------------------------------------


def write_to_an_input(m: Any, x: Any) -> Any:
    y = x * 1
    z = y * y
    y.add_(1)
    return z


def write_to_a_result(m: Any, x: Any) -> Any:
    y = x.exp()
    y.add_(1)
    return y


def write_through_a_view(m: Any, x: Any) -> Any:
    y = x.exp()
    y[0] = 1.0
    return y * 1


def write_by_item(m: Any, x: Any) -> Any:
    y = x.sigmoid()
    z = y * 2
    y[:1].zero_()
    return z


@pytest.mark.parametrize(
    "program", [write_to_an_input, write_to_a_result, write_through_a_view, write_by_item]
)
def test_01_a_saved_value_that_was_written_to(m: ModuleType, program: Program) -> None:
    out = program(m, leaf(m, 1.0, 2.0))
    with pytest.raises(RuntimeError) as caught:
        out.sum().backward()
    text = str(caught.value)
    assert (
        "one of the variables needed for gradient computation has been modified by an inplace operation"
        in text
    )
    assert re.search(r"DoubleTensor \[2\]\]", text), text
    assert "is at version 1; expected version 0 instead" in text
    assert "anomaly detection" in text or "set_detect_anomaly" in text


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (write_to_an_input, "is output 0 of Add"),
        (write_to_a_result, "is output 0 of Exp"),
        (write_through_a_view, "is output 0 of Exp"),
        (write_by_item, "is output 0 of Sigmoid"),
    ],
)
def test_01_it_is_said_whose_result_it_is(m: ModuleType, program: Program, said: str) -> None:
    with pytest.raises(RuntimeError, match=said):
        program(m, leaf(m, 1.0, 2.0)).sum().backward()


def test_01_operators_that_save_nothing_do_not_mind(m: ModuleType) -> None:
    x = leaf(m, 1.0, 2.0)
    y = x + 1
    z = y + 2
    y.mul_(5)
    (z.sum() + y.sum()).backward()
    assert x.grad.tolist() == [6.0, 6.0]


# -- 2: detach() and data --------------------------------------------------------------------


def test_02_detach_shares_the_version_counter(m: ModuleType) -> None:
    x = leaf(m, 1.0, 2.0)
    y = x * 1
    z = y * y
    y.detach().add_(1)
    assert y._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_02_data_does_not(m: ModuleType) -> None:
    x = leaf(m, 1.0, 2.0)
    y = x * 1
    z = y * y
    y.data.add_(1)
    assert y._version == 0 and y.tolist() == [2.0, 3.0]
    z.sum().backward()
    assert x.grad.tolist() == [4.0, 6.0]  # of the values that are there now


# -- 3: a second backward --------------------------------------------------------------------


def test_03_a_second_backward_where_nothing_was_saved(m: ModuleType) -> None:
    x = leaf(m, 1.0, 2.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("saves", [lambda x: x * x, lambda x: x.exp()], ids=["an input", "a result"])
def test_03_a_second_backward_where_something_was_freed(m: ModuleType, saves: Callable[[Any], Any]) -> None:
    y = saves(leaf(m, 1.0, 2.0)).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        y.backward()


def test_03_a_saved_value_read_after_it_was_freed(m: ModuleType) -> None:
    y = leaf(m, 1.0, 2.0) ** 2
    assert y.grad_fn._saved_self.tolist() == [1.0, 2.0]
    y.sum().backward()
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        y.grad_fn._saved_self  # noqa: B018


# -- 4: the order of hooks -------------------------------------------------------------------


def test_04_hooks_of_a_result(m: ModuleType) -> None:
    x = leaf(m, 1.0)
    y = x * 3
    seen: list[Any] = []
    y.retain_grad()
    y.register_hook(lambda g: (seen.append(("first", g.item())), g * 2)[1])
    y.register_hook(lambda g: (seen.append(("second", g.item())), g + 1)[1])
    y.grad_fn.register_prehook(lambda gs: seen.append(("prehook", gs[0].item())))
    y.grad_fn.register_hook(lambda out, given: seen.append(("posthook", out[0].item(), given[0].item())))
    (y * 5).sum().backward()
    assert seen == [("first", 5.0), ("second", 10.0), ("prehook", 11.0), ("posthook", 33.0, 11.0)]
    assert y.grad.item() == 11.0 and x.grad.item() == 33.0


def test_04_hooks_of_a_leaf(m: ModuleType) -> None:
    x = leaf(m, 1.0)
    seen: list[str] = []
    accumulator = (x * 1).grad_fn.next_functions[0][0]
    x.register_post_accumulate_grad_hook(lambda t: seen.append(f"post-accumulate {t.grad.item()}"))
    accumulator.register_hook(lambda out, given: seen.append("posthook"))
    accumulator.register_prehook(lambda gs: seen.append(f"prehook {x.grad}"))
    x.register_hook(lambda g: seen.append("tensor hook"))
    (x * 2).sum().backward()
    assert seen == ["tensor hook", "prehook None", "post-accumulate 2.0", "posthook"]


def test_04_with_grad_only_the_tensor_hooks_of_what_was_asked_for_run(m: ModuleType) -> None:
    x = leaf(m, 1.0)
    y = x * 3
    z = (y * 2).sum()
    seen: list[str] = []
    x.register_hook(lambda g: seen.append("x"))
    y.register_hook(lambda g: seen.append("y"))
    y.grad_fn.register_prehook(lambda gs: seen.append("prehook of y's node"))
    y.grad_fn.register_hook(lambda out, given: seen.append("posthook of y's node"))
    m.autograd.grad(z, y)
    assert seen == ["y"]


# -- 5: what hooks may return ----------------------------------------------------------------


@pytest.mark.parametrize("result", ["size", "dtype", "no tensor"])
def test_05_a_bad_result_of_a_hook(m: ModuleType, result: str) -> None:
    def my_hook(grad: Any) -> Any:
        return {"size": grad[:1], "dtype": grad.to(m.float32), "no tensor": 3}[result]

    x = leaf(m, 1.0, 2.0)
    x.register_hook(my_hook)
    with pytest.raises((RuntimeError, TypeError)) as caught:
        (x * 2).sum().backward()
    text = str(caught.value)
    if result == "no tensor":
        assert isinstance(caught.value, TypeError) and "hook" in text and "returned 'int'" in text
    else:
        assert "my_hook" in text and "has changed the" in text
    assert x.grad is None


def test_05_post_accumulate_hooks(m: ModuleType) -> None:
    x = leaf(m, 1.0, 2.0)
    with pytest.raises(
        RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"
    ):
        (x * 2).register_post_accumulate_grad_hook(lambda t: None)
    x.register_post_accumulate_grad_hook(lambda t: t)  # nobody minds
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        (x * 2).sum().backward()
    y = leaf(m, 1.0)
    y.register_post_accumulate_grad_hook(lambda t: 3)
    with pytest.raises(TypeError, match="returned 'int'"):
        (y * 2).sum().backward()


# -- 6: the arguments of backward and grad ---------------------------------------------------


def test_06_backward_without_a_gradient(m: ModuleType) -> None:
    x = leaf(m, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="only for real scalar outputs but got"):
        (x * 2j).sum().backward()
    (x[:1] * 2).backward()  # one element will do
    assert x.grad.tolist() == [2.0, 0.0]


def test_06_unused_inputs(m: ModuleType) -> None:
    x, y = leaf(m, 1.0), leaf(m, 2.0, 3.0)
    grad = m.autograd.grad
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        grad((x * 2).sum(), (x, y))
    assert grad((x * 2).sum(), (x, y), allow_unused=True)[1] is None
    assert grad((x * 2).sum(), (x, y), materialize_grads=True)[1].tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="allow_unused"):
        grad((x * 2).sum(), (x, y), materialize_grads=True, allow_unused=False)


def test_06_inputs_that_are_no_leaves(m: ModuleType) -> None:
    x = leaf(m, 1.0)
    y = x * 2
    (y * 3).sum().backward(inputs=[y])
    assert y.grad.tolist() == [3.0] and x.grad is None
    with pytest.raises(RuntimeError, match="cannot be empty"):
        (x * 3).sum().backward(inputs=[])


# -- 7: custom Functions ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda g: (g, None, None), None),
        (lambda g: (g, None, g), r"returned an incorrect number of gradients \(expected 2, got 3\)"),
        (lambda g: g, r"returned an incorrect number of gradients \(expected 2, got 1\)"),
        (lambda g: (g, g), "returned a gradient different than None at position 2"),
    ],
    ids=["more None", "too many", "too few", "for what is no tensor"],
)
def test_07_what_backward_returns(m: ModuleType, given: Callable[[Any], Any], message: str | None) -> None:
    x = leaf(m, 1.0)
    y = function(m, lambda ctx, x, n: x * n, lambda ctx, g: given(g)).apply(x, 2)
    if message is None:
        y.sum().backward()
        assert x.grad.tolist() == [1.0]
    else:
        with pytest.raises(RuntimeError, match=message):
            y.sum().backward()


def test_07_a_returned_input_is_a_view_that_refuses_in_place(m: ModuleType) -> None:
    x = leaf(m, 1.0) * 1
    y = function(m, lambda ctx, x: x, lambda ctx, g: g * 2).apply(x)
    assert y is not x and y._is_view() and y.data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        y.add_(1)


def test_07_mark_dirty(m: ModuleType) -> None:
    def write(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    def write_and_forget(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2) + 1

    x = leaf(m, 1.0)
    good = function(m, write, lambda ctx, g: g * 2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        good.apply(x)
    x = leaf(m, 1.0)
    y = x * 1
    z = good.apply(y)
    assert z is y and y._version == 2  # written to, and marked
    z.sum().backward()
    assert x.grad.tolist() == [2.0]
    with pytest.raises(
        RuntimeError, match="Some elements marked as dirty during the forward method were not"
    ):
        function(m, write_and_forget, lambda ctx, g: g * 2).apply(x * 1)


def test_07_what_is_no_tensor_passes_through(m: ModuleType) -> None:
    marker = object()
    out = function(m, lambda ctx, x, o: (x * 2, o, None, 3), lambda ctx, *g: (g[0] * 2, None)).apply(
        leaf(m, 1.0), marker
    )
    assert out[1] is marker and out[2:] == (None, 3)


# -- 8: checkpoint ---------------------------------------------------------------------------


def checkpoint(m: ModuleType) -> ModuleType:
    return importlib.import_module(f"{m.__name__}.utils.checkpoint")


def test_08_without_reentry_it_works_under_grad(m: ModuleType) -> None:
    x = leaf(m, 1.0, 2.0)
    y = checkpoint(m).checkpoint(lambda x, *, k: (x * k).exp(), x, k=2, use_reentrant=False)
    (g,) = m.autograd.grad(y.sum(), x)
    assert g.tolist() == pytest.approx([2 * math.exp(2), 2 * math.exp(4)])
    assert x.grad is None


@pytest.mark.parametrize("differs", ["count", "metadata"])
def test_08_a_recomputation_that_differs(m: ModuleType, differs: str) -> None:
    runs: list[int] = []

    def moody(x: Any) -> Any:
        runs.append(1)
        again = len(runs) > 1
        if differs == "count":
            return x.sin() if again else x.sin().exp()
        return (x[:1] if again else x).exp()

    y = checkpoint(m).checkpoint(moody, leaf(m, 1.0, 2.0), use_reentrant=False)
    with pytest.raises(checkpoint(m).CheckpointError):
        y.sum().backward()


def test_08_reentrant(m: ModuleType) -> None:
    run = checkpoint(m).checkpoint
    x = leaf(m, 1.0, 2.0)
    y = run(lambda x: x.exp(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match=r"\.grad\(\)|inputs"):
        m.autograd.grad(y.sum(), x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments"):
        run(lambda x, k: x * k, x, use_reentrant=True, k=2)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        run(lambda x: x.exp(), x.detach(), use_reentrant=True)


# -- 9: threads that share a leaf ------------------------------------------------------------


def test_09_four_threads_accumulate_the_exact_sum(m: ModuleType) -> None:
    x = m.zeros(64, dtype=m.float64, requires_grad=True)
    barrier = threading.Barrier(4)
    times = 50

    def work(factor: int) -> None:
        barrier.wait()
        for _ in range(times):
            (x * factor).sum().backward()

    in_threads(work, [2**k for k in range(4)])
    assert set(x.grad.tolist()) == {float(times * 15)}


# -- 10: subgradients ------------------------------------------------------------------------

INF = math.inf

SUBGRADIENTS: dict[str, tuple[Callable[[Any, Any], Any], list[float], list[float]]] = {
    "max shares": (lambda m, x: x.max(), [2.0, 1.0, 2.0], [0.5, 0.0, 0.5]),
    "min shares": (lambda m, x: x.min(), [1.0, 1.0, 2.0], [0.5, 0.5, 0.0]),
    "amax shares": (lambda m, x: x.amax(0), [2.0, 2.0, 2.0, 2.0], [0.25] * 4),
    "amin shares": (lambda m, x: x.amin(0), [2.0, 1.0, 1.0], [0.0, 0.5, 0.5]),
    "max of a dim takes the first": (lambda m, x: x.max(0)[0], [1.0, 2.0, 2.0], [0.0, 1.0, 0.0]),
    "min of a dim takes the first": (lambda m, x: x.min(0)[0], [1.0, 1.0, 2.0], [1.0, 0.0, 0.0]),
    "maximum halves": (lambda m, x: m.maximum(x, x.detach()).sum(), [1.0], [0.5]),
    "minimum halves": (lambda m, x: m.minimum(x, x.detach()).sum(), [1.0], [0.5]),
    "abs": (lambda m, x: x.abs().sum(), [0.0, -0.0, -2.0], [0.0, 0.0, -1.0]),
    "relu": (lambda m, x: x.relu().sum(), [0.0, 1.0, -1.0], [0.0, 1.0, 0.0]),
    "norm": (lambda m, x: x.norm(), [0.0, 0.0], [0.0, 0.0]),
    "norm of order 1": (lambda m, x: x.norm(1), [0.0, 2.0], [0.0, 1.0]),
    "norm of order inf": (lambda m, x: x.norm(INF), [2.0, -2.0], [0.5, -0.5]),
    "sqrt": (lambda m, x: x.sqrt().sum(), [0.0, 4.0], [INF, 0.25]),
    "clamp": (lambda m, x: x.clamp(0.0, 1.0).sum(), [0.0, 1.0, 2.0, -1.0, 0.5], [1.0, 1.0, 0.0, 0.0, 1.0]),
    "clamp_min": (lambda m, x: x.clamp_min(0.0).sum(), [0.0, -1.0, 1.0], [1.0, 0.0, 1.0]),
    "prod with one zero": (lambda m, x: x.prod(), [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    "prod with two zeros": (lambda m, x: x.prod(), [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
    "prod of a dim": (lambda m, x: x.prod(0), [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    "cumprod with a zero": (lambda m, x: x.cumprod(0).sum(), [2.0, 0.0, 3.0], [1.0, 8.0, 0.0]),
}


@pytest.mark.parametrize("what", SUBGRADIENTS)
def test_10_subgradients(m: ModuleType, what: str) -> None:
    program, at, expected = SUBGRADIENTS[what]
    x = leaf(m, *at)
    program(m, x).backward()
    assert x.grad.tolist() == expected


# -- 11: complex gradients -------------------------------------------------------------------

COMPLEX: dict[str, tuple[Callable[[Any], Any], complex]] = {
    "the square of the size": (lambda z: z.abs() ** 2, 2 + 4j),
    "z times its conjugate": (lambda z: (z * z.conj()).real, 2 + 4j),
    "the real part": (lambda z: z.real, 1 + 0j),
    "the imaginary part": (lambda z: z.imag, 1j),
    "the real part of the square": (lambda z: (z * z).real, 2 - 4j),
    "the size at 0": (lambda z: (z * 0).abs(), 0j),
}


@pytest.mark.parametrize("what", COMPLEX)
def test_11_the_gradient_is_the_conjugate_wirtinger_one(m: ModuleType, what: str) -> None:
    program, expected = COMPLEX[what]
    z = m.tensor(1 + 2j, dtype=m.complex128, requires_grad=True)
    program(z).backward()
    assert z.grad.item() == pytest.approx(expected)


def test_11_a_real_input_has_a_real_gradient(m: ModuleType) -> None:
    x = leaf(m, 3.0)
    (x * (2 + 5j)).abs().sum().backward()
    assert x.grad.dtype == m.float64 and x.grad.item() == pytest.approx(math.sqrt(29))


# -- 12: no reference cycles -----------------------------------------------------------------


def chain(m: Any, x: Any) -> Any:
    return (x * x).exp().sum()


def with_views(m: Any, x: Any) -> Any:
    y = x * 2
    y[0].mul_(3)
    return (y.reshape(1, 2).t() * y[:, None]).sum()


def through_a_function(m: Any, x: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        out = x.exp()
        ctx.save_for_backward(x, out)
        return out

    return function(m, forward, lambda ctx, g: g * ctx.saved_tensors[1]).apply(x).sum()


def with_hooks(m: Any, x: Any) -> Any:
    y = x * 2
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    return (y * y).sum()


@pytest.mark.parametrize("program", [chain, with_views, through_a_function, with_hooks])
def test_12_dropping_the_loss_frees_the_graph(m: ModuleType, program: Program) -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(m, 1.0, 2.0)
        loss = program(m, x)
        freed = weakref.ref(loss)
        kept: list[Any] = []
        # an attribute of a Node's own dies with it
        loss.grad_fn.metadata["witness"] = witness = Witness()
        kept.append(weakref.ref(witness))
        del witness
        loss.backward(retain_graph=True)
        assert kept[0]() is not None
        del loss
        assert freed() is None and kept[0]() is None
    finally:
        gc.enable()


class Witness:
    """Something that can be referred to weakly."""
