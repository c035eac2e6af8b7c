"""Watch: which functions of the program run while it is traced, and whether they do what no trace has.

A trace has operators. What else a program does, it does once more only if it is called as it is: it writes,
reads clocks, draws Python's random numbers. Functions in C that may do so are told by what they are of.
"""

from __future__ import annotations

import gc
import sys
import sysconfig
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType
from typing import Any

#: Modules in C whose functions give the same for the same, and do nothing else.
_PURE_MODULES = frozenset(
    (
        *("builtins", "math", "cmath", "_operator", "operator", "itertools", "_functools"),
        *("_collections", "_collections_abc", "_abc", "_typing", "_weakref", "_struct"),
        *("_warnings", "_sre", "copyreg", "_codecs", "_string", "numpy"),
    )
)
#: Of these, functions that do.
_IMPURE = frozenset(
    (
        *("print", "input", "open", "exec", "eval", "compile", "breakpoint", "__import__", "id"),
        *("globals", "locals", "vars", "dir"),
    )
)
#: Types in C whose methods change at most the object itself.
_PLAIN_TYPES = frozenset(
    (
        *("list", "dict", "set", "frozenset", "tuple", "str", "bytes", "bytearray", "int"),
        *("float", "complex", "bool", "NoneType", "type", "range", "slice", "deque"),
        *("OrderedDict", "defaultdict", "Counter", "mappingproxy", "dict_keys", "dict_values"),
        *("dict_items", "property", "Pattern", "Match", "object", "super", "generator"),
        *("method", "function", "cell", "ndarray", "dtype", "weakref", "ReferenceType"),
    )
)
#: Parts of tengen that do more than operators do, or other than in a trace.
_BEYOND = (
    *("tengen.random", "tengen.serialization", "tengen.utils.data", "tengen.hub"),
    *("tengen.multiprocessing", "tengen.distributed", "tengen.optim", "tengen.amp"),
    *("tengen.profiler", "tengen.testing", "tengen.settings", "tengen.cuda", "tengen.jax"),
    *("tengen.dask", "tengen.onnx", "tengen.jit", "tengen.autograd.profiler"),
    *("tengen.custom_operators", "tengen.storage", "tengen.tensors.interop", "tengen.tensors.printing"),
    *("tengen.autograd.function", "tengen.autograd.python_function"),
)
#: What tensors have beside elements, by the names of methods and properties.
_OF_TENSORS = frozenset(
    (
        *("grad_fn", "_version", "data_ptr", "is_set_to", "set_", "share_memory_", "is_shared"),
        *("register_hook", "register_post_accumulate_grad_hook", "retain_grad", "module_load"),
        *("__repr__", "__deepcopy__", "__reduce_ex__", "__dlpack__"),
    )
)
#: What optimisers do that programs repeat.
_OF_OPTIMISERS = frozenset(("step", "zero_grad"))
#: Packages that tengen is made of, which do what operators do.
_OWN = frozenset(["tengen", "numpy", "scipy", "llvmlite", "ml_dtypes", "threadpoolctl"])
_STANDARD = (sysconfig.get_paths()["stdlib"], "<frozen")


def is_program(code: CodeType, module: str) -> bool:
    """Whether code is the program's: not tengen's, NumPy's or of Python's own library."""
    if module.partition(".")[0] in _OWN:
        return False
    place = code.co_filename
    return not place.startswith(_STANDARD) or "site-packages" in place or "dist-packages" in place


class _Kind(Enum):
    """Whose code something is."""

    OWN = "tengen's, or of what it is made of"
    PROGRAM = "the program's"
    STANDARD = "Python's own library's"
    IMPORT = "what imports modules"


class Watch:
    """``with Watch():`` the code of the program that runs in this thread, and what speaks against it."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        #: What the program does that calls of a compiled function would not do.
        self.problems: list[str] = []
        self._kinds: dict[CodeType, _Kind] = {}
        self._before: Callable[..., Any] | None = None
        self._top: FrameType | None = None
        self._collects = False

    def __enter__(self) -> Watch:
        self._before, self._top, self._collects = sys.getprofile(), sys._getframe(1), gc.isenabled()
        gc.disable()  # what others do when it collects is none of the function's doing
        sys.setprofile(self._event)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(self._before)
        if self._collects:
            gc.enable()

    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        """What ``sys.setprofile`` calls: mostly for the library's own code, called by the library's own."""
        kinds = self._kinds
        if event == "call":
            caller = frame.f_back
            kind = kinds.get(frame.f_code) or self._kind(frame)
            if kind is _Kind.PROGRAM:
                self.codes.add(frame.f_code)
            elif (
                caller is not None and kinds.get(caller.f_code) is not _Kind.OWN and self._is_outside(caller)
            ):
                self._called(frame, caller)
        elif event == "c_call" and kinds.get(frame.f_code) is not _Kind.OWN and self._is_outside(frame):
            problem = _impure(argument)
            if problem:
                self._note(problem, frame)

    def _called(self, frame: FrameType, caller: FrameType) -> None:
        """Note what is called of others, by the program or on its behalf."""
        code, module = frame.f_code, frame.f_globals.get("__name__") or ""
        if self._kinds[code] is not _Kind.OWN:  # Python's own library has state, too
            self.codes.add(code)
        beyond = module.startswith(_BEYOND) and not (
            module.startswith("tengen.optim.") and code.co_name in _OF_OPTIMISERS
        )
        if beyond or (module.startswith("tengen.tensors.") and code.co_name in _OF_TENSORS):
            self._note(f"it calls {module}.{code.co_name}", caller)

    def _kind(self, frame: FrameType) -> _Kind:
        """Whose code a frame runs."""
        code, module = frame.f_code, frame.f_globals.get("__name__") or ""
        found = self._kinds.get(code)
        if found is None:
            if module.partition(".")[0] in _OWN:
                found = _Kind.OWN
            elif module.startswith("importlib"):
                found = _Kind.IMPORT
            else:
                found = _Kind.PROGRAM if is_program(code, module) else _Kind.STANDARD
            self._kinds[code] = found
        return found

    def _is_outside(self, frame: FrameType | None) -> bool:
        """Whether a frame is the program's, or of what of Python's own library that calls.

        What an import does it does once.
        """
        by_program = False
        while frame is not None and frame is not self._top:
            kind = self._kind(frame)
            if kind is _Kind.IMPORT or (kind is _Kind.OWN and not by_program):
                return False
            by_program |= kind is _Kind.PROGRAM
            frame = frame.f_back
        return by_program

    def _note(self, problem: str, frame: FrameType) -> None:
        name = Path(frame.f_code.co_filename).name
        self.problems.append(f"{problem} ({name}:{frame.f_lineno})")


def _impure(function: Any) -> str:
    """What a function in C may do beside giving a value; "" if nothing."""
    name = getattr(function, "__name__", "")
    own = getattr(function, "__self__", None)
    module = getattr(function, "__module__", None)
    if isinstance(function, BuiltinFunctionType) and (own is None or isinstance(own, type(sys))):
        root = (module or "builtins").partition(".")[0]
        if root in _PURE_MODULES or root == "tengen":
            return f"it calls {name}" if name in _IMPURE else ""
        return f"it calls {module}.{name}"
    kind = own if isinstance(own, type) else type(own)
    if any(
        base.__name__ in _PLAIN_TYPES or base.__module__.startswith(("tengen", "numpy"))
        for base in kind.__mro__[:-1]
    ):
        return "" if "random" not in kind.__module__ else f"it calls {kind.__name__}.{name}"
    if own is None or kind is object:
        return ""
    return f"it calls {kind.__module__}.{kind.__name__}.{name}"
