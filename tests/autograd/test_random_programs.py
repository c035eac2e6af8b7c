"""Random programs of views, in-place operators and detached handles, in torch and here.

Every step draws an operation and its operands from the tensors there are. Both sides must agree on
each tensor's values and whether it requires gradients, on the leaves' gradients, and on the step
at which an error comes.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tengen

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

Step = Callable[[Any, list[Any]], Any]


KINDS = (
    *("mul", "add", "double", "exp", "clone", "select", "slice", "transpose", "expand", "unbind", "detach"),
    *("detach_", "mul_", "mul_", "add_", "add_", "scalar_", "copy_", "zero_", "exp_", "setitem", "out"),
    *("no_grad_mul_", "no_grad_view", "grad_"),
)


def new_step(draw: random.Random, shapes: list[tuple[int, ...]]) -> tuple[str, Step, tuple[int, ...] | None]:
    """A step's name, what it does given the module and the tensors, and the shape of a new tensor."""
    kind = draw.choice(KINDS)
    # The first two are leaves; programs that write into them end soon, so few do.
    i = draw.randrange(2 if kind.endswith("_") and draw.random() < 0.95 else 0, len(shapes))
    shape = shapes[i]
    like = [k for k, s in enumerate(shapes) if s == shape]
    j = draw.choice(like)
    d = draw.randrange(len(shape)) if shape else 0
    n = draw.randrange(shape[d]) if shape else 0
    reduced = shape[:d] + shape[d + 1 :]

    def other(t: list[Any]) -> Any:
        # What overlaps with the tensor written to is read while it is written, in torch.
        views = i != j and (t[i]._is_view() or t[j]._is_view())
        return t[j].clone() if views else t[j]

    def no_grad(function: Callable[[Any, list[Any]], Any]) -> Step:
        def run(m: Any, t: list[Any]) -> Any:
            with m.no_grad():
                return function(m, t)

        return run

    def into_gradient(m: Any, t: list[Any]) -> None:
        (g,) = m.autograd.grad((t[i] * t[i]).sum(), t[i], create_graph=True, allow_unused=True)
        t[j].mul_(1) if g is None else t[j].add_(g * 0.125)

    table: dict[str, tuple[Step, tuple[int, ...] | None]] = {
        "mul": (lambda m, t: t[i] * t[j], shape),
        "add": (lambda m, t: t[i] + t[j], shape),
        "double": (lambda m, t: t[i] * 0.5, shape),
        "exp": (lambda m, t: (t[i] * 0.125).exp(), shape),
        "clone": (lambda m, t: t[i].clone(), shape),
        "detach": (lambda m, t: t[i].detach(), shape),
        # The views of what is detached say in torch that they require gradients, though none can flow.
        "detach_": (lambda m, t: any([v._base is t[i] for v in t]) or t[i].detach_() is None, None),
        "mul_": (lambda m, t: t[i].mul_(other(t)) is None, None),
        "add_": (lambda m, t: t[i].add_(other(t)) is None, None),
        "scalar_": (lambda m, t: t[i].mul_(0.5) is None, None),
        "copy_": (lambda m, t: t[i].copy_(other(t)) is None, None),
        "zero_": (lambda m, t: t[i].zero_() is None, None),
        "exp_": (lambda m, t: t[i].mul_(0.125).exp_() is None, None),
        "no_grad_mul_": (no_grad(lambda m, t: t[i].mul_(0.5) is None), None),
        "out": (lambda m, t: m.mul(t[i], t[j], out=t[j]) is None, None),
        "grad_": (into_gradient, None),
    }
    if shape:
        table |= {
            "select": (lambda m, t: t[i].select(d, n), reduced),
            "no_grad_view": (
                no_grad(lambda m, t: (t[i].detach() if t[i].requires_grad else t[i]).select(d, n)),
                reduced,
            ),
            "slice": (
                lambda m, t: t[i].narrow(d, n, shape[d] - n),
                (*shape[:d], shape[d] - n, *shape[d + 1 :]),
            ),
            "transpose": (lambda m, t: t[i].transpose(0, -1), (*reversed(shape),)),
            "expand": (lambda m, t: t[i].select(d, n).expand((2, *reduced)), (2, *reduced)),
            "unbind": (lambda m, t: t[i].unbind(d)[n], reduced),
        }
        rows = [k for k, s in enumerate(shapes) if s == shape[1:]]
        if rows:
            row = draw.choice(rows)
            table["setitem"] = (lambda m, t: t[i].__setitem__(draw_index % shape[0], t[row]), None)
            draw_index = draw.randrange(8)
    if kind not in table:
        return new_step(draw, shapes)
    step, made = table[kind]
    return f"{kind} {i} {j} {d} {n}", step, made


def run(module: Any, steps: list[Step]) -> list[Any]:
    """What can be seen after each step, and the error with which the program ends."""
    a = module.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=module.float64, requires_grad=True)
    b = module.tensor([0.5, 1.0, 1.5], dtype=module.float64, requires_grad=True)
    c = module.zeros(2, 3, dtype=module.float64)
    tensors = [a, b, c, a * 1]
    trace: list[Any] = []
    try:
        for step in steps:
            made = step(module, tensors)
            if isinstance(made, torch.Tensor | tengen.Tensor):
                tensors.append(made)
            trace.append(
                [(t.tolist(), t.requires_grad, t.is_leaf, t._version, t._is_view()) for t in tensors]
            )
        loss = sum([t.sum() for t in tensors if t.requires_grad], module.zeros((), dtype=module.float64))
        loss.backward()
        trace.append(
            [
                t.grad.tolist() if (t.is_leaf or t.retains_grad) and t.grad is not None else None
                for t in tensors
            ]
        )
    except RuntimeError as error:
        trace.append(str(error))
    return trace


def programs(seed: int, count: int) -> tuple[list[str], list[Step]]:
    draw = random.Random(seed)
    shapes: list[tuple[int, ...]] = [(2, 3), (3,), (2, 3), (2, 3)]
    names, steps = [], []
    for _ in range(count):
        name, step, made = new_step(draw, shapes)
        names.append(name)
        steps.append(step)
        if made is not None:
            shapes.append(made)
    return names, steps


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list | tuple):
        return [rounded(v) for v in value]
    return value


#: Errors of torch that need not be errors here: a saved tensor that was detached in place has here the
#: history it had; expanded memory that was written to is refused by torch in the backward pass only.
UNLIKE = (
    "A view was created",
    "Trying to use a saved tensor that has been detached in-place",
    "unsupported operation: more than one element",
)


def agree(found: list[Any], expected: list[Any]) -> bool:
    """Whether two traces are the same, as far as they must be.

    A view that may not be renewed after a write is an error in torch when anything looks at it, here
    when it is used in a backward pass.
    """
    last = expected[-1]
    if isinstance(last, str) and (" is a view " in last or last.startswith(UNLIKE)):
        common = min(len(found), len(expected)) - 1  # ours may come sooner
        return found[:common] == expected[:common]
    if isinstance(last, str) and isinstance(found[-1], str):
        # Ours may begin with the operator's name.
        return found[:-1] == expected[:-1] and re.sub(r"^\w+: ", "", found[-1])[:18] == last[:18]
    return found == expected


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    for k in range(5):
        names, steps = programs(seed * 1000 + k, 3 + k * 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, expected = rounded(run(tengen, steps)), rounded(run(torch, steps))
        assert agree(found, expected), "; ".join(names)
