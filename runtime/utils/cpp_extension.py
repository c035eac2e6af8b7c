"""PyTorch's extensions in C++, which cannot be built here: its names are there, and raise when they are used.

Operators of one's own are declared in YAML (docs/libraries.md), or registered in Python by
``tengen.library.custom_op``.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "CUDA_HOME",
    "ROCM_HOME",
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "include_paths",
    "is_ninja_available",
    "load",
    "load_inline",
]


def __dir__() -> list[str]:
    return sorted(__all__)


CUDA_HOME: str | None = None
ROCM_HOME: str | None = None
IS_HIP_EXTENSION = False


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"tengen.utils.cpp_extension.{name}: tengen has no C++ interface to build against; "
        "tengen.library.custom_op registers operators that are written in Python"
    )


def is_ninja_available() -> bool:
    """False: nothing is built."""
    return False


def load(*args: Any, **keywords: Any) -> NoReturn:
    """RuntimeError: nothing is built."""
    _refuse("load")


def load_inline(*args: Any, **keywords: Any) -> NoReturn:
    """RuntimeError: nothing is built."""
    _refuse("load_inline")


def include_paths(*args: Any, **keywords: Any) -> NoReturn:
    """RuntimeError: there are no headers."""
    _refuse("include_paths")


def CppExtension(*args: Any, **keywords: Any) -> NoReturn:
    """RuntimeError: nothing is built."""
    _refuse("CppExtension")


def CUDAExtension(*args: Any, **keywords: Any) -> NoReturn:
    """RuntimeError: nothing is built."""
    _refuse("CUDAExtension")


class BuildExtension:
    """The command of setuptools that builds extensions. RuntimeError when it is used."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        _refuse("BuildExtension")

    @classmethod
    def with_options(cls, **options: Any) -> NoReturn:
        """RuntimeError: nothing is built."""
        _refuse("BuildExtension")
