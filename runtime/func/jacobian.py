"""Jacobians and Hessians: ``jacrev``, ``jacfwd``, ``hessian``.

A Jacobian is as many products with unit vectors as there are rows (``jacrev``, by vjp) or columns
(``jacfwd``, by jvp): vmap maps over these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any

from tengen.generated.functions import arange, cat

from ..utils.pytree import TreeSpec, tree_flatten, tree_leaves, tree_map, tree_unflatten
from .arguments import Argnums, check_given_tensors, check_real, positions
from .grad import vjp_of
from .jvp import jvp_of
from .vmap import vmap


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """The function that computes the Jacobian of ``func`` by reverse mode, row by row.

    ``func`` returns a tree of real tensors, with ``has_aux`` a pair of one and of other tensors, which are
    handed on. The Jacobian has the structure of the results, and where these have a tensor of shape ``o``
    that of the argument that ``argnums`` names (or a tuple of such, for a tuple of argnums), with tensors
    of shape ``(*o, *i)`` for those of shape ``i``. With ``has_aux`` a pair of it and of the other tensors
    is returned. ``chunk_size`` is how many rows are computed at once, by default all; 1 does without vmap.

    Raises ValueError for a ``chunk_size`` below 1, RuntimeError for complex inputs or results, and what
    ``vjp`` raises.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func)
    def jacobian(*args: Any) -> Any:
        check_real(args, "jacrev", "inputs")
        output, vjp_fn, *aux = vjp_of(func, args, argnums, has_aux)
        outputs, spec = tree_flatten(output)
        check_real(outputs, "jacrev", "outputs")
        inputs, input_spec = tree_flatten(_chosen(args, argnums))
        chunks = [_rows(vjp_fn, basis, spec) for basis in unit_vectors(outputs, chunk_size)]
        stacked = chunks[0] if len(chunks) == 1 else [cat(c, 0) for c in zip(*chunks, strict=True)]
        parts = [_split(s, outputs, t) for s, t in zip(stacked, inputs, strict=True)]
        found = [tree_unflatten(part, input_spec) for part in zip(*parts, strict=True)]
        if not inputs:
            found = [tree_unflatten((), input_spec) for _ in outputs]
        result = tree_unflatten(found, spec)
        return (result, aux[0]) if has_aux else result

    return jacobian


def _rows(vjp_fn: Callable[..., Any], basis: list[Any], spec: TreeSpec) -> list[Any]:
    """The products with some unit vectors: for each input their stack."""
    if basis[0]._array.shape[0] == 1:
        found = vjp_fn(tree_unflatten([b[0] for b in basis], spec))
        return [t.unsqueeze(0) for t in tree_leaves(found)]
    return tree_leaves(vmap(vjp_fn)(tree_unflatten(basis, spec)))


def _split(stacked: Any, outputs: Sequence[Any], given: Any) -> list[Any]:
    """The rows of a Jacobian with respect to one input as a tensor for each output."""
    parts, start = [], 0
    for output in outputs:
        shape = output._array.shape
        rows = stacked if len(outputs) == 1 else stacked.narrow(0, start, math.prod(shape))
        parts.append(rows.reshape((*shape, *given._array.shape)))
        start += math.prod(shape)
    return parts


def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums | None = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """The function that computes the Jacobian of ``func`` by forward mode, column by column.

    Arguments and result are those of ``jacrev``; ``argnums=None`` means all arguments. ``randomness`` is
    what ``vmap`` takes, for a ``func`` that draws random numbers.

    Raises RuntimeError for complex inputs or results, and what ``jvp`` and ``vmap`` raise.
    """

    @wraps(func)
    def jacobian(*args: Any) -> Any:
        check_real(args, "jacfwd", "inputs")
        chosen = args if argnums is None else _chosen(args, argnums)
        one = isinstance(argnums, int)
        inputs, input_spec = tree_flatten(chosen)
        check_given_tensors(inputs, "jacfwd(f, ...)(*args)", "args")
        (basis,) = unit_vectors(inputs, None)

        def column(*tangents: Any) -> Any:
            tree = tree_unflatten(tangents, input_spec)
            output, tangents_out, *aux = jvp_of(func, args, (tree,) if one else tree, argnums, False, has_aux)
            check_real(output, "jacfwd", "outputs")
            return (tangents_out, aux[0]) if has_aux else tangents_out

        found = vmap(column, randomness=randomness)(*basis)
        found, aux = found if has_aux else (found, None)
        columns, spec = tree_flatten(found)
        parts = [tree_unflatten(columns_of(c, inputs), input_spec) for c in columns]
        result = tree_unflatten(parts, spec)
        # What did not depend on the unit vector was computed once, but came for each.
        return (result, tree_map(lambda t: t[0], aux)) if has_aux else result

    return jacobian


def columns_of(stacked: Any, inputs: Sequence[Any]) -> list[Any]:
    """The columns of a Jacobian of one output as a tensor for each input."""
    last = stacked.movedim(0, -1)
    shape = last._array.shape[:-1]
    parts, start = [], 0
    for given in inputs:
        size = math.prod(given._array.shape)
        columns = last if len(inputs) == 1 else last.narrow(-1, start, size)
        parts.append(columns.reshape((*shape, *given._array.shape)))
        start += size
    return parts


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the Hessian of ``func``, forward over reverse mode.

    It is the Jacobian of the Jacobian: ``jacfwd(jacrev(func, argnums), argnums)``.
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _chosen(args: tuple[Any, ...], argnums: Argnums) -> Any:
    """The argument that an int names, or the tuple of those that a tuple names."""
    places = positions(argnums, len(args))
    return args[places[0]] if isinstance(argnums, int) else tuple([args[p] for p in places])


def unit_vectors(tensors: Sequence[Any], chunk_size: int | None) -> Iterator[list[Any]]:
    """The unit vectors of the space that the tensors span together, so many at a time.

    Of each chunk there is a tensor for each of ``tensors``, of its dtype, and of its shape behind the
    dimension that counts the vectors.
    """
    sizes = [math.prod(t._array.shape) for t in tensors]
    total = sum(sizes)
    step = min(chunk_size or total, total) or 1
    for first in range(0, max(total, 1), step):
        count = min(step, total - first)
        chunk, start = [], 0
        for tensor, size in zip(tensors, sizes, strict=True):
            T = tensor._type
            where = T.backend.device  # whose arrays may not be written to
            rows = arange(first - start, first - start + count, device=where).unsqueeze(1)
            block = (rows == arange(size, device=where)).to(T.scalar_type)
            chunk.append(block.reshape((count, *tensor._array.shape)))
            start += size
        yield chunk
