"""Forward mode as a transform: ``jvp``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tengen.generated.functions import zeros_like

from ..autograd.forward.forward_grad import ForwardLevel
from ..autograd.forward_mode import forward_mode
from ..autograd.grad_mode import grad_mode
from ..autograd.view import differentiable
from ..utils.pytree import tree_flatten, tree_unflatten
from .arguments import (
    Argnums,
    check_given_tensors,
    check_output_tensors,
    map_tensors,
    positions,
    replaced,
    split_aux,
)

_JVP = "jvp(f, primals, tangents)"


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """What ``func`` returns at ``primals``, and its Jacobian there multiplied with ``tangents``.

    ``primals`` is the tuple of the arguments, trees of tensors of floating point or complex dtype;
    ``tangents`` has the same structure and shapes. ``func`` returns a tree of tensors, with ``has_aux`` a
    pair of one and of other tensors, which come back as a third value. The tangents of the results have
    the results' structure; of one that does not depend on the primals the tangent is zero, or with
    ``strict`` an error.

    Raises RuntimeError when structures or shapes differ, and when ``func`` returns nothing or what is no
    tensor; ValueError for primals of another dtype.
    """
    return jvp_of(func, primals, tangents, None, strict, has_aux)


def jvp_of(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    argnums: Argnums | None,
    strict: bool,
    has_aux: bool,
    transform: bool = True,
) -> tuple[Any, ...]:
    """As ``jvp``, with respect to the primals ``argnums``, whose tangents ``tangents`` is a tuple of.

    Without ``transform`` ``func`` may do what is refused inside of transforms.
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    places = range(len(primals)) if argnums is None else positions(argnums, len(primals))
    flat, spec = tree_flatten(tuple([primals[p] for p in places]))
    flat_tangents, tangents_spec = tree_flatten(tangents)
    if spec != tangents_spec:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if "
            "primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{spec} and tangents with structure {tangents_spec}"
        )
    check_given_tensors(flat, _JVP, "primals")
    check_given_tensors(flat_tangents, _JVP, "tangents")
    with _computing(transform), ForwardLevel() as level:
        duals = [_dual(level, p, t) for p, t in zip(flat, flat_tangents, strict=True)]
        output, aux = func(*replaced(primals, places, tree_unflatten(duals, spec))), None
        if has_aux:
            output, aux = split_aux(output, _JVP)
            aux = map_tensors(lambda t: level.unpack(t)[0], aux)
        outputs, output_spec = tree_flatten(output)
        check_output_tensors(outputs, _JVP)
        pairs = [_unpacked(level, t, strict) for t in outputs]
        values = tree_unflatten([value for value, _ in pairs], output_spec)
        results = tree_unflatten([tangent for _, tangent in pairs], output_spec)
    return (values, results, aux) if has_aux else (values, results)


@contextmanager
def _computing(transform: bool) -> Iterator[None]:
    """A context in which forward mode is on and inference mode off, whatever they are outside."""
    before = forward_mode.enabled, grad_mode.inference, grad_mode.transforms
    forward_mode.enabled, grad_mode.inference = True, False
    grad_mode.transforms += transform
    try:
        yield
    finally:
        forward_mode.enabled, grad_mode.inference, grad_mode.transforms = before


def _dual(level: ForwardLevel, primal: Any, tangent: Any) -> Any:
    for name, value in (("primal", primal), ("tangent", tangent)):
        if not differentiable(value._type):
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {value._type.scalar_type}"
            )
    return level.make_dual(primal, tangent)


def _unpacked(level: ForwardLevel, output: Any, strict: bool) -> tuple[Any, Any]:
    """A result without its tangent, and this: zeros where there is none."""
    value, tangent = level.unpack(output)
    if tangent is None and strict:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is "
            "not allowed with strict=True."
        )
    return value, zeros_like(value) if tangent is None else tangent
