"""The namespace of the array API standard, which tensors tell and ``tengen`` registers."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Final

#: The versions of the standard that the namespace follows: each has what the ones before have.
VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
_loaders: list[Callable[[], ModuleType]] = []


def register_namespace(load: Callable[[], ModuleType]) -> None:
    """Register what imports the namespace."""
    _loaders.append(load)


def array_namespace(api_version: str | None) -> ModuleType:
    """The namespace. ValueError for a version of the standard that it does not follow."""
    if api_version is not None and api_version not in VERSIONS:
        known = ", ".join(VERSIONS)
        raise ValueError(f"__array_namespace__(): api_version must be one of {known}, not {api_version!r}")
    return _loaders[-1]()
