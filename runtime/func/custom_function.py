"""``autograd.Function`` under vmap: by its own rule, or by one that is made of its methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..autograd.input_metadata import broadcasts_to
from ..autograd.linear_maps import SumTo, apply_linear
from ..core.tensor_base import TensorBase
from ..utils.pytree import _broadcast_to_and_flatten, tree_flatten, tree_leaves, tree_map, tree_unflatten
from .batched import BatchedTensor, ensure_batch_dim, is_batched_at, move_batch_dim_to_front, wrap
from .batching_loop import loop_and_stack
from .batching_rules import wrap_results
from .level import VmapLevel, vmap_levels

if TYPE_CHECKING:
    from ..autograd.function import Function

Dims = list[int | None]


class VmapInfo(NamedTuple):
    """What the rule of a Function is told."""

    batch_size: int
    randomness: str


def apply_batched(function: type[Function], args: tuple[Any, ...]) -> Any:
    """``function.apply`` where an argument is batched: the batched results.

    Raises RuntimeError for a Function that has no rule, or two, or is not fit for transforms; where none
    transforms (``several_at_once``), one without a rule is applied to each slice.
    """
    level = _newest(args)
    if not level.strict and not _has_rule(function):
        return _looped(function, level, args)
    _check(function)
    values = tree_map(lambda a: a._value if is_batched_at(a, level) else a, args)
    in_dims = tree_map(lambda a: a._bdim if is_batched_at(a, level) else None, args)
    with level.lower():
        if function.generate_vmap_rule:
            results, out_dims = _generated(function, level, values, in_dims)
        else:
            given = function.vmap(VmapInfo(level.size, level.randomness), in_dims, *values)
            results, out_dims = check_rule_result(given, f"The {function.__name__}.vmap staticmethod")
    return wrap_batched(results, out_dims, level, f"The {function.__name__}.vmap staticmethod")


def check_rule_result(given: Any, rule: str) -> Any:
    """The results and their dimensions, as a rule of the user's returned them; RuntimeError for all else."""
    if not isinstance(given, tuple) or len(given) != 2:
        raise RuntimeError(
            f"{rule} must return a tuple of two elements: the output and its out_dims. Got "
            f"{_described(given)}."
        )
    return given


def wrap_batched(results: Any, out_dims: Any, level: VmapLevel, rule: str) -> Any:
    """The results with their batch dimensions, as tensors of the level."""
    leaves, spec = tree_flatten(results)
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            f"{rule} returned an incompatible (output, out_dims) tuple. "
            f"Expected out_dims={out_dims} to be compatible with the structure of `output`. out_dims has "
            f"structure {tree_flatten(out_dims)[1]} but output has structure {spec}."
        )
    made = [t if d is None else wrap(t, d % t._array.ndim, level) for t, d in zip(leaves, dims, strict=True)]
    return tree_unflatten(made, spec)


def _newest(args: Any) -> VmapLevel:
    """The newest level that one of the arguments is of."""
    found = {id(a._layer) for a in tree_leaves(args) if isinstance(a, BatchedTensor)}
    return [level for level in vmap_levels() if id(level) in found][-1]


def _has_rule(function: type[Function]) -> bool:
    from ..autograd.function import Function

    return function.generate_vmap_rule or function.vmap is not Function.vmap


def _looped(function: type[Function], level: VmapLevel, args: tuple[Any, ...]) -> Any:
    """The stacked results for each slice."""
    with level.lower():
        return wrap_results(loop_and_stack(level, function.apply, args), level)


def _check(function: type[Function]) -> None:
    from ..autograd.function import Function

    name = function.__name__
    if function.generate_vmap_rule and function.vmap is not Function.vmap:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overriden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overriden vmap staticmethod to "
            "avoid ambiguity."
        )
    if not _has_rule(function):
        raise RuntimeError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override and "
            "implement the vmap staticmethod or set generate_vmap_rule=True."
        )


def _described(given: Any) -> str:
    if isinstance(given, tuple):
        return f"a tuple with {len(given)} elements"
    return type(given).__name__


# -- the rule that is made --------------------------------------------------------------------


def _generated(function: type[Function], level: VmapLevel, values: Any, in_dims: Any) -> tuple[Any, Any]:
    """The results of the Function's methods, each vmapped, and their dimensions."""
    vmapped = _Vmapped(function, level.size, level.randomness, in_dims)
    results = vmapped.as_function().apply(*values)
    return results, vmapped.out_dims


