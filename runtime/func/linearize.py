"""``linearize``: a function's value, and its derivative there as a function that can be called often.

The function is run once. Its reverse graph gives ``u -> J^H u``, a function that is linear; recorded with
``create_graph`` it has a reverse graph in turn, and that gives ``t -> J t``. So what is run for each tangent
is the linear part alone: a backward pass over a graph all of whose saved values were computed beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tengen.generated.functions import zeros_like

from ..autograd.grad_mode import grad_mode
from ..autograd.view import differentiable
from ..core.tensor_base import TensorBase
from ..tensors.tensor import Tensor
from ..utils.pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from .grad_level import GradLevel, histories


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """What ``func`` returns at ``primals``, and the function that multiplies with its Jacobian there.

    ``primals`` are trees of tensors of floating point or complex dtype. ``jvp_fn(*tangents)`` takes trees
    of their structure, shapes and dtypes, and returns one like the value, with the tangents of its
    tensors; those of integers are zero, and what is no tensor stays as it is. ``func`` is run once. All
    that the derivative needs is kept, so that for a single tangent ``jvp`` takes less memory.

    ValueError for a primal that is no tensor; RuntimeError, of ``jvp_fn``, for tangents of another
    structure, shape, dtype or device.
    """
    forward = GradLevel(strict=False)
    with forward:
        output = func(*tree_map(forward.input, primals))
        flat, spec = tree_flatten(output)
        places = [i for i, out in enumerate(flat) if _has_tangent(out)]
        outputs = [flat[i] for i in places]
        outside = forward.recorded_outside and forward.leads_outside(outputs)
        values = [forward.released(t) if isinstance(t, TensorBase) else t for t in flat]
    transposed = GradLevel(strict=False)
    with transposed:
        cotangents = [transposed.input(zeros_like(values[i])) for i in places]
        products = forward.pull(outputs, cotangents, create_graph=True, keep_graph=True)

    given, given_spec = tree_flatten(primals)
    likes = [(tuple(t._array.shape), t._type) for t in given]

    def jvp_fn(*tangents: Any) -> Any:
        found = _checked(tangents, given_spec, likes)
        create_graph = grad_mode.enabled and (outside or any([histories(t) for t in found]))
        results = transposed.pull(products, found, create_graph, keep_graph=True)
        pushed = [zeros_like(v) if isinstance(v, Tensor) else v for v in constants]
        for place, result in zip(places, results, strict=True):
            pushed[place] = result
        return tree_unflatten(pushed, spec)

    constants = [None if i in places else v for i, v in enumerate(values)]
    return tree_unflatten(values, spec), jvp_fn


def _has_tangent(output: Any) -> bool:
    return isinstance(output, TensorBase) and differentiable(output._type)


def _checked(tangents: Any, spec: TreeSpec, likes: Sequence[tuple[Any, Any]]) -> list[Any]:
    """The tangents as a list. RuntimeError where they do not go with the primals."""
    found, found_spec = tree_flatten(tangents)
    if found_spec != spec:
        raise RuntimeError(
            f"Expected the tangents {found_spec} to have the same argspec as the primals {spec}"
        )
    for index, (tangent, (shape, T)) in enumerate(zip(found, likes, strict=True)):
        if not isinstance(tangent, TensorBase):
            raise RuntimeError(f"tangent:{index} in flattened pytree must be a Tensor, got {type(tangent)}")
        for name, here, there in (
            ("shape", tuple(tangent._array.shape), shape),
            ("device", tangent._type.backend.device, T.backend.device),
            ("dtype", tangent._type.scalar_type, T.scalar_type),
        ):
            if here != there:
                raise RuntimeError(
                    f"tangent:{index} with {name} {here} in flattened pytree doesn't match the {name} "
                    f"{there} of the corresponding primal."
                )
    return found
