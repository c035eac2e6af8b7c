"""The C machine: generated functions whose usual case is run by a machine written in C.

It is optional. Where the extension was not built, where something at the start is not as it expects, and
with ``TENGEN_FAST_PATHS=0``, the functions of ``generated/`` run as they are: these say what happens, and do
whatever is unusual in any case.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

import numpy as np

__all__ = [
    "Status",
    "add_fast_paths",
    "add_fast_paths_to_classes",
    "add_loops",
    "describe",
    "engine",
    "fast_path",
    "operation",
    "programs",
    "run_shares",
    "status",
    "stopped",
    "texts",
]


#: Why there is no extension, where tengen was installed without a C compiler.
NOT_BUILT = "the extension was not built"

Function = TypeVar("Function", bound=Callable[..., Any])


class Status(NamedTuple):
    """Whether the C machine is used, and why it is so."""

    used: bool
    reason: str


def _load() -> tuple[Any, str]:
    """The extension, or None, and why."""
    if os.environ.get("TENGEN_FAST_PATHS") == "0":
        return None, "TENGEN_FAST_PATHS is 0"
    if "t" in getattr(sys, "abiflags", ""):
        return None, "this Python is free-threaded, and it relies on the interpreter's lock"
    try:
        from . import machine
    except ImportError as error:
        built = error.path not in (None, __file__)  # and it cannot be loaded
        return None, f"the extension cannot be loaded: {error}" if built else NOT_BUILT
    if not hasattr(machine, "sources") or machine.sources != _sources(machine.sources):
        return None, "the extension was built from other sources: install tengen anew"
    return machine, "the extension is here"


def _sources(known: int) -> int:
    """The check sum of the sources in this folder, which a clone has; elsewhere the one that is known."""
    folder = os.path.dirname(__file__)
    written = b""
    for name in sorted(os.listdir(folder)):
        if name.endswith((".c", ".def", ".h")):
            with open(os.path.join(folder, name), "rb") as file:
                written += file.read()
    return zlib.crc32(written) if written else known


class _State:
    """The extension, why it is used or not, what describes the classes, whether they are laid out."""

    def __init__(self) -> None:
        self.machine, self.reason = _load()
        self.describe: Callable[[], dict[str, Any]] | None = None
        self.laid_out = False
        self.running = True


_state = _State()


def describe(classes: Callable[[], dict[str, Any]]) -> None:
    """Say what gives the classes and objects that the machine knows, by their names: it is called once."""
    _state.describe = classes


def status() -> Status:
    """Whether fast paths are run in this process."""
    _lay_out()
    return Status(_state.machine is not None, _state.reason)


def programs() -> Any:
    """The extension, which has the types Guard and Program, where it is used; else None."""
    return _state.machine if _lay_out() else None


def _lay_out() -> bool:
    """Find the slots of the classes, if that was not done; whether the machine may run."""
    if _state.machine is None or _state.laid_out or _state.describe is None:
        return _state.laid_out and _state.machine is not None
    try:
        _state.machine.lay_out(_state.describe())
        _state.laid_out = True
    except (TypeError, KeyError) as error:
        _state.machine, _state.reason = None, f"tengen's classes are not as expected: {error}"
    return _state.laid_out


def add_fast_paths(owner: Any) -> None:
    """Have the machine run the functions of a module, whose ``globals()`` are given, or of a class."""
    if _state.machine is None:
        return
    make = _state.machine.WithFastPath
    found = owner if isinstance(owner, dict) else dict(vars(owner))
    module = found["__name__" if found is owner else "__module__"]
    for name in list(found):
        function = found[name]
        if function.__class__ is FunctionType and function.__module__ == module:
            made = make(function, None, _prepare)
            if found is owner:
                found[name] = made
            else:
                setattr(owner, name, made)


#: The functions that have a fast path written by hand, and these.
by_hand: list[tuple[Callable[..., Any], str]] = []


def fast_path(text: str) -> Callable[[Function], Function]:
    """Decorates a function written by hand that the machine runs by this fast path, if it is there."""

    def replaced(function: Function) -> Function:
        by_hand.append((function, text))
        return _with_fast_path(function, lambda: text)

    return replaced


#: The functions that an operation of the machine repeats, and those.
repeated: list[tuple[Callable[..., Any], str]] = []


def operation(name: str) -> Callable[[Function], Function]:
    """Decorates a function that an operation of the machine repeats.

    What that takes from the stack are the first parameters, and the words behind it are the next ones.
    """

    def replaced(function: Function) -> Function:
        repeated.append((function, name))
        return _with_fast_path(function, lambda: path_of_operation(function, name))

    return replaced


def path_of_operation(function: Any, name: str) -> str:
    """The fast path of a function that an operation repeats."""
    from .assembler import KINDS
    from .stack import EFFECTS

    names, takes = function.__code__.co_varnames, EFFECTS[name].stays.takes
    words = " ".join([name, *names[takes : takes + len(KINDS[name])]])
    return "; ".join([*[f"local {parameter}" for parameter in names[:takes]], words, "give"])


def _with_fast_path(function: Function, text: Callable[[], str]) -> Function:
    """The function, run by the machine, if that is there."""

    def prepare(made: Any) -> None:
        if _state.describe is not None or _state.machine is None:
            made.run(assembled(function, text(), None) if _lay_out() else None)

    machine = _state.machine
    return function if machine is None else machine.WithFastPath(function, None, prepare)


def add_fast_paths_to_classes(namespace: Mapping[str, Any], method: str) -> None:
    """The same for a method of all classes of a module, whose slots it uses."""
    if _state.machine is None:
        return
    make = _state.machine.WithFastPath
    for owner in namespace.values():
        if isinstance(owner, type) and owner.__module__ == namespace["__name__"] and method in vars(owner):
            setattr(owner, method, make(vars(owner)[method], owner, _prepare))


def add_loops(ufunc: np.ufunc, loops: Mapping[tuple[str, ...], int], most: int) -> None:
    """Tell the addresses of a native kernel's loops, by the dtypes of operands and results.

    Small arrays are given to those of elements with one result, and to those of rows: of each row operands
    and results have the row or a number. Arrays of ``most`` elements are shared out to those of any kind.
    """
    if _state.machine is None:
        return
    rows = _rows(ufunc.signature) if ufunc.signature else None
    for dtypes, address in loops.items():
        _state.machine.add_loop(ufunc, rows, tuple([np.dtype(d).num for d in dtypes]), address, most)


def add_columns(ufunc: np.ufunc, columns: np.ufunc) -> None:
    """Tell of a native kernel of rows which one does the same of rows that lie side by side."""
    if _state.machine is not None:
        _state.machine.add_columns(ufunc, columns)


def _rows(signature: str) -> tuple[bool, ...] | None:
    """Whether operands and results of a generalised ufunc are rows; None where one is another thing."""
    found = re.findall(r"\((.*?)\)", signature)
    return None if {*found} - {"", found[0]} or "," in found[0] else tuple([dims != "" for dims in found])


def run_shares(
    kernel: np.ufunc, operands: tuple[Any, ...], dim: int, share: int, threads: int, wakes: bool = True
) -> bool:
    """Call a native kernel in threads that need no interpreter; whether it is done.

    Operands are its operands and results. A thread works on ``share`` places of an outer dimension at a time:
    ``dim``, or ``~dim`` for a core one, in the order of the kernel's signature. Threads that sleep are waked
    if it ``wakes`` them. False, and nothing was written, for operands of other dtypes than the kernel's, for
    results that share memory with operands, and where there are no such threads.
    """
    run = getattr(_state.machine, "run_shares", None)  # which is not there on all platforms
    return run is not None and run(kernel, operands, dim, share, threads, wakes)


def engine() -> Any:
    """The engine's loop over arrays; None where the machine does not run."""
    return _state.machine.run if _state.running and _lay_out() else None


