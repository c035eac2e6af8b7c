"""Watch: which functions of the program run while it is traced, and whether they do what no trace has.

A trace has operators. What else a program does, it does once more only if it is called as it is: it writes,
reads clocks, draws Python's random numbers. Functions in C that may do so are told by what they are of.
"""

from __future__ import annotations

import gc
import sys
import sysconfig
from collections.abc import Callable
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


class Watch:
    """``with Watch():`` the code of the program that runs in this thread, and what speaks against it."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        #: What the program does that calls of a compiled function would not do.
        self.problems: list[str] = []
        self._known: dict[CodeType, bool] = {}
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
        if event == "call":
            self._called(frame)
        elif event == "c_call" and self._is_outside(frame):
            problem = _impure(argument)
            if problem:
                self._note(problem, frame)

    def _called(self, frame: FrameType) -> None:
        code = frame.f_code
        known = self._known.get(code)
        if known is None:
            known = self._known[code] = is_program(code, frame.f_globals.get("__name__") or "")
            if known:
                self.codes.add(code)
        caller = frame.f_back
        if not known and caller is not None and self._is_outside(caller):
            module = frame.f_globals.get("__name__") or ""
            if module.partition(".")[0] not in _OWN:  # Python's own library has state, too
                self.codes.add(code)
            beyond = module.startswith(_BEYOND) and not (
                module.startswith("tengen.optim.") and code.co_name in _OF_OPTIMISERS
            )
            if beyond or (module.startswith("tengen.tensors.") and code.co_name in _OF_TENSORS):
                self._note(f"it calls {module}.{code.co_name}", caller)

    def _is_outside(self, frame: FrameType | None) -> bool:
        """Whether a frame is the program's, or of what of Python's own library that calls.

        What an import does it does once.
        """
        own: bool | None = None
        while frame is not None and frame is not self._top:
            module = frame.f_globals.get("__name__") or ""
            if module.startswith("importlib"):
                return False
            if own is None and (module.partition(".")[0] in _OWN or is_program(frame.f_code, module)):
                own = module.partition(".")[0] in _OWN
            frame = frame.f_back
        return own is False

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
