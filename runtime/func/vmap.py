"""``vmap``: a function of one slice as a function of a batch."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tengen.generated.functions import cat

from ..core.memory_format import layout as Layout, strided
from ..random import default_generator
from ..tensors.tensor import Tensor
from ..utils.pytree import TreeSpec, _broadcast_to_and_flatten, tree_flatten, tree_structure, tree_unflatten
from .batched import is_batched_at, wrap
from .level import VmapLevel, vmap_levels

__all__ = ["vmap"]

#: Where packages replace steps of ``vmap``.
_PARTS = "tengen.func.vmap_parts"
_RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that maps ``func`` over a dimension of its arguments, all slices at once.

    Arguments and results may be trees of containers. ``in_dims`` says which dimension of each argument is
    mapped over: an int for all, or a tree that is a prefix of the tuple of arguments; None for
    what is the same for the whole batch. Keyword arguments are not mapped over. ``out_dims``
    says where the dimension is in the results, and is None for a result that does not depend on the
    slice. ``func`` may do whatever does not depend on the elements: control flow that asks for them,
    ``item`` and operators whose results' shapes depend on them raise RuntimeError.

    A nested tensor is mapped over its components: ``func`` is called with one after the other, for they
    differ in size, and what depends on them is nested again.

    ``randomness`` is "error" (drawing random numbers is a RuntimeError), "different" (each slice has its
    own) or "same". ``chunk_size`` is how many slices are computed at once, by default all.

    Raises ValueError for ``in_dims`` and ``out_dims`` that do not fit, for arguments without a tensor to map
    over, or with different batch sizes, and for a result that is no tensor.
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        made = Call(func, in_dims, out_dims, randomness)
        parts = sys.modules.get(_PARTS)
        if parts is not None and parts.replaced():
            return parts.run(made, args, kwargs, chunk_size)
        return made.run(args, kwargs, chunk_size)

    return wrapped


def several_at_once(func: Callable[..., Any], *args: Any, in_dims: Any = 0) -> Any:
    """What ``vmap`` computes, for callers that transform nothing: they only run one function several times.

    So it may do what is refused inside of transforms: call a Function whose ``forward`` is given ctx, or
    ``requires_grad_``.
    """
    return Call(func, in_dims, 0, "error", strict=False).run(args, {})


class _Pass(NamedTuple):
    """What one call of a function gave."""

    out_dims: list[int | None]
    values: list[Any]  # with the batch dimension in front
    batched: list[bool]  # whether they depend on the slice
    spec: TreeSpec


class _Part(NamedTuple):
    """What a function is called with at once: leaves, their batch dimensions, and how many slices that is."""

    leaves: list[Any]
    dims: list[int | None]
    size: int


class Call:
    """A function with the arguments of vmap."""

    def __init__(
        self, func: Callable[..., Any], in_dims: Any, out_dims: Any, randomness: str, strict: bool = True
    ) -> None:
        self.func = func
        self.name = getattr(func, "__name__", repr(func))
        self.in_dims = in_dims
        self.out_dims = out_dims
        self.randomness = randomness
        self.strict = strict

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], chunk: int | None = None) -> Any:
        """The results for the whole batch, at once or for ``chunk`` slices at a time."""
        flat, dims, spec, size = self.arguments(args, kwargs)
        layout = next(
            (t.layout for t, d in zip(flat, dims, strict=True) if d is not None and t.is_nested), None
        )
        if layout is not None:
            passes = self._passes(_by_component(flat, dims, size), spec)
        elif chunk is not None:
            passes = self._passes(_in_chunks(flat, dims, size, chunk), spec)
        else:
            passes = [self._call_batched(flat, dims, spec, size)]
        joined = []
        for number, dim in enumerate(passes[0].out_dims):
            pieces = [each.values[number] for each in passes]
            if dim is None:
                joined.append(pieces[-1])
            elif layout is not None and passes[0].batched[number]:
                joined.append(_packed(pieces, dim, layout))
            else:
                joined.append(_move_batch_dim(pieces[0] if len(pieces) == 1 else cat(pieces, 0), dim))
        return tree_unflatten(joined, passes[0].spec)

    def _passes(self, parts: Iterable[_Part], spec: TreeSpec) -> list[_Pass]:
        """The function, called for each part of the batch."""
        passes = []
        state = default_generator.get_state() if self.randomness == "same" else None
        for part in parts:
            if state is not None:  # as the first ones
                default_generator.set_state(state)
            passes.append(self._call_batched(part.leaves, part.dims, spec, part.size))
        return passes

    # -- arguments

    def arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], list[int | None], TreeSpec, int]:
        """The leaves of the arguments, the dimension of each, their structure, the batch size."""
        if not isinstance(self.in_dims, (int, tuple)):
            raise ValueError(
                f"vmap({self.name}, in_dims={self.in_dims}, ...)(<inputs>): expected `in_dims` to be int "
                "or a (potentially nested) tuple matching the structure of inputs, got: "
                f"{type(self.in_dims)}."
            )
        if not args and not kwargs:
            raise ValueError(
                f"vmap({self.name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
                "trying to vmap over a function with no inputs. The latter is unsupported."
            )
        positional, positional_spec = tree_flatten(args)
        dims = _broadcast_to_and_flatten(self.in_dims, positional_spec)
        if dims is None:
            raise ValueError(
                f"{self._with_dims()}: in_dims is not compatible with the structure of `inputs`. in_dims has "
                f"structure {tree_structure(self.in_dims)} but inputs has structure {positional_spec}."
            )
        flat, spec = tree_flatten((args, kwargs))
        dims = dims + [None] * (len(flat) - len(positional))
        dims = [self._checked(leaf, dim) for leaf, dim in zip(flat, dims, strict=True)]
        return flat, dims, spec, _size(flat, dims)

    def _checked(self, leaf: Any, dim: Any) -> int | None:
        """The dimension of an argument, counted from the front."""
        if dim is None:
            return None
        if not isinstance(dim, int):
            raise ValueError(
                f"{self._with_dims()}: Got in_dim={dim} for an input but in_dim must be either an integer "
                "dimension or None."
            )
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"{self._with_dims()}: Got in_dim={dim} for an input but the input is of type "
                f"{type(leaf)}. We cannot vmap over non-Tensor arguments, please use None as the "
                "respective in_dim"
            )
        ndim: int = leaf._array.ndim
        if not -ndim <= dim < ndim:
            raise ValueError(
                f"{self._with_dims()}: Got in_dim={dim} for some input, but that input is a Tensor of "
                f"dimensionality {ndim} so expected in_dim to satisfy -{ndim} <= in_dim < {ndim}."
            )
        if leaf.is_nested and dim % ndim:
            raise RuntimeError(
                f"{self._with_dims()}: Nested tensors can only be vmapped over dim=0, but got dim={dim}"
            )
        return dim % ndim

    def _with_dims(self) -> str:
        return f"vmap({self.name}, in_dims={self.in_dims}, ...)(<inputs>)"

    # -- one pass

    def _call_batched(self, flat: list[Any], dims: list[int | None], spec: TreeSpec, size: int) -> _Pass:
        """The function, called once."""
        level = VmapLevel(len(vmap_levels()) + 1, size, self.randomness, self.strict)
        with level:
            given = [t if d is None else wrap(t, d, level) for t, d in zip(flat, dims, strict=True)]
            args, kwargs = tree_unflatten(given, spec)
            result = self.func(*args, **kwargs)
            leaves, out_spec = tree_flatten(result)
            out_dims = self.result_dims(leaves, out_spec)
            batched = [is_batched_at(t, level) for t in leaves]
            values = [self._value(t, d, level) for t, d in zip(leaves, out_dims, strict=True)]
        return _Pass(out_dims, values, batched, out_spec)

    def result_dims(self, leaves: list[Any], spec: TreeSpec) -> list[int | None]:
        """The batch dimension of each result."""
        out_dims = self.out_dims
        if spec.is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
            out_dims = out_dims[0]
        dims = _broadcast_to_and_flatten(out_dims, spec)
        if dims is None:
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={self.out_dims})(<inputs>): out_dims is not compatible "
                f"with the structure of `outputs`. out_dims has structure {tree_structure(self.out_dims)} "
                f"but outputs has structure {spec}."
            )
        if any([d is not None and not isinstance(d, int) for d in dims]):
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={self.out_dims}): `out_dims` must be an int, None or a "
                "python collection of ints representing where in the outputs the vmapped dimension should "
                "appear."
            )
        for leaf, dim in zip(leaves, dims, strict=True):
            if dim is not None and not isinstance(leaf, Tensor):
                raise ValueError(
                    f"vmap({self.name}, ...): `{self.name}` must only return Tensors, got type "
                    f"{type(leaf)}. Did you mean to set out_dims= to None for output?"
                )
        return dims

    def _value(self, result: Any, dim: int | None, level: VmapLevel) -> Any:
        """A result with the batch dimension in front. What is not batched is expanded, as a view."""
        if dim is None:
            if is_batched_at(result, level):
                raise ValueError(
                    f"vmap({self.name}, ...): `{self.name}` can not return a BatchedTensor when out_dim is "
                    "None"
                )
            return result
        from .batched import ensure_batch_dim

        ndim = result._array.ndim + 1
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})"
            )
        return ensure_batch_dim(result, level)


def _size(flat: list[Any], dims: list[int | None]) -> int:
    """The batch size, which all arguments must have."""
    sizes = [t._array.shape[d] for t, d in zip(flat, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any([n != sizes[0] for n in sizes]):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension (inconsistent sizes)"
        )
    size: int = sizes[0]
    return size


def _in_chunks(flat: list[Any], dims: list[int | None], size: int, chunk: int) -> Iterator[_Part]:
    """The batch, ``chunk`` slices at a time."""
    for start in range(0, max(size, 1), chunk):
        count = min(chunk, size - start)
        given = [t if d is None else t.narrow(d, start, count) for t, d in zip(flat, dims, strict=True)]
        yield _Part(given, dims, count)


def _by_component(flat: list[Any], dims: list[int | None], size: int) -> Iterator[_Part]:
    """Each component of nested tensors as a batch of one; with it what others have there, which is no batch.

    So what is batched in the results depends on a component.
    """
    if not size:
        raise RuntimeError("vmap: a nested tensor without components does not tell their shapes")
    sliced = [t if d is None else t.unbind(d) for t, d in zip(flat, dims, strict=True)]
    batched = [0 if d is not None and t.is_nested else None for t, d in zip(flat, dims, strict=True)]
    for number in range(size):
        given = [t if d is None else t[number] for t, d in zip(sliced, dims, strict=True)]
        given = [t if d is None else t.unsqueeze(0) for t, d in zip(given, batched, strict=True)]
        yield _Part(given, batched, 1)


def _packed(pieces: list[Any], dim: int, layout: Layout) -> Any:
    """A nested tensor of results for one component each: of the layout, if it has tensors of their shapes."""
    from ..nested.lists import as_nested_tensor  # what few use

    if dim:
        raise RuntimeError(f"Nested tensors can only be vmapped over dim=0, but got dim={dim}")
    components = [piece.squeeze(0) for piece in pieces]
    if any([is_batched_at(c, level) for level in vmap_levels() for c in components]):
        raise RuntimeError("Only one level of vmap is supported when vmapping over nested tensors")
    differing = [len(set(sizes)) > 1 for sizes in zip(*[tuple(c.shape) for c in components], strict=True)]
    held = differing and sum(differing) <= 1  # by the jagged layout
    return as_nested_tensor(components, layout=layout if held else strided)


def _move_batch_dim(value: Any, dim: int | None) -> Any:
    """A result with its batch dimension moved from the front to ``dim``."""
    return value if dim is None or dim == 0 else value.movedim(0, dim)
