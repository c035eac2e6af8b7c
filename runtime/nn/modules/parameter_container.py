"""Parameters in a list, and by name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any, Self

from ...tensors.parameter import Parameter
from ...tensors.queries import typename
from ...tensors.tensor import Tensor
from .module import Module
from .sequences import pairs_of, place_of

__all__ = ["ParameterDict", "ParameterList"]


def __dir__() -> list[str]:
    return sorted(__all__)


def _described(name: object, value: Any, kind: str) -> str:
    """A line of ``repr``: what is there by this name."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({name}): {what} containing: [{kind} of size {'x'.join(map(str, value.shape))}]"


class ParameterList(Module):
    """Parameters in a list; tensors become parameters, and other objects stay what they are."""

    _size: int

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """RuntimeError: there is nothing to call."""
        raise RuntimeError("ParameterList should not be called.")

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(len(self)))])
        return getattr(self, str(place_of(index, len(self))))

    def __setitem__(self, index: int, value: Any) -> None:
        place = place_of(index, len(self))
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, str(place), value)

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def append(self, value: Any) -> Self:
        """Add a parameter, or a tensor to become one, at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several at the end. TypeError for what cannot be iterated, and for a tensor."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}"
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """A line for each element."""
        return "\n".join([_described(i, v, str(getattr(v, "dtype", ""))) for i, v in enumerate(self)])


class ParameterDict(Module):
    """Parameters by name; tensors become parameters, and other objects stay what they are.

    TypeError for a name that is no string.
    """

    _keys: dict[str, None]

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __call__(self, input: Any) -> Any:
        """RuntimeError: there is nothing to call."""
        raise RuntimeError("ParameterDict should not be called.")

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _checked(key))

    def __setitem__(self, key: str, value: Any) -> None:
        name = _checked(key)
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)
        self._keys[name] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, _checked(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another one of the same parameters."""
        return ParameterDict([*self.items()])

    def setdefault(self, key: str, default: Any = None) -> Any:
        """What has the name; where nothing has, ``default``, which then does."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take out all of them."""
        for key in [*self._keys]:
            del self[key]

    def pop(self, key: str) -> Any:
        """Take out what has the name, and return it. KeyError, or AttributeError, where nothing has."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Take out the last one, and return its name and it. KeyError where there is none."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """What has the name, or ``default``."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Another one, which has ``default`` by each of the names."""
        return ParameterDict([(key, default) for key in keys])

    def keys(self) -> KeysView[str]:
        """The names, in order."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names, each with what has it."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """What has a name."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Take over those of a mapping, or of pairs; of a plain mapping by order of names, as in PyTorch.

        TypeError for anything else.
        """
        pairs = pairs_of(parameters, "ParameterDict", "ParametersDict", ParameterDict)
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = iter(sorted(pairs))
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        """A line for each name."""
        return "\n".join([_described(k, v, typename(v)) for k, v in self.items()])

    def __or__(self, other: ParameterDict) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        made = other.copy()
        made.update(self)
        return made

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self


def _checked(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
            f"'{type(key).__name__}')."
        )
    return key
