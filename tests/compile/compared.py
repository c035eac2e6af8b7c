"""What the tests of compiled functions share: calls of them beside calls of the functions themselves."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import tengen
from tengen.compilation.entries import Stage
from tengen.utils.pytree import tree_flatten

#: How near elements are to be, relative to the largest one.
NEAR = {
    "float16": 2e-3,
    "bfloat16": 2e-2,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float64": 1e-11,
    "complex128": 1e-11,
}


def same(found: Any, expected: Any, what: str = "result") -> None:
    """Two results are alike: classes, dtypes, layouts, histories, elements; what is no tensor is equal."""
    (leaves, spec), (others, other) = tree_flatten(found), tree_flatten(expected)
    assert spec == other, f"{what}: {spec} is not {other}"
    for a, b in zip(leaves, others, strict=True):
        assert type(a) is type(b), f"{what}: a {type(a).__name__} is no {type(b).__name__}"
        if isinstance(a, tengen.Tensor):
            same_tensor(a, b, what)
        else:
            assert a == b or a != a, f"{what}: {a!r} is not {b!r}"


def same_tensor(a: Any, b: Any, what: str = "result") -> None:
    """Two tensors are alike; gradients may lie otherwise in memory."""
    for name in ("dtype", "shape", "requires_grad", "is_leaf"):
        assert getattr(a, name) == getattr(b, name), (
            f"{what}: {name} is {getattr(a, name)}, not {getattr(b, name)}"
        )
    if a.layout is not tengen.strided or not a.numel():
        return
    assert what.startswith("gradient") or a.stride() == b.stride(), (
        f"{what}: strides are {a.stride()}, not {b.stride()}"
    )
    assert near(a, b, 10.0 if what.startswith("gradient") else 1.0), f"{what} is {a}, not {b}"


def near(a: Any, b: Any, times: float = 1.0) -> bool:
    """Whether two tensors have elements that are nearly equal."""
    tolerance = NEAR.get(a.dtype.name, 0.0) * times
    x, y = a.detach(), b.detach()
    if not tolerance:
        return bool((x == y).all())
    if a.dtype in (tengen.float16, tengen.bfloat16):
        x, y = x.float(), y.float()
    scale = y.abs().nan_to_num(0, 0, 0).max().item()
    return bool(x.isclose(y, tolerance, tolerance * max(scale, 1.0), True).all())


def gradients(result: Any, wanted: list[Any]) -> list[Any]:
    """The gradients of a result's elements, each with another weight."""
    total: Any = 0
    for tensor in tree_flatten(result)[0]:
        if isinstance(tensor, tengen.Tensor) and tensor.requires_grad:
            weights = (
                tengen.arange(1, tensor.numel() + 1).reshape(tensor.shape).to(tensor.dtype) / tensor.numel()
            )
            total = total + (tensor.abs() if tensor.is_complex() else tensor * weights).sum()
    return list(tengen.autograd.grad(total, wanted, allow_unused=True))


def leaves_of(*values: Any) -> list[Any]:
    """The tensors among values that gradients can be asked for."""
    found = [t for t in tree_flatten(values)[0] if isinstance(t, tengen.Tensor) and t.requires_grad]
    return list({id(t): t for t in found}.values())


def alike(compiled: Any, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """A call of a compiled function gives what a call of the function gives, and the same gradients."""
    state = tengen.get_rng_state()
    expected = function(*args, **keywords)
    after = tengen.get_rng_state()
    tengen.set_rng_state(state)
    found = compiled(*args, **keywords)
    assert bool((tengen.get_rng_state() == after).all()), "other random numbers"
    same(found, expected)
    wanted = leaves_of(args, keywords)
    if wanted and leaves_of(found):
        for number, (a, b) in enumerate(
            zip(gradients(found, wanted), gradients(expected, wanted), strict=True)
        ):
            if a is not None or b is not None:
                a, b = [g if g is not None else tengen.zeros_like(wanted[number]) for g in (a, b)]
                same_tensor(a, b, f"gradient {number}")
    return found


def entries(compiled: Any) -> Iterator[Any]:
    """What is known of each kind of call."""
    yield from getattr(compiled, "_compiled", compiled).entries


def is_ready(compiled: Any) -> bool:
    """Whether the newest kind of call has a program."""
    return [*entries(compiled)][-1].stage is Stage.READY


def reason(compiled: Any) -> str:
    """Why the newest kind of call has no program."""
    return str([*entries(compiled)][-1].reason)


def both(values: Any) -> tuple[Any, Any]:
    """Two copies of what tests change."""
    return copy.deepcopy(values), copy.deepcopy(values)
