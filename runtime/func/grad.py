"""Reverse mode as a transform: ``grad``, ``grad_and_value``, ``vjp``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..autograd.grad_mode import grad_mode
from ..autograd.root_gradients import implicit_grad, make_grads
from ..autograd.view import differentiable
from ..core.tensor_base import TensorBase
from ..utils.pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten, treespec_pprint
from .arguments import Argnums, check_output_tensors, map_tensors, positions, replaced, split_aux
from .grad_level import GradLevel, histories

_GRAD = "grad_and_value(f)(*args)"
_VJP = "vjp(f, *primals)"


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of ``func``.

    ``func`` returns a 0-d tensor, with ``has_aux`` a pair of one and of other tensors, which are handed on.
    The gradient has the structure of the argument that ``argnums`` names (any tree of tensors), or is a
    tuple of such for a tuple of argnums; with ``has_aux`` a pair of it and of the other tensors is
    returned. It can be composed with any transform, itself too. Whether recording is on where the gradient
    is asked for makes no difference to it; ``no_grad`` inside ``func`` is respected.

    Raises RuntimeError when ``func`` returns something else, or for argnums that do not exist; ValueError
    for an argument that is differentiated and no tensor.
    """
    with_value = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, rest = with_value(*args, **kwargs)
        return (found, rest[1]) if has_aux else found

    return gradient


def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """As ``grad``, but of a function that returns the value too.

    What comes is ``(gradient, value)``, or with ``has_aux`` ``(gradient, (value, aux))``.
    """

    @wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        level = GradLevel()
        with level:
            places = positions(argnums, len(args))
            chosen = args[places[0]] if isinstance(argnums, int) else tuple([args[p] for p in places])
            inputs = tree_map(level.input, chosen)
            values = (inputs,) if isinstance(argnums, int) else inputs
            output, aux = func(*replaced(args, places, values), **kwargs), None
            if has_aux:
                output, aux = split_aux(output, _GRAD)
            _check_scalar(output)
            found = _gradient(level, output, aux)
            output = level.released(output)
            if has_aux:
                aux = map_tensors(level.released, aux)
        found = tree_unflatten(found, tree_flatten(chosen)[1])
        return (found, (output, aux)) if has_aux else (found, output)

    return gradient_and_value


def _gradient(level: GradLevel, output: Any, aux: Any) -> list[Any]:
    """The gradients of the level's inputs, differentiable where that makes sense."""
    if not output._requires_grad:
        return level.pull((), (), False, False)
    outside = level.recorded_outside
    create_graph = outside and level.leads_outside((output,))
    # What else is returned may share the graph, and be differentiated later.
    tensors = [] if aux is None else [t for t in tree_flatten(aux)[0] if isinstance(t, TensorBase)]
    keep = outside and (create_graph or level.leads_outside(tensors))
    return level.pull((output,), (implicit_grad(output),), create_graph, keep)


def _check_scalar(output: Any) -> None:
    if not isinstance(output, TensorBase):
        raise RuntimeError(f"{_GRAD}: Expected f(*args) to return a Tensor, got {type(output)}")
    if output._array.ndim:
        raise RuntimeError(
            f"{_GRAD}: Expected f(*args) to return a scalar Tensor, got tensor with {output._array.ndim} "
            "dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """What ``func`` returns at ``primals``, and the function that multiplies with its Jacobian from the left.

    ``primals`` are trees of tensors, of floating point or complex dtype, as are the results of ``func``;
    with ``has_aux`` it returns a pair of those and of other tensors, which come back as a third value.
    ``vjp_fn(cotangents)`` takes a tree like that of the results, each of its result's shape, and returns a
    tuple with a tree for each primal. It may be called any number of times.

    Raises RuntimeError when ``func`` returns nothing or what is no tensor, and, of ``vjp_fn``, for
    cotangents of another structure or shape; ValueError for a primal that is no tensor.
    """
    return vjp_of(func, primals, None, has_aux)


def vjp_of(
    func: Callable[..., Any], primals: tuple[Any, ...], argnums: Argnums | None, has_aux: bool
) -> tuple[Any, ...]:
    """As ``vjp``, with respect to the primals ``argnums``: its ``vjp_fn`` returns what ``argnums`` names."""
    level = GradLevel()
    with level:
        places = range(len(primals)) if argnums is None else positions(argnums, len(primals))
        one = isinstance(argnums, int)
        chosen = primals[places[0]] if one else tuple([primals[p] for p in places])
        inputs = tree_map(level.input, chosen)
        output, aux = func(*replaced(primals, places, (inputs,) if one else inputs)), None
        if has_aux:
            output, aux = split_aux(output, _VJP)
            aux = map_tensors(level.released, aux)
        flat, spec = tree_flatten(output)
        check_output_tensors(flat, _VJP)
        for out in flat:
            if not differentiable(out._type):
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor "
                    f"with dtype {out._type.scalar_type}"
                )
        outside = level.leads_outside(flat)
        results = tree_unflatten([level.released(t) for t in flat], spec)
    vjp_fn = _pullback(level, flat, spec, tree_flatten(chosen)[1], outside)
    return (results, vjp_fn, aux) if has_aux else (results, vjp_fn)


def _pullback(
    level: GradLevel, outputs: list[Any], spec: TreeSpec, input_spec: TreeSpec, outside: bool
) -> Callable[..., Any]:
    """The ``vjp_fn`` of a function that was run."""

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, given_spec = tree_flatten(cotangents)
        if given_spec != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to "
                f"the function. cotangents: {treespec_pprint(given_spec)}, primal output: "
                f"{treespec_pprint(spec)}"
            )
        if create_graph is None:
            create_graph = grad_mode.enabled
        checked = make_grads(outputs, given)
        create_graph = create_graph and (outside or any([c is not None and histories(c) for c in checked]))
        before, grad_mode.inference = grad_mode.inference, False
        try:
            found = level.pull(outputs, checked, create_graph, retain_graph)
        finally:
            grad_mode.inference = before
        return tree_unflatten(found, input_spec)

    return vjp_fn
