"""What transforms are given and what functions return: argnums, checks, and the errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor_base import TensorBase
from ..utils.pytree import tree_leaves, tree_map

#: Which positional arguments are differentiated.
Argnums = int | tuple[int, ...]


def positions(argnums: Argnums, count: int) -> tuple[int, ...]:
    """The positions that ``argnums`` names among ``count`` arguments, none of them negative.

    Raises RuntimeError for what is neither an int nor a tuple of ints, for positions that there are not,
    and for a tuple that is empty or has one twice.
    """
    if isinstance(argnums, int):
        return (_position(argnums, count),)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    found = tuple([_position(number, count) for number in argnums])
    if not found:
        raise RuntimeError("argnums must be non-empty")
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {found}")
    return found


def _position(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def replaced(args: Sequence[Any], places: Sequence[int], values: Sequence[Any]) -> list[Any]:
    """The arguments with ``values`` at ``places``."""
    result = list(args)
    for place, value in zip(places, values, strict=True):
        result[place] = value
    return result


def split_aux(returned: Any, call: str) -> tuple[Any, Any]:
    """The output and the auxiliary part of what a function returned. RuntimeError for no pair."""
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise RuntimeError(
            f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return returned[0], returned[1]


def map_tensors(function: Any, tree: Any) -> Any:
    """``function`` applied to each tensor of ``tree``. RuntimeError for leaves that are no tensors."""

    def checked(leaf: Any) -> Any:
        if not isinstance(leaf, TensorBase):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
        return function(leaf)

    return tree_map(checked, tree)


def check_output_tensors(leaves: Sequence[Any], call: str) -> None:
    """RuntimeError unless a function returned tensors, at least one, and nothing else."""
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(
            f"{call}: Expected f to be a function that has non-empty output (got output = {leaves})"
        )
    for leaf in leaves:
        if not isinstance(leaf, TensorBase):
            raise RuntimeError(
                f"{call}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )


def check_given_tensors(leaves: Sequence[Any], call: str, name: str) -> None:
    """RuntimeError unless an argument of a transform has tensors, at least one, and nothing else."""
    if not leaves:
        raise RuntimeError(f"{call}: Expected {name} to contain at least one Tensor.")
    for leaf in leaves:
        if not isinstance(leaf, TensorBase):
            raise RuntimeError(f"{call}: Expected {name} to only contain Tensors, got {type(leaf)}")


def check_real(tree: Any, transform: str, what: str) -> None:
    """RuntimeError for a complex tensor among the ``what`` (inputs or outputs) of a Jacobian."""
    for index, leaf in enumerate(tree_leaves(tree)):
        if isinstance(leaf, TensorBase) and leaf._type.scalar_type.is_complex:
            raise RuntimeError(
                f"{transform}: Expected all {what} to be real but received complex tensor at flattened "
                f"input idx: {index}"
            )
