"""The steps of ``vmap`` one by one, as ``torch._functorch.vmap`` has them.

A package may put functions of its own into the place of ``_process_batched_inputs``,
``_create_batched_inputs`` and ``_unwrap_batched``, which map containers of its own; ``vmap`` then takes these
steps. Levels are counted from 1, the outermost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tengen.generated.functions import cat

from ..tensors.tensor import Tensor
from ..utils.pytree import TreeSpec, _broadcast_to_and_flatten, tree_flatten, tree_structure, tree_unflatten
from .batched import ensure_batch_dim, is_batched_at, wrap
from .level import VmapLevel, vmap_levels
from .vmap import Call

Function = Callable[..., Any]


def _get_name(func: Function) -> str:
    return getattr(func, "__name__", repr(func))


def _level(number: int) -> VmapLevel:
    found = vmap_levels()
    if not 0 < number <= len(found):
        raise RuntimeError(f"vmap: there is no level {number}, {len(found)} levels run")
    return found[number - 1]


def _add_batch_dim(tensor: Tensor, dim: int, level: int) -> Tensor:
    """The tensor with a dimension hidden, for the function that runs at a level."""
    return wrap(tensor, dim % tensor.dim(), _level(level))


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Any:
    """The tensor with its hidden dimension at ``out_dim``; one that has none is expanded."""
    return ensure_batch_dim(tensor, _level(level)).movedim(0, out_dim)


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None
) -> Any:
    """A result as ``vmap`` returns it. ValueError for what is no tensor, or has a dimension too many."""
    if out_dim is None:
        if is_batched_at(batched_output, _level(vmap_level)):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did you "
            "mean to set out_dims= to None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _process_batched_inputs(
    in_dims: Any, args: tuple[Any, ...], func: Function
) -> tuple[int, list[int | None], list[Any], TreeSpec]:
    """The batch size, the dimension of each leaf of the arguments, the leaves, their structure."""
    flat, dims, _, size = Call(func, in_dims, 0, "error").arguments(args, {})
    return size, dims, flat, tree_structure(args)


def _create_batched_inputs(
    flat_in_dims: list[int | None], flat_args: list[Any], vmap_level: int, args_spec: TreeSpec
) -> Any:
    """The arguments with which the function is called."""
    given = [
        arg if dim is None else _add_batch_dim(arg, dim, vmap_level)
        for arg, dim in zip(flat_args, flat_in_dims, strict=True)
    ]
    return tree_unflatten(given, args_spec)


def _unwrap_batched(
    batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Function
) -> Any:
    """What ``vmap`` returns for what the function returned."""
    leaves, spec = tree_flatten(batched_outputs)
    dims = Call(func, 0, out_dims, "error").result_dims(leaves, spec)
    values = [
        _maybe_remove_batch_dim(_get_name(func), leaf, vmap_level, batch_size, dim)
        for leaf, dim in zip(leaves, dims, strict=True)
    ]
    return tree_unflatten(values, spec)


_OWN = (_process_batched_inputs, _create_batched_inputs, _unwrap_batched)


def replaced() -> bool:
    """Whether a package has put a step of its own into the place of one."""
    return (_process_batched_inputs, _create_batched_inputs, _unwrap_batched) != _OWN


def run(call: Call, args: tuple[Any, ...], kwargs: dict[str, Any], chunk: int | None) -> Any:
    """``vmap`` by these steps, at once or for ``chunk`` slices at a time."""
    size, dims, flat, spec = _process_batched_inputs(call.in_dims, args, call.func)
    parts = []
    for start in range(0, max(size, 1), chunk or max(size, 1)):
        count = min(chunk or size, size - start)
        given = flat if count == size else [
            arg if dim is None else arg.split([start, count, size - start - count], dim)[1]
            for arg, dim in zip(flat, dims, strict=True)
        ]  # fmt: skip
        parts.append(_one(call, given, dims, spec, count, kwargs))
    if len(parts) == 1:
        return parts[0]
    trees = [tree_flatten(part) for part in parts]
    out_spec = trees[0][1]
    out_dims = _broadcast_to_and_flatten(call.out_dims, out_spec)
    joined = [
        pieces[-1] if dim is None else cat(pieces, dim)
        for pieces, dim in zip(
            zip(*[leaves for leaves, _ in trees], strict=True), out_dims or (), strict=True
        )
    ]
    return tree_unflatten(joined, out_spec)


def _one(
    call: Call, flat: list[Any], dims: list[int | None], spec: TreeSpec, size: int, kwargs: dict[str, Any]
) -> Any:
    level = VmapLevel(len(vmap_levels()) + 1, size, call.randomness, call.strict)
    with level:
        given = _create_batched_inputs(dims, flat, level.level, spec)
        result = call.func(*given, **kwargs)
        return _unwrap_batched(result, call.out_dims, level.level, size, call.func)
