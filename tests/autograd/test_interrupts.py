"""Interrupts (Ctrl-C) at every point of a program where one may come leave nothing half done."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from interrupts import points, run

import tengen as tg
from tengen.autograd import forward_ad
from tengen.autograd.forward.forward_grad import forward_mode
from tengen.autograd.grad_mode import grad_mode
from tengen.autograd.graph import saved_tensors_hooks
from tengen.autograd.graph_task import current
from tengen.autograd.profiler import profile
from tengen.autograd.saved_variable import anomaly
from tengen.autograd.saved_variable_hooks import state as hooks
from tengen.core.device import _default as default_devices
from tengen.core.function_dispatch import state as overrides
from tengen.core.interception import active
from tengen.core.thread_state import call_in_new_thread
from tengen.func import grad, hessian, jacrev, jvp, vmap
from tengen.utils.checkpoint import checkpoint

use = importlib.import_module("tengen.autograd.inference_mode").use

#: How many of a program's points are tried, spread over all of them.
TRIED = 60
#: What a function is called that enters or leaves something: each place in one is tried.
ENTERING = re.compile(r"enter|exit|leave|suspend|resume|restore|begin|end|watch")


def state() -> tuple[Any, ...]:
    """All that is entered and left again, of this thread and of all."""
    return (
        tuple(active),
        (grad_mode.enabled, grad_mode.inference, grad_mode.asked, grad_mode.depth, grad_mode.transforms),
        (use.told, set(use.threads)),
        (anomaly.enabled, anomaly.check_nan),
        (hooks.stack, hooks.disabled),
        (overrides.level, overrides.outside, overrides.modes),
        forward_mode.enabled,
        current.task,
        (tg.get_num_threads(), tg.get_default_dtype()),
        (default_devices.chosen, default_devices.before),
    )


def tried(program: Callable[[], object]) -> list[int]:
    """The points at which a program is interrupted."""
    program()  # what is imported or made when it is first used
    found = points(program)
    assert len(found) > 3
    first = {place: at for at, place in reversed(list(enumerate(found, 1)))}
    entering = {at for (code, _), at in first.items() if ENTERING.search(code.co_name)}
    return sorted(entering.union(range(1, len(found) + 1, max(1, len(found) // TRIED))))


def leaf() -> tg.Tensor:
    return tg.tensor([[0.5, 2.0, 1.5], [1.0, 3.0, 0.25], [2.0, 0.75, 1.25]], requires_grad=True)


# -- states --------------------------------------------------------------------------------------


class Double(tg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        ctx.save_for_backward(a)
        return a * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def backward(x: tg.Tensor) -> Any:
    (x * x).sum().backward()
    return x.grad


def twice(x: tg.Tensor) -> Any:
    (first,) = tg.autograd.grad((x**3).sum(), x, create_graph=True)
    return tg.autograd.grad(first.sum(), x)[0]


def through_hooks(x: tg.Tensor) -> Any:
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = (x * x).exp()
    return tg.autograd.grad(y.sum(), x)[0]


def watched(x: tg.Tensor) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context = tg.autograd.detect_anomaly()
    with context:
        return tg.autograd.grad((x * x).sum(), x)[0]


def modes(x: tg.Tensor) -> Any:
    with tg.no_grad():
        with tg.enable_grad():
            y = x * 2
        z = x * 3
    with tg.inference_mode():
        u = x * 4
    return y.detach() + z + u.clone()


def dual(x: tg.Tensor) -> Any:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(forward_ad.make_dual(x.detach(), x.detach()).exp()).tangent


class Mode(tg.overrides.TengenFunctionMode):
    def __tengen_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def overridden(x: tg.Tensor) -> Any:
    with Mode():
        return x.detach() * 2


def mutated(x: tg.Tensor) -> Any:
    with tg.autograd.graph.allow_mutation_on_saved_tensors():
        a = x * 2
        y = a * a
        a.mul_(3)
        return tg.autograd.grad(y.sum(), x)[0]


def profiled(x: tg.Tensor) -> Any:
    with profile():
        return (x * 2).detach()


PROGRAMS: dict[str, Callable[[tg.Tensor], Any]] = {
    "backward": backward,
    "twice": twice,
    "saved tensors' hooks": through_hooks,
    "anomaly": watched,
    "modes": modes,
    "a Function": lambda x: tg.autograd.grad(Double.apply(x).sum(), x)[0],
    "checkpoint": lambda x: tg.autograd.grad(
        checkpoint(lambda a: (a * a).exp(), x, use_reentrant=False).sum(), x
    )[0],
    "forward mode": dual,
    "profiler": profiled,
    "overrides": overridden,
    "mutation": mutated,
    "vmap": lambda x: vmap(lambda a: (a * a).sum())(x.detach()),
    "grad": lambda x: grad(lambda a: (a * a).sum())(x.detach()),
    "vmap of grad": lambda x: vmap(grad(lambda a: (a * a).sum()))(x.detach()),
    "jvp": lambda x: jvp(lambda a: (a * a).sum(), (x.detach(),), (x.detach(),))[1],
    "jacrev": lambda x: jacrev(lambda a: a * a)(x.detach()[0]),
    "hessian": lambda x: hessian(lambda a: (a * a * a).sum())(x.detach()[0, :2]),
    "another thread": lambda x: call_in_new_thread(lambda: twice(x)),
    "trace": lambda x: tg.jit.trace(lambda a: a * a + 1, (x.detach(),))(x.detach()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_interrupt_leaves_what_was_entered(name: str) -> None:
    """Modes, layers and stacks are as before, and the same program then runs right."""
    program = PROGRAMS[name]
    expected = program(leaf()).tolist()
    before = state()
    for at in tried(lambda: program(leaf())):
        run(lambda: program(leaf()), at)
        assert state() == before, f"after an interrupt at point {at}"
    assert program(leaf()).tolist() == expected


# -- versions ------------------------------------------------------------------------------------


def sgd(x: tg.Tensor) -> None:
    parameter = x.detach().requires_grad_()
    parameter.grad = tg.ones_like(x)
    tg.optim.SGD([parameter], lr=0.1).step()


def clipped(x: tg.Tensor) -> None:
    parameter = tg.zeros_like(x)
    parameter.requires_grad_().grad = x
    tg.nn.utils.clip_grad_value_([parameter], 0.5)


def accumulated(x: tg.Tensor) -> None:
    parameter = tg.zeros_like(x)
    parameter.requires_grad_().grad = x
    (parameter * 2).sum().backward()


def recorded(x: tg.Tensor) -> None:
    x.mul_(tg.ones_like(x).requires_grad_() * 3)


WRITES: dict[str, Callable[[tg.Tensor], object]] = {
    "exp_": lambda x: x.exp_(),
    "add_": lambda x: x.add_(1),
    "of two dtypes": lambda x: x.add_(tg.ones(3, dtype=tg.int64)),
    "lerp_": lambda x: x.lerp_(tg.zeros(3), 0.5),
    "recorded": recorded,
    "through a view": lambda x: x[0].mul_(2),
    "through a detached handle": lambda x: x.detach().zero_(),
    "item": lambda x: x.__setitem__((0, 1), 5.0),
    "mask": lambda x: x.__setitem__(x > 1, 0.0),
    "indices": lambda x: x.__setitem__(tg.tensor([0, 2]), tg.ones(2, 3)),
    "copy_": lambda x: x.copy_(tg.zeros(3)),
    "fill_": lambda x: x.fill_(7),
    "normal_": lambda x: x.normal_(),
    "out=": lambda x: tg.mul(tg.ones(3, 3), 3, out=x),
    "index_add_": lambda x: x.index_add_(0, tg.tensor([0, 1]), tg.ones(2, 3)),
    "transpose_": lambda x: x.transpose_(0, 1),
    "an optimiser": sgd,
    "clipping": clipped,
    "a gradient": accumulated,
}


@pytest.mark.parametrize("name", WRITES)
def test_an_interrupted_write_is_seen(name: str) -> None:
    """Where what was saved is another now, the backward pass says so."""
    write = WRITES[name]
    for at in tried(lambda: write(leaf().detach())):
        x, w = leaf().detach(), tg.ones(3, 3, requires_grad=True)
        before = x.tolist()
        y = (x * w).sum()
        run(lambda x=x: write(x), at)  # type: ignore[misc]  # mypy does not see the default's type
        if x.tolist() != before:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                y.backward()


RECORDED: dict[str, Callable[[tg.Tensor, tg.Tensor], object]] = {
    "mul_": lambda x, w: x.mul_(w),
    "add_ of a number": lambda x, w: x.add_(1),
    "exp_": lambda x, w: x.exp_(),
    "through a view": lambda x, w: x[0].mul_(w[0]),
    "through a view of a view": lambda x, w: x.t()[1:].mul_(w[1:]),
    "zero_": lambda x, w: x.zero_(),
    "copy_": lambda x, w: x.copy_(w * 3),
    "a row": lambda x, w: x.__setitem__(1, w[1] * 3),
    "indices": lambda x, w: x.__setitem__(tg.tensor([0, 2]), w[:2] * 3),
    "a mask": lambda x, w: x.__setitem__(x > 1, 0.0),
    "index_add_": lambda x, w: x.index_add_(0, tg.tensor([0, 1]), w[:2]),
    "transpose_": lambda x, w: x.transpose_(0, 1),
}
#: What of the tensor a backward pass begins with: itself, a view that was there, and one that is made.
LOOKS: dict[str, Callable[[tg.Tensor, tg.Tensor], tg.Tensor]] = {
    "itself": lambda x, view: x,
    "a view": lambda x, view: view,
    "a new view": lambda x, view: x[:, 1:],
}


def seen(write: Callable[..., object] | None, look: Callable[..., Any], at: int | None) -> tuple[Any, Any]:
    """What a look shows after an interrupted write, and its gradients; None where these are an error."""
    start, w = leaf(), leaf()
    x = start * 2
    view = x[1:]
    if write is not None:
        run(lambda: write(x, w), at)
    shown = look(x, view)
    values = shown.tolist()
    try:
        found = tg.autograd.grad(shown, (start, w), tg.ones_like(shown) * 0.5, allow_unused=True)
    except RuntimeError as error:
        assert "interrupted" in str(error) or "modified by an inplace operation" in str(error)
        return values, None
    return values, [None if g is None else g.tolist() for g in found]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", RECORDED)
def test_values_and_history_are_of_one_time(name: str, look: str) -> None:
    """After an interrupt a tensor's gradients are those of the values that it has, or an error."""
    write, shown = RECORDED[name], LOOKS[look]
    states = [seen(None, shown, None), seen(write, shown, None)]
    for at in tried(lambda: write(leaf() * 2, leaf())):
        found = seen(write, shown, at)
        assert found[0] in [values for values, _ in states]
        assert found[1] is None or found in states, f"after an interrupt at point {at}"