@contextmanager
def stopped() -> Iterator[None]:
    """Meanwhile all functions run as Python has them, in all threads: for comparisons."""
    before, _state.running = _state.running, False
    if _state.machine is not None:
        _state.machine.switch(False)
    try:
        yield
    finally:
        _state.running = before
        if _state.machine is not None:
            _state.machine.switch(before)


def _prepare(made: Any) -> None:
    """Make the fast path of a function, which is called for the first time."""
    if _state.describe is not None or _state.machine is None:  # else it is called while tengen is imported
        found = fast_path_of(made.function, made.owner) if _lay_out() else None
        made.run(found)


def fast_path_of(function: FunctionType, owner: Any) -> tuple[Any, ...] | None:
    """The fast path of a generated function; None where it has none that fits."""
    text = _texts(function.__module__).get(function.__qualname__)
    return None if text is None else assembled(function, text, owner)


def assembled(function: Any, text: str, owner: Any) -> tuple[Any, ...] | None:
    """The fast path of a text for a function; None where it does not fit, or is none."""
    from .assembler import Assembler, Malformed, Unfit

    try:
        return Assembler(function, text, owner).fast_path()
    except (Unfit, Malformed, LookupError, AttributeError, TypeError):  # as of an extension of other sources
        return None


@functools.cache
def _texts(path: str) -> dict[str, str]:
    """The fast paths of a module by the names of their functions."""
    package, _, module = path.rpartition(".")
    found: dict[str, str] = {}
    for text, names in texts(package)[module].items():
        for name in names.split():
            found[name] = text.replace("@", name.rpartition(".")[2])
    return found


@functools.cache
def texts(package: str) -> dict[str, dict[str, str]]:
    """What the generator wrote: by module each fast path, with the functions that it is for."""
    import json

    folder = import_module(package).__path__[0]
    with open(os.path.join(folder, "fast_paths.json"), encoding="utf-8") as file:
        found: dict[str, dict[str, str]] = json.load(file)
    return {module: texts for module, texts in found.items() if not module.startswith("$")}
