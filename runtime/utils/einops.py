"""Tensors for einops, which knows those of the libraries that it was told of: importing this module tells it.

    import einops
    import tengen.utils.einops

    einops.rearrange(x, "b c h w -> b (h w) c")

It has no public way to be told; a backend is a subclass, which it finds by itself.
"""

from __future__ import annotations

from typing import Any

from .. import functional
from ..array_api import concat, expand_dims, stack, tile
from ..core.needed_package import needed_package
from ..tensors.creation import from_numpy
from ..tensors.tensor import Tensor

try:
    from einops._backends import AbstractBackend
except ModuleNotFoundError as error:
    raise needed_package(__name__, "einops") from error


class TensorBackend(AbstractBackend):  # type: ignore[misc]
    """What einops asks of a library."""

    framework_name = "tengen"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Whether it is a tensor."""
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: Any) -> Tensor:
        """A tensor over the memory of an array."""
        return from_numpy(x)

    def to_numpy(self, x: Tensor) -> Any:
        """The elements as an array, without gradient."""
        return x.detach().numpy()

    def shape(self, x: Tensor) -> tuple[int, ...]:
        """The sizes."""
        return tuple(x.shape)

    def transpose(self, x: Tensor, axes: Any) -> Tensor:
        """The axes in another order."""
        return x.permute(axes)

    def reduce(self, x: Tensor, operation: str, axes: Any) -> Tensor:
        """A reduction by its name: min, max, sum, mean, prod, any, all."""
        return getattr(x.__array_namespace__(), operation)(x, axis=tuple(axes))  # type: ignore[no-any-return]

    def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
        """The tensors along a new first axis."""
        return stack(tensors)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        """One more axis, of one element."""
        return expand_dims(x, new_position)

    def tile(self, x: Tensor, repeats: tuple[int, ...]) -> Tensor:
        """The tensor so many times along each axis."""
        return tile(x, repeats)

    def concat(self, tensors: list[Tensor], axis: int) -> Tensor:
        """The tensors one after the other."""
        return concat(tensors, axis=axis)

    def is_float_type(self, x: Tensor) -> bool:
        """Whether there are means of such elements."""
        return x.dtype.is_inexact

    def einsum(self, pattern: str, *x: Tensor) -> Tensor:
        """The sums of products that the equation says."""
        return functional.einsum(pattern, *x)
