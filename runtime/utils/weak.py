"""Weak references to tensors, and dicts with tensors as keys: what counts is which object it is."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from ..tensors.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


def __dir__() -> list[str]:
    return sorted(__all__)


class WeakIdRef(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that equals another of the same object; ``==`` of the object is not asked."""

    __slots__ = ("_id",)
    _id: int

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]  # as weakref.ref takes it
        self._id = id(key)

    def __call__(self) -> Any:
        """The object; None where it is no more."""
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        own, another = self(), other() if isinstance(other, weakref.ref) else None
        return self is other if own is None or another is None else own is another

    def __ne__(self, other: object) -> bool:
        return not self == other


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dict by which object the key is; an entry goes with its key.

    ``ref_type`` makes the references. TypeError for a key to which there are no weak references.
    """

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        own = weakref.ref(self)

        def remove(reference: Any) -> None:
            found = own()
            if found is not None:
                found.data.pop(reference, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:
            return False

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list[Any]:
        """The references to the keys, some of which may be no more."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Another dict with these entries."""
        return type(self)(self, self.ref_type)

    __copy__ = copy

    def __or__(self, other: Mapping[Any, Any]) -> WeakIdKeyDictionary:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ior__(self, other: Mapping[Any, Any]) -> WeakIdKeyDictionary:
        self.update(other)
        return self


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor, by which tensor it is. TypeError for what is no tensor."""

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"TensorWeakRef: expected a Tensor, but got {type(tensor).__name__}")
        self.ref = WeakIdRef(tensor)

    def __call__(self) -> Any:
        """The tensor; None where it is no more."""
        return self.ref()
