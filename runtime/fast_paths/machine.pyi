"""The extension, written in C."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

operations: dict[str, tuple[int, str, str, str]]
numbers: dict[str, dict[str, int]]
REQUIRED: object
deepest: int
most_locals: int
sources: int  # the check sum of what it was built from

class WithFastPath:
    """A generated function that runs its fast path; in all else it is that function."""

    def __new__(
        cls, function: FunctionType, owner: type | None, prepare: Callable[[WithFastPath], None]
    ) -> WithFastPath: ...
    @property
    def function(self) -> FunctionType: ...
    @property
    def owner(self) -> type | None: ...
    def run(self, path: tuple[Any, ...] | None) -> None: ...
    def __call__(self, *args: Any, **keywords: Any) -> Any: ...

class Guard:
    """What tensors must be, and Python's objects."""

    def __new__(
        cls,
        expected: tuple[tuple[int, type, Any, bool, tuple[int, ...], tuple[int, ...]], ...],
        named: tuple[tuple[Any, Any, Any], ...],
        cells: tuple[tuple[Any, Any], ...],
        functions: tuple[tuple[Any, Any, Any, Any], ...],
        lists: tuple[tuple[Any, tuple[Any, ...]], ...],
        dicts: tuple[tuple[Any, tuple[Any, ...], tuple[Any, ...]], ...],
        missing: object,
    ) -> Guard: ...
    def fits(self, given: Any) -> bool: ...

class Program:
    """Machine code of a compiled function, and the memory that it is given."""

    def __new__(
        cls,
        inputs: int,
        pointers: tuple[tuple[int, int, int], ...],
        outputs: tuple[tuple[np.dtype[Any], tuple[int, ...], Any], ...],
        functions: tuple[int, ...],
        arena: int,
    ) -> Program: ...
    def run(self, given: list[Any]) -> tuple[Any, ...] | None: ...

def lay_out(namespace: dict[str, Any]) -> None: ...
def offset(cls: type, name: str) -> int: ...
def add_columns(ufunc: np.ufunc, columns: np.ufunc) -> None: ...
def add_loop(
    ufunc: np.ufunc, rows: tuple[bool, ...] | None, types: tuple[int, ...], address: int, most: int
) -> None: ...
def run_shares(
    kernel: np.ufunc, operands: tuple[Any, ...], dim: int, share: int, threads: int, wakes: bool
) -> bool: ...
def switch(on: bool) -> bool: ...
def run(*args: Any) -> None: ...
