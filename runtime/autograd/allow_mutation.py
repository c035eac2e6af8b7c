"""Saved tensors that may be written to: they are copied just before, for the backward pass."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..core.interception import Layer
from ..core.tensor_base import TensorBase
from .saved_variable import alias
from .saved_variable_hooks import saved_tensors_hooks


class _Handle:
    """Stands for a saved tensor in a Node: the tensor, and after a write to its memory a copy of it."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


class AllowMutation(Layer):
    """``allow_mutation_on_saved_tensors()``: the context, and who sees the operators inside."""

    _open = False

    def __init__(self) -> None:
        #: What Nodes have saved, by the address of the memory that it is in.
        self._handles: dict[int, weakref.WeakSet[_Handle]] = {}
        self._alive: weakref.WeakSet[_Handle] = weakref.WeakSet()
        #: While the context is entered; they have methods of this object, which then is part of a cycle.
        self._hooks: saved_tensors_hooks | None = None

    def __enter__(self) -> AllowMutation:
        global _entered
        if _entered:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self._hooks = saved_tensors_hooks(self._pack, self._unpack)
        self._hooks.__enter__()
        try:
            self.enter()
        except BaseException:  # an interrupt
            self.leave()
            raise
        _entered = self._open = True
        return self

    def leave(self) -> None:
        """Leave what was entered: done again, it leaves what an interrupt had left over."""
        global _entered
        _entered = self._open = False
        super().leave()
        hooks, self._hooks = self._hooks, None
        if hooks is not None:
            hooks.__exit__()
        self.clear()

    def clear(self) -> None:
        """Forget all that was saved so far: a backward pass through it is an error from now on."""
        self._handles.clear()
        self._alive.clear()

    def _pack(self, tensor: Any) -> _Handle:
        handle = _Handle(alias(tensor, None))
        self._handles.setdefault(_address(tensor), weakref.WeakSet()).add(handle)
        self._alive.add(handle)
        return handle

    def _unpack(self, handle: _Handle) -> Any:
        if not self._open or handle not in self._alive:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the "
                "graph was originally recorded."
            )
        return handle.tensor

    def __call__(self, operator: Any, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        """Run the operator, after what it will write to was copied where that is saved."""
        for position in operator.written:
            self._preserve(arguments[position])
        return proceed(*arguments)

    def _preserve(self, written: Any) -> None:
        if not isinstance(written, TensorBase):
            for tensor in written or ():
                self._preserve(tensor)
            return
        for handle in self._handles.pop(_address(written), ()):
            T = handle.tensor._type
            handle.tensor = T.wrap(T.backend.lib.copy(handle.tensor._array))


_entered = False


def _address(tensor: Any) -> int:
    """Where the memory of a tensor, which its views share, begins."""
    lib = tensor._type.backend.lib
    address: int = lib.data_ptr(lib.root(tensor._array))
    return address
