"""Writes between a call and its backward pass: to one of its arguments, or to one of its results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sides import Side, cotangent, start

from tengen.testing.closeness import close, tolerance
from tengen.testing.samples import Call

#: A tensor among the arguments: the argument's number, and the place in a list. With RESULT in place of the
#: argument's number, and a result's number.
Place = tuple[int, int | None]
RESULT = -1


def double(tensor: Any) -> None:
    """Write to a tensor; what is no number is turned around, so that indices stay in their range."""
    if tensor.is_floating_point() or tensor.is_complex():
        tensor.mul_(2)
    else:
        tensor.copy_(tensor.flip(tuple(range(tensor.ndim))))


def after(
    of: Side,
    call: Call,
    kind: Any,
    places: list[Place],
    write: Place | None,
    copied: bool = False,
    how: Callable[[Any], None] = double,
    passes: int = 1,
) -> list[Any]:
    """The gradients at these places when something is written to before the backward pass.

    With ``copied`` the call has copies of its arguments, and what is written to is a copy of its result: so
    nothing that was saved is written to, and the gradients are what they must be if there is no error.
    Of several ``passes`` each gives what it saved away.
    """
    values = call.tensors(kind, make=of.make)
    leaves = [get(values, p).requires_grad_() for p in places]
    given = clones(of, start(call, values))
    found = flat(of, of.call(call, clones(of, given) if copied else given))
    if copied:
        found = clones(of, found)
    if write is not None:
        how(found[write[1] or 0] if write[0] == RESULT else get(given, write))
    wanted = [t for t in of.unique(call.operator, found) if t.requires_grad]
    seeds = [of.make(cotangent(r, i)).to(r.dtype) for i, r in enumerate(wanted)]
    if not wanted:
        return [None] * len(leaves)
    for _ in range(passes):
        gradients = of.library.autograd.grad(wanted, leaves, seeds, allow_unused=True)
    return [None if g is None else of.array(g) for g in gradients]


def unlike(call: Call, kind: Any, found: list[Any], expected: list[Any]) -> str:
    """How gradients differ; "" where they do not. None counts as zero."""
    try:
        for g, e in zip(found, expected, strict=True):
            zero = np.zeros_like(e if g is None else g)
            close(zero if g is None else g, zero if e is None else e, 10 * tolerance(call.operator, kind))
    except AssertionError as error:
        return str(error)
    return ""


# -- tensors among arguments and results ---------------------------------------------------------


def writable(of: Side, call: Call, kind: Any) -> list[Place]:
    """All the tensors of a call that something can be written to."""
    values = call.tensors(kind, make=of.make)
    found: list[Place] = []
    for i, v in enumerate(values):
        listed = enumerate(v) if isinstance(v, (list, tuple)) else ((None, v),)
        found += [(i, j) for j, t in listed if isinstance(t, of.library.Tensor)]
    return found + [(RESULT, k) for k in range(len(flat(of, of.call(call, values))))]


def named(call: Call, place: Place) -> str:
    """What is written to, or differentiated by, in words."""
    i, j = place
    if i == RESULT:
        return f"result {j}"
    return call.arguments[i].name + ("" if j is None else f"[{j}]")


def get(values: list[Any], place: Place) -> Any:
    """The tensor at a place."""
    return values[place[0]] if place[1] is None else values[place[0]][place[1]]


def clones(of: Side, value: Any) -> Any:
    """Copies of the tensors in a list, and whatever else there is as it is."""
    if isinstance(value, (list, tuple)):
        return [clones(of, v) for v in value]
    return value.clone() if isinstance(value, of.library.Tensor) else value


def flat(of: Side, value: Any) -> list[Any]:
    """The tensors in arguments or in a result."""
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in flat(of, v)]
    return [value] if isinstance(value, of.library.Tensor) else []


def shares(of: Side, call: Call, kind: Any) -> bool:
    """Whether a result is a view of an argument, or the argument itself."""
    values = call.tensors(kind, make=of.make)
    found = {t.untyped_storage().data_ptr() for t in flat(of, of.call(call, values)) if t.numel()}
    return bool(found & {t.untyped_storage().data_ptr() for t in flat(of, values)})
