"""What a Node saved, got out again: checked for later writes, and with its history.

A saved input is the Tensor itself and the version it had; a saved result is its array (the
Tensor would make a cycle). After a backward pass both are FREED.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NoReturn, cast

from ..core.interception import AliasKind, active, notify_alias
from ..core.storage import storage_of
from .autograd_meta import meta_of

if TYPE_CHECKING:
    from .edge import Edge
    from .node import Node, SavesResults

BACKWARD_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they "
    "have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph "
    "a second time or if you need to access saved tensors after calling backward."
)


class Anomaly:
    """Whether anomaly mode is on, in all threads, and whether it looks for NaN."""

    __slots__ = ("check_nan", "enabled")

    def __init__(self) -> None:
        self.enabled = False
        self.check_nan = True


anomaly = Anomaly()


class Freed:
    """Stands in the slots of a Node whose saved values were freed: whatever uses it fails."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(BACKWARD_TWICE)

    def _fail(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(BACKWARD_TWICE)

    def __repr__(self) -> str:
        return "<freed>"

    # A saved array is used through operators and NumPy functions, which look at the class.
    __array__ = __array_ufunc__ = __array_function__ = __iter__ = __len__ = __getitem__ = _fail
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _fail
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _fail
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __neg__ = __abs__ = __invert__ = _fail
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __int__ = __float__ = __complex__ = __index__ = _fail
    __eq__ = __ne__ = _fail  # also `saved == 0` is a use
    __hash__ = object.__hash__


FREED = Freed()


class PackedBase:
    """What hooks have packed; it stands in a Node's slot in place of the Tensor or array."""

    __slots__ = ()

    def unpack(self, edge: Edge | None) -> Any:
        """The Tensor again, with a history."""
        raise NotImplementedError


def unpack_array(tensor: Any, version: int, node: Node) -> Any:
    """The array of a saved input.

    Raises RuntimeError when the tensor was written to since, or when it was freed.
    """
    storage = tensor._storage
    if storage is not None and storage.version != version:
        raise modified_in_place(tensor._array, tensor._type, tensor._edge, storage.version, version)
    return tensor._array


def unpack_arrays(tensors: Any, versions: tuple[int, ...], node: Node) -> list[Any]:
    """The arrays of a saved list of inputs, some of which may be None; as ``unpack_array``."""
    if tensors is FREED:
        raise RuntimeError(BACKWARD_TWICE)
    return [None if t is None else unpack_array(t, v, node) for t, v in zip(tensors, versions, strict=True)]


def unpack_tensor(tensor: Any, version: int, edge: Edge | None) -> Any:
    """A saved input as a Tensor, with the history (``edge``) it had when it was saved."""
    if isinstance(tensor, PackedBase):
        return tensor.unpack(edge)
    storage = tensor._storage
    if storage is not None and storage.version != version:
        raise modified_in_place(tensor._array, tensor._type, tensor._edge, storage.version, version)
    if edge is None:
        # It needed no gradient then; it may have been made to since.
        return alias(tensor, None) if tensor._requires_grad else tensor
    now = tensor._edge
    if now is edge or (now is not None and now[0] is edge[0] and now[1] == edge[1]):
        return tensor
    if now is None and tensor._requires_grad and getattr(edge[0], "variable", None) is tensor:
        return tensor
    return alias(tensor, edge)


def unpack_result_array(node: SavesResults, array: Any, number: int) -> Any:
    """The array of a saved result; RuntimeError when the result was written to since."""
    if array is FREED:
        raise RuntimeError(BACKWARD_TWICE)
    if node.result_versions is not None:
        if isinstance(array, PackedBase):
            return array._array  # type: ignore[attr-defined]  # of Packed
        check_result(node, array, number)
    return array


def unpack_result(node: SavesResults, array: Any, number: int, T: Any) -> Any:
    """A saved result as a Tensor whose history, if it has a gradient, is this Node."""
    out = T.wrap(unpack_result_array(node, array, number))
    if number not in node.constants:
        out._edge = (node, number)
        out._requires_grad = True
    if active and node.extra is not None and node.extra.forward_grads is not None:
        meta_of(out).forward_grad = node.extra.forward_grads.get(number)
    return out


def check_result(node: SavesResults, array: Any, number: int) -> None:
    """Raise when one of the Storages of the result ``number`` was written to since it was made."""
    assert node.result_versions is not None
    for storage, version in node.result_versions.get(number, ()):
        if storage.version != version:
            T = node.type[number] if node.type.__class__ is tuple else node.type
            raise modified_in_place(array, T, (node, number), storage.version, version)


def alias(tensor: Any, edge: Edge | None, tangents: bool = True) -> Any:
    """A handle on the same memory and version counter, with another history, and the same tangents."""
    out = tensor._type.wrap(tensor._array)
    out._storage = storage_of(tensor)
    out._requires_grad = edge is not None
    if edge is not None and hasattr(edge[0], "variable"):  # another handle on a leaf is a leaf
        meta_of(out).accumulator = weakref.ref(cast("Any", edge[0]))
    else:
        out._edge = edge
    if active and tangents:
        notify_alias(tensor, out, AliasKind.ALIAS)
    return out


def modified_in_place(array: Any, T: Any, edge: Edge | None, found: int, expected: int) -> RuntimeError:
    """The error for a saved value that was written to."""
    origin = ""
    if edge is not None and edge[0].num_inputs and not hasattr(edge[0], "variable"):
        origin = f", which is output {edge[1]} of {edge[0].name()},"
    if anomaly.enabled:
        hint = (
            "the backtrace further above shows the operation that failed to compute its gradient. The "
            "variable in question was changed in there or anywhere later. Good luck!"
        )
    else:
        hint = (
            "enable anomaly detection to find the operation that failed to compute its gradient, with "
            "tengen.autograd.set_detect_anomaly(True)."
        )
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[tengen.{T.scalar_type.type_name}Tensor {list(array.shape)}]{origin} is at version {found}; "
        f"expected version {expected} instead. Hint: {hint}"
    )
