"""Operators of others: libraries, packages that declare them, and what a program defines while it runs.

The second is PyTorch's ``torch.library``, ``custom_op`` and what belongs to it: see tengen.custom_operators.

What ``tengen gen`` makes for one is the same as for tengen itself, less what tengen has: rows of tables,
and classes that hold the methods of its operators. Loading a library adds the rows, and gives each Type
a class that has the library's methods before its own.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tengen.generated.backends import BACKENDS

from .core import library_tables
from .core.device import DEVICES
from .core.error_notes import library_folders
from .core.user_stack import add_library
from .dispatch.legacy_type_dispatch import extend_types
from .version import __version__

if TYPE_CHECKING:
    from .custom_operators.definition import CustomOpDef as CustomOpDef, custom_op as custom_op
    from .custom_operators.fake import get_ctx as get_ctx
    from .custom_operators.inference import infer_schema as infer_schema
    from .custom_operators.libraries import Library as Library, define as define, impl as impl
    from .custom_operators.operator import fallthrough_kernel as fallthrough_kernel
    from .custom_operators.overloads import OpOverload, OpOverloadPacket
    from .custom_operators.registration import (
        get_kernel as get_kernel,
        impl_abstract as impl_abstract,
        register_autocast as register_autocast,
        register_autograd as register_autograd,
        register_fake as register_fake,
        register_kernel as register_kernel,
        register_torch_dispatch as register_torch_dispatch,
        register_vmap as register_vmap,
    )
    from .custom_operators.tags import Tag as Tag
    from .dispatch.type import Type

#: Operators that are defined while a program runs: their modules are imported when they are first used.
_LAZY = {
    "CustomOpDef": "definition",
    "Library": "libraries",
    "Tag": "tags",
    "custom_op": "definition",
    "define": "libraries",
    "fallthrough_kernel": "operator",
    "get_ctx": "fake",
    "get_kernel": "registration",
    "impl": "libraries",
    "impl_abstract": "registration",
    "infer_schema": "inference",
    "register_autocast": "registration",
    "register_autograd": "registration",
    "register_fake": "registration",
    "register_kernel": "registration",
    "register_torch_dispatch": "registration",
    "register_vmap": "registration",
}

_lock = threading.RLock()
_loaded: dict[str, LoadedLibrary] = {}
#: The modules of operators by name, of libraries and of what programs define.
_namespaces: dict[str, Operators] = {}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'tengen.library' has no attribute {name!r}")
    found = getattr(import_module(f"tengen.custom_operators.{_LAZY[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({"LoadedLibrary", "load", "loaded", "opcheck", *_LAZY})


def opcheck(
    op: OpOverload | OpOverloadPacket | CustomOpDef,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = (
        "test_schema",
        "test_autograd_registration",
        "test_faketensor",
        "test_aot_dispatch_dynamic",
    ),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Test what was registered for an operator, on arguments, which are not changed.

    - ``test_schema``: it writes to what its schema says, and returns new memory where that says so;
    - ``test_autograd_registration``: a derivative is registered where gradients flow through the operator;
    - ``test_faketensor``: on tensors without data it returns tensors of the same shapes, strides and dtypes;
    - ``test_aot_dispatch_static`` and ``_dynamic``: ``jit.trace`` records it as one operator, and what is
      recorded gives the same results and gradients, within ``rtol`` and ``atol``. A graph is of one size
      here, so that both are one test.

    The result has for each test ``"SUCCESS"``, or what was raised. Raises OpCheckError where one fails,
    unless ``raise_exception`` is False; ValueError for what is no operator, for unknown tests, and for one of
    the tolerances without the other; RuntimeError for an operator with several overloads, of which none is
    named.
    """
    checks: Any = import_module("tengen.custom_operators.checks")
    found: dict[str, Any] = checks.check(op, args, kwargs or {}, test_utils, raise_exception, atol, rtol)
    return found


@dataclass(frozen=True, slots=True)
class LoadedLibrary:
    """A library that is loaded."""

    name: str
    package: str
    generated: str  # the package of its generated code
    manifest: Any  # the module of what it adds
    operators: ModuleType  # its functions: tengen.ops.NAME

    @property
    def origin(self) -> str:
        """The package, and where it is."""
        module = sys.modules.get(self.package)
        return f"the package {self.package} ({getattr(module, '__file__', None) or 'of no file'})"

    def mixin(self, T: Type) -> type | None:
        """The class with the library's methods for a Type; None where it has none."""
        default = f"{self.generated}.type_default"  # of a backend that it does not know nothing else
        backend = T.backend
        modules = self.manifest.TYPES.get(backend.group or backend.name, (default, default))
        there = vars(import_module(modules[T.recording]))
        # A class that would add nothing is not generated. Other libraries' stand in between.
        own = [c.__name__ for c in type(T).__mro__ if c.__module__ == type(T).__module__]
        found = next((there[name] for name in (*own, "TypeDefault") if name in there), None)
        return found if isinstance(found, type) else None


