"""Functions whose calls no schema describes: they take loose tensors, or one argument of many kinds.

Each brings its arguments into the form of a declared operator, and calls that.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from .core.size import Size
from .dispatch.operator import operator
from .kernels.layout import broadcast_shapes as common_shape
from .tensors.tensor import Tensor


def __dir__() -> list[str]:
    """The functions that are defined here."""
    return sorted(
        [name for name, value in globals().items() if name[0] != "_" and value.__module__ == __name__]
    )


def _loose(function: str, tensors: tuple[Any, ...]) -> list[Any]:
    """``f(a, b)`` and ``f([a, b])`` alike. TypeError for what is no tensor."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"{function}(): operand {i} must be a Tensor, not {type(t).__name__}")
    return list(tensors)


def einsum(*args: Any) -> Tensor:
    """The sums of products of tensors that an equation in Einstein's notation names.

    ``einsum("ij,jk->ik", a, b)``, ``einsum("ij,jk->ik", [a, b])`` or, with numbers from 0 to 51
    in place of letters, ``einsum(a, [0, 1], b, [1, 2], [0, 2])``. Letters name dimensions and
    ``...`` the remaining ones, which broadcast; a letter repeated within a term takes a diagonal;
    letters absent after ``->`` are summed over; without ``->`` the result has the letters that
    occur once, in alphabetical order. Dimensions of size 1 broadcast.

    Pairs are contracted one after another, as matrix products, the cheapest first. The result
    has the dtype to which they are promoted. Raises RuntimeError for an equation that does not fit the
    tensors, TypeError for one that is no string and for operands that are no tensors, ValueError where there
    are no operands.
    """
    from .composite.einsum import equation_of

    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, "
            "or at least one operand and its subscripts list"
        )
    equation: Any
    if isinstance(args[0], Tensor):
        equation, tensors = equation_of(args)
    else:
        equation, tensors = args[0], _loose("einsum", args[1:])
    if not isinstance(equation, str):
        raise TypeError(
            f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}"
        )
    result: Tensor = operator("einsum")(equation, tensors, None)
    return result


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """The sums of products over dimensions of both tensors.

    ``dims`` is how many dimensions from the end of ``a`` and from the front of ``b``, or two lists
    of dimensions to pair. The result has the other dimensions, those of ``a`` first.
    """
    dims_a, dims_b = _paired_dims(a, b, dims)
    if out is None:
        result: Tensor = operator("tensordot")(a, b, dims_a, dims_b)
    else:
        result = operator("tensordot.out")(a, b, dims_a, dims_b, out)
    return result


def _paired_dims(a: Tensor, b: Tensor, dims: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, (list, tuple)):
        if len(dims) != 2 or not all(isinstance(d, (list, tuple)) for d in dims):
            raise RuntimeError(f"tensordot expects dims to be int or two lists of ints, but got dims={dims}")
        return tuple(dims[0]), tuple(dims[1])
    if isinstance(dims, bool) or not isinstance(dims, int):
        raise RuntimeError(f"tensordot expects dims to be int or two lists of ints, but got dims={dims}")
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a.ndim, b.ndim):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return tuple(range(-dims, 0)), tuple(range(dims))


def chain_matmul(*matrices: Tensor | Sequence[Tensor], out: Tensor | None = None) -> Tensor:
    """The product of one or more matrices in the order that costs the fewest multiplications."""
    return _call("chain_matmul", _loose("chain_matmul", matrices), out)


def block_diag(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """The matrices along the diagonal of one, zeros elsewhere; vectors count as rows."""
    return _call("block_diag", _loose("block_diag", tensors), None)


def cartesian_prod(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """Each way to take one element from each of the vectors, as rows."""
    return _call("cartesian_prod", _loose("cartesian_prod", tensors), None)


def _at_least(name: str, tensors: tuple[Any, ...]) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return operator(name)(tensors[0])
    return tuple(operator(f"{name}.Sequence")(_loose(name, tensors)))


def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """The tensor itself, or a view with a dim if it has none; of several, or a list, a tuple of these."""
    return _at_least("atleast_1d", tensors)


def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """A view with dims before the others until there are two; of several, or a list, a tuple of these."""
    return _at_least("atleast_2d", tensors)


def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """A view with dims around the others until there are three; of several, or a list, a tuple of these."""
    return _at_least("atleast_3d", tensors)


_DISTANCE_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """The p-norm distances between the rows of (..., P, M) and those of (..., R, M): (..., P, R).

    All modes compute the same, from the differences. Raises ValueError for other modes, RuntimeError
    for a negative p and for shapes and dtypes that do not fit, TypeError for what is no tensor.
    """
    for name, value in (("x1", x1), ("x2", x2)):
        if not isinstance(value, Tensor):
            raise TypeError(f"cdist(): argument '{name}' must be Tensor, not {type(value).__name__}")
    if compute_mode not in _DISTANCE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    result: Tensor = operator("cdist")(x1, x2, p, _DISTANCE_MODES[compute_mode])
    return result


def _call(name: str, tensors: Sequence[Any], out: Tensor | None) -> Tensor:
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"{name}(): expected Tensor as element {i}, but got {type(t).__name__}")
    result: Tensor = operator(name)(tensors) if out is None else operator(f"{name}.out")(tensors, out)
    return result


def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The tensors expanded to the shape that all broadcast to."""
    return tuple(operator("broadcast_tensors")(_loose("broadcast_tensors", tensors)))


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape to which tensors of these shapes broadcast; an int is the shape of a vector.

    Raises RuntimeError for shapes that do not broadcast, ValueError for a negative size, TypeError for what
    is no shape.
    """
    found: list[tuple[int, ...]] = []
    for given in shapes:
        shape = tuple(given) if isinstance(given, Sequence) else (given,)
        try:
            sizes = tuple([index(n) for n in shape])
        except TypeError:
            raise TypeError(
                f"broadcast_shapes(): a shape must be an int or a sequence of ints, but got {given!r}"
            ) from None
        if sizes and min(sizes) < 0:
            raise ValueError(f"broadcast_shapes(): a size cannot be negative, but got {given!r}")
        found.append(sizes)
    try:
        return Size(common_shape(*found)) if found else Size()
    except RuntimeError as error:
        raise RuntimeError(f"broadcast_shapes(): {error}") from None


def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """For each vector a tensor of the grid that they span, varying along the vector's own dimension.

    ``indexing="xy"`` exchanges the first two dimensions.
    """
    if indexing is None:
        return tuple(operator("meshgrid")(_loose("meshgrid", tensors)))
    return tuple(operator("meshgrid.indexing")(_loose("meshgrid", tensors), indexing))


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> tuple[Tensor, ...]:
    """The LU factorization in one matrix, and its row exchanges, counted from 1.

    With ``get_infos`` there is a third tensor: for each matrix 0, or the position of its first zero pivot.
    ``out`` is a tuple of as many tensors. Raises RuntimeError without ``pivot``, which LAPACK does not offer,
    TypeError where ``out`` is no tuple of that length.
    """
    results: tuple[Tensor, ...] = operator("_lu_with_info")(A, pivot, not get_infos)
    if not get_infos:
        results = tuple(results)[:2]
    if out is None:
        return results
    if not isinstance(out, (tuple, list)) or len(out) != len(results):
        given = len(out) if isinstance(out, (tuple, list)) else type(out).__name__
        raise TypeError(f"lu(): expected tuple of {len(results)} elements as out but got {given}")
    for target, result in zip(out, results, strict=True):
        target.resize_(result.shape).copy_(result)
    return tuple(out)
