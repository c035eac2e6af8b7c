"""Containers: modules one after the other, in a list or by name, and parameters likewise."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from itertools import chain
from typing import Any, Self

from ...core.user_stack import program_stacklevel
from .base import ModuleBase
from .module import Module, indented
from .parameter_container import ParameterDict, ParameterList
from .sequences import pairs_of, place_of

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Container(Module):
    """Deprecated for Module: one with the modules that are given as keywords."""

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. "
            "Subclass that instead.",
            FutureWarning,
            stacklevel=program_stacklevel(),
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """What Sequential and ModuleList have in common: their modules are called "0", "1" ..."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def _name_at(self, index: Any) -> str:
        return [*self._modules][place_of(index, len(self._modules))]

    def __setitem__(self, index: int, module: Any) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = [*self._modules][index] if isinstance(index, slice) else [self._name_at(index)]
        for name in names:
            delattr(self, name)
        # The others are counted again.
        self._modules = {str(i): module for i, module in enumerate(self._modules.values())}

    def append(self, module: Any) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Take out the module at an index, or those of a slice, and return it."""
        found = self[key]  # type: ignore[index]
        del self[key]
        return found

    def _insert(self, index: int, module: Any) -> None:
        for place in range(len(self._modules), index, -1):
            self._modules[str(place)] = self._modules[str(place - 1)]
        self._modules[str(index)] = module


class Sequential(_Numbered):
    """Calls its modules one after the other, each with what the last one returned.

    They are the arguments, called "0", "1" ..., or the values of one OrderedDict, with its names.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named: Iterable[tuple[str, Any]] = ((str(i), module) for i, module in enumerate(args))
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """What the last module returns; the input if there is none."""
        for module in self:
            input = module(input)
        return input

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict([*self._modules.items()][index]))
        return self._modules[self._name_at(index)]

    def __add__(self, other: Any) -> Sequential:
        _check_sequential(other)
        made = Sequential()
        for module in chain(self, other):
            made.append(module)
        return made

    def __iadd__(self, other: Any) -> Self:
        _check_sequential(other)
        count = len(self)
        for i, module in enumerate([*other]):
            self.add_module(str(i + count), module)
        return self

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        made = Sequential()
        for _ in range(other):
            made.extend(self)
        return made

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        for module in [*self] * (other - 1):
            self.append(module)
        return self

    def _check_factor(self, other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def insert(self, index: int, module: Any) -> Self:
        """Add a module before the one at the index.

        AssertionError for what is no module, IndexError beyond the end.
        """
        if not isinstance(module, ModuleBase):
            raise AssertionError(f"module should be of type: {Module}")
        count = len(self._modules)
        if not -count <= index <= count:
            raise IndexError(f"Index out of range: {index}")
        self._insert(index + count if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Any]) -> Self:
        """Add modules at the end."""
        for module in sequential:
            self.append(module)
        return self


def _check_sequential(other: Any) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(
            f"add operator supports only objects of Sequential class, but {type(other)} is given."
        )


class ModuleList(_Numbered):
    """Modules in a list. It is not called: the module that has it calls them."""

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)([*self._modules.values()][index])
        return self._modules[str(place_of(index, len(self)))]

    def __iadd__(self, modules: Iterable[Any]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList().extend(chain(self, other))

    def insert(self, index: int, module: Any) -> None:
        """Add a module before the one at the index."""
        self._insert(index, module)

    def extend(self, modules: Iterable[Any]) -> Self:
        """Add modules at the end. TypeError for what cannot be iterated."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}"
            )
        count = len(self)
        for i, module in enumerate(modules):
            self.add_module(str(count + i), module)
        return self

    def __repr__(self) -> str:
        """The modules; those in a row that look alike are one line, with their number."""
        rows: list[tuple[int, int, str]] = []
        for i, text in enumerate(map(repr, self)):
            if rows and rows[-1][2] == text:
                rows[-1] = (rows[-1][0], i, text)
            else:
                rows.append((i, i, text))
        if not rows:
            return f"{self._get_name()}()"
        shown = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in rows
        ]
        lines = "\n  ".join([indented(text, 2, blank=True) for text in shown])
        return f"{self._get_name()}(\n  {lines}\n)"


class ModuleDict(Module):
    """Modules by name. It is not called: the module that has it calls them."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take out all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take out the module of a name, and return it. KeyError where there is none."""
        found = self[key]
        del self[key]
        return found

    def keys(self) -> KeysView[str]:
        """The names, in order."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Any]:
        """The names, each with its module."""
        return self._modules.items()

    def values(self) -> ValuesView[Any]:
        """The modules, in order."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Take over the modules of a mapping, or of pairs. TypeError for anything else."""
        for name, module in pairs_of(modules, "ModuleDict", "ModuleDict", ModuleDict):
            self[name] = module