class _Vmapped:
    """A Function of the whole batch, and the state that its methods share."""

    def __init__(self, function: type[Function], size: int, randomness: str, in_dims: Any) -> None:
        self.function = function
        self.size = size
        self.randomness = randomness
        self.in_dims = in_dims
        self.out_dims: Any = None
        self.in_shapes: list[tuple[int, ...] | None] = []  # logical
        self.saved_dims: dict[str, Dims] = {"backward": [], "forward": []}

    def as_function(self) -> type[Function]:
        """The Function. It is differentiated, and vmapped again, as any other."""
        from ..autograd.function import Function

        vmapped = self

        class Vmapped(Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(*args: Any) -> Any:
                return vmapped.forward(args)

            @staticmethod
            def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
                vmapped.setup_context(ctx, inputs, output)

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                return vmapped.backward(ctx, grads)

            @staticmethod
            def jvp(ctx: Any, *tangents: Any) -> Any:
                return vmapped.jvp(ctx, tangents)

        Vmapped.__name__ = f"Vmapped{self.function.__name__}"
        Vmapped._backward_cls.__name__ = f"{Vmapped.__name__}Backward"
        return Vmapped

    def _level(self) -> VmapLevel:
        return VmapLevel(len(vmap_levels()) + 1, self.size, self.randomness)

    def forward(self, args: tuple[Any, ...]) -> Any:
        with self._level() as level:
            wrapped = _wrapped(args, self.in_dims, level)
            self.in_shapes = [a._array.shape if isinstance(a, TensorBase) else None for a in wrapped]
            given = self.function.forward(*wrapped)
            self.out_dims = tree_map(lambda t: _dim(t, level), given)
            return tree_map(lambda t: _value(t, level), given)

    def setup_context(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        with self._level() as level:
            given = _Context(ctx, level, self.saved_dims)
            self.function.setup_context(
                given, _wrapped(inputs, self.in_dims, level), _wrapped(output, self.out_dims, level)
            )

    def backward(self, ctx: Any, grads: tuple[Any, ...]) -> Any:
        dims = self.out_dims if isinstance(self.out_dims, tuple) else (self.out_dims,)
        with self._level() as level:
            saved = _wrapped_list(ctx.saved_tensors, self.saved_dims["backward"], level)
            given = _Context(ctx, level, self.saved_dims, saved)
            found = self.function._user_backward()(given, *_wrapped_list(grads, dims, level))
            several = found if isinstance(found, tuple) else (found,)
            known = zip(several, self.in_dims, self.in_shapes, strict=False)
            rest = several[len(self.in_dims) :]
            return *[self._gradient(g, d, shape, level) for g, d, shape in known], *rest

    def _gradient(self, grad: Any, dim: int | None, shape: Any, level: VmapLevel) -> Any:
        """The gradient of an input with batch dimension ``dim``; the sum over the batch if that is None."""
        if not isinstance(grad, TensorBase):
            return grad
        found = tuple(grad._array.shape)
        if shape is not None and found != shape and broadcasts_to(shape, found):
            grad = apply_linear(SumTo(grad._type, found, shape), grad)
        if dim is None:
            return move_batch_dim_to_front(grad).sum(0) if is_batched_at(grad, level) else grad
        value = ensure_batch_dim(grad, level)
        return value if dim == 0 else value.movedim(0, dim)

    def jvp(self, ctx: Any, tangents: tuple[Any, ...]) -> Any:
        with self._level() as level:
            saved = _wrapped_list(ctx.saved_tensors, self.saved_dims["forward"], level)
            given = _Context(ctx, level, self.saved_dims, saved)
            found = self.function.jvp(given, *_wrapped_list(tangents, self.in_dims, level))
            dims = self.out_dims if isinstance(found, tuple) else (self.out_dims,)
            made = []
            for tangent, dim in zip(found if isinstance(found, tuple) else (found,), dims, strict=True):
                value = tangent
                if isinstance(tangent, TensorBase):
                    value = ensure_batch_dim(tangent, level) if dim is not None else _value(tangent, level)
                    value = value.movedim(0, dim) if dim else value
                made.append(value)
            return tuple(made) if isinstance(found, tuple) else made[0]


class _Context:
    """The ``ctx`` that a method of the Function is given: what it saves is of the level of that method."""

    def __init__(
        self, ctx: Any, level: VmapLevel, dims: dict[str, Dims], saved: tuple[Any, ...] = ()
    ) -> None:
        self.__dict__.update(_ctx=ctx, _level=level, _dims=dims, saved_tensors=saved)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx, name, value)

    def _values(self, tensors: tuple[Any, ...]) -> list[Any]:
        return [_value(t, self._level) for t in tensors]

    def save_for_backward(self, *tensors: Any) -> None:
        self._dims["backward"] = [_dim(t, self._level) for t in tensors]
        self._ctx.save_for_backward(*self._values(tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        self._dims["forward"] = [_dim(t, self._level) for t in tensors]
        self._ctx.save_for_forward(*self._values(tensors))

    def mark_dirty(self, *tensors: Any) -> None:
        self._ctx.mark_dirty(*self._values(tensors))

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._ctx.mark_non_differentiable(*self._values(tensors))


def _value(tensor: Any, level: VmapLevel) -> Any:
    return tensor._value if is_batched_at(tensor, level) else tensor


def _dim(tensor: Any, level: VmapLevel) -> int | None:
    return tensor._bdim if is_batched_at(tensor, level) else None


def _wrapped(values: Any, dims: Any, level: VmapLevel) -> Any:
    """The tree with BatchedTensors for the values that have a batch dimension."""
    leaves, spec = tree_flatten(values)
    return tree_unflatten(_wrapped_list(leaves, tree_leaves(dims), level), spec)


def _wrapped_list(values: Any, dims: Any, level: VmapLevel) -> tuple[Any, ...]:
    return tuple(
        [
            wrap(v, d, level) if d is not None and isinstance(v, TensorBase) else v
            for v, d in zip(values, dims, strict=True)
        ]
    )