class Operators(ModuleType):
    """The operators of a library as functions."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the library {self.__name__.rpartition('.')[2]} has no operator {name!r}")


def load(package: str) -> ModuleType:
    """Load the library that a package is; its ``__init__`` calls ``load(__name__)``.

    Returns ``tengen.ops.NAME``, the module of its operators. Loading it again does nothing. ImportError
    where its code is not generated, or was by another version of tengen; RuntimeError where what it
    declares is another library's already. After an error nothing of it is there.
    """
    generated = f"{package}.generated"
    try:
        manifest: Any = import_module(f"{generated}.library")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith(generated):
            raise
        reason = f"the library {package} has no generated code; `tengen gen` in its folder makes it"
        raise ImportError(reason, name=package) from None
    _check_version(package, manifest)
    with _lock:
        known = _loaded.get(manifest.NAME)
        if known is not None and known.package == package:
            return known.operators
        made = LoadedLibrary(manifest.NAME, package, generated, manifest, namespace(manifest.NAME))
        _check_clashes(made)
        _add(made)
        return made.operators


def loaded() -> dict[str, LoadedLibrary]:
    """The libraries that are loaded, by name."""
    return dict(_loaded)


def namespace(name: str) -> Operators:
    """The module ``tengen.ops.NAME``, made if there is none yet."""
    found = _namespaces.get(name)
    if found is None:
        found = _namespaces[name] = Operators(f"tengen.ops.{name}")
    return found


def namespaces() -> dict[str, Operators]:
    """The modules of operators that have some, by name."""
    return {name: module for name, module in _namespaces.items() if name in _loaded or _has_operators(module)}


def _has_operators(module: Operators) -> bool:
    return any([not name.startswith("__") for name in vars(module)])


def _check_version(package: str, manifest: Any) -> None:
    """Generated code depends on the runtime that it was made for."""
    if manifest.TENGEN.split(".")[:2] != __version__.split(".")[:2]:
        raise ImportError(
            f"the library {package} was generated for tengen {manifest.TENGEN}, and this is {__version__}; "
            "`tengen gen` in its folder makes it anew",
            name=package,
        )


def _check_clashes(made: LoadedLibrary) -> None:
    """RuntimeError, naming both, where a loaded library or tengen declares the same."""
    known = _loaded.get(made.name)
    if known is not None:
        raise RuntimeError(f"two libraries are called {made.name!r}: {known.origin} and {made.origin}")
    for other in _loaded.values():
        for what, place in made.manifest.ADDED.items():
            if what in other.manifest.ADDED:
                raise RuntimeError(
                    f"two libraries declare {what}: {other.name} ({other.manifest.ADDED[what]}) "
                    f"and {made.name} ({place})"
                )
    rows = _backends(made)
    for name, row in rows.items():
        for taken, its in BACKENDS.items():
            same = name if name == taken else row["device"] if row["device"] == its["device"] else None
            if same is not None:
                owner = _owner_of_backend(taken)
                raise RuntimeError(f"{owner} and the library {made.name} both declare the backend {same!r}")


def _backends(made: LoadedLibrary) -> dict[str, dict[str, Any]]:
    if not made.manifest.BACKENDS:
        return {}
    rows: dict[str, dict[str, Any]] = import_module(f"{made.generated}.backends").BACKENDS
    return rows


def _owner_of_backend(name: str) -> str:
    owner = next((o.name for o in _loaded.values() if name in o.manifest.BACKENDS), None)
    return "tengen" if owner is None else f"the library {owner}"


def _add(made: LoadedLibrary) -> None:
    functions: Any = import_module(f"{made.generated}.functions")
    names = getattr(functions, "__all__", [])  # a library may have a backend alone
    defined = [name for name in names if hasattr(made.operators, name)]
    if defined:
        raise RuntimeError(
            f"the library {made.name} declares {defined[0]!r}, which the program has defined before "
            f"({made.origin})"
        )
    rows = _backends(made)
    without = frozenset() if rows else frozenset({"backends"})
    library_tables.rows_of(made.generated, without)  # so that nothing is done where one cannot be imported
    extend_types(made.mixin)
    library_tables.add_rows(made.generated, without)
    for name, row in rows.items():
        DEVICES[row["device"]] = name
    vars(made.operators).update({name: getattr(functions, name) for name in names})
    vars(made.operators).update(__all__=list(names), __doc__=f"The operators of the library {made.name}.")
    add_library(made.package)
    library_folders[made.manifest.FOLDER] = made.package
    _loaded[made.name] = made
