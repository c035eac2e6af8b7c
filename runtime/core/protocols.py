"""What an operator, a Node and a linear map are to those who stand below them, for annotations.

What a tensor is to them is ``tengen.core.tensor_base.TensorBase``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Parameter(Protocol):
    """A parameter of an operator: ``tengen.dispatch.arguments.Parameter``."""

    default: Any
    kwarg_only: bool
    name: str
    required: bool
    type: str


class Operator(Protocol):
    """An operator as what intercepts its calls sees it: ``tengen.dispatch.operator.Operator``."""

    base: str | None
    decomposes: bool
    function: str
    kind: str
    name: str
    out: bool
    promote: str
    promoted: tuple[int, ...]
    tensors: tuple[int, ...]
    written: tuple[int, ...]

    @property
    def fixed(self) -> bool: ...

    @property
    def parameters(self) -> Sequence[Parameter]: ...

    def proceed(self, *arguments: Any) -> Any: ...

    def __call__(self, *arguments: Any) -> Any: ...


class Node(Protocol):
    """A recorded operation as what observes a backward pass sees it: ``tengen.autograd.node.Node``."""

    sequence_nr: int

    def name(self) -> str: ...


class LinearMap(Protocol):
    """One of the runtime's own linear maps: ``tengen.autograd.linear_maps.LinearMap``."""

    @property
    def node(self) -> Callable[..., Node]: ...

    def __call__(self, array: Any) -> Any: ...

    def result_type(self) -> Any: ...

    def adjoint(self) -> LinearMap: ...

    def batched(self, count: int) -> LinearMap: ...
