"""Library: definitions and functions of operators that are taken back together; ``define`` and ``impl``."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, overload

from tengen.generated.operators import OPERATORS

from ..library import loaded, namespace
from . import keys, schema_rules
from .operator import CustomOperator, Kernel, fallbacks
from .overloads import OpOverload, OpOverloadPacket
from .schemas import parse
from .tags import Tag, as_tags

#: Names that no program's operators have: those of PyTorch's own, and tengen's.
RESERVED: Final = frozenset({"aten", "prim", "prims", "tengen"})

#: The namespaces that are a Library of kind DEF, with the place of its definition.
_owners: dict[str, str] = {}
#: Functions of operators that are not defined yet, by name.
_waiting: dict[str, list[Kernel]] = {}
#: The libraries that functions of this package have made; they live as long as the program.
_kept: list[Library] = []


class Library:
    """Operators that are defined in Python, or functions for some: ``Library("mylib", "DEF")``.

    ``kind`` is ``"DEF"``, of which there is one for a namespace, ``"FRAGMENT"``, a part of one, or
    ``"IMPL"``, which defines nothing. What it has registered is gone when it is collected. ``dispatch_key``
    is what ``impl`` registers for where it is not told. Raises ValueError for another kind and a name that is
    reserved, RuntimeError for a second DEF.
    """

    __module__ = "tengen.library"

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in RESERVED and kind != "IMPL":
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        source = source_of_caller()
        if kind == "DEF":
            _own(ns, source)
        self.ns = ns
        self.kind = kind
        self.dispatch_key = keys.checked(dispatch_key) if dispatch_key else ""
        self._registered: list[Callable[[], None]] = []
        self._finalizer = weakref.finalize(self, _take_back, self._registered)
        self._finalizer.atexit = False
        if kind == "DEF":
            self._registered.append(lambda: _disown(ns, source))

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Tag | Iterable[Tag] = ()) -> str:
        """Define an operator: ``lib.define("foo(Tensor x, *, int n=2) -> Tensor")``.

        Its name is returned, without that of the overload.

        Raises RuntimeError for a schema that cannot be read, and for an operator that is there; ValueError
        for a schema that does not do what ``tags`` say.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        self._check_alive()
        if self.kind == "IMPL":
            name = schema.partition("(")[0]
            raise RuntimeError(
                f'def("{name}"): Cannot define an operator inside of a library of kind IMPL.  All '
                "definitions belong into the library of their namespace that is of the kind DEF, or FRAGMENT."
            )
        return _define(self, schema, as_tags(tags)).signature.name.partition("::")[2]

    def impl(
        self,
        op_name: str | OpOverload,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Register a function as the operator's for a dispatch key.

        Keys are the names of backends, ``"Autograd"``, that with a backend's name,
        ``"CompositeExplicitAutograd"`` for all backends that have none of their own, and
        ``"CompositeImplicitAutograd"``, the default, for what is made of differentiable operators: where a
        backend has no function by the other keys it is run in their place, whatever is there for Autograd.
        Functions for Autograd run where gradients may be recorded, so not in inference mode. With
        ``with_keyset`` the function is given a set with the key before its arguments. The operator may be
        defined later. Raises TypeError for what is no function; RuntimeError for an unknown key, and, without
        ``allow_override``, where there is a function.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key or keys.IMPLICIT
        name = f"{self.ns}::{_name_of(op_name).rpartition('::')[2]}"
        self._check_alive()
        _register(self, name, Kernel(fn, keys.checked(key), with_keyset, source_of_caller()), allow_override)

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Register ``fn(op, *args, **kwargs)`` for the operators that have no function for a key.

        For the namespace ``"_"`` alone, and for operators that programs define. Raises RuntimeError for
        another namespace, AssertionError without a key.
        """
        key = dispatch_key or self.dispatch_key
        if self.ns != "_":
            raise RuntimeError(
                'Fallback can only be registered using library fragment on the global namespace "_" but it '
                f"is {self.ns}"
            )
        if not key:
            raise AssertionError("dispatch_key must not be empty for fallback")
        self._check_alive()
        kernel = Kernel(fn, keys.checked(key), with_keyset, source_of_caller())
        fallbacks[kernel.key] = kernel
        _all_changed()
        self._registered.append(lambda: _drop_fallback(kernel))

    def _destroy(self) -> None:
        """Take back all that it has registered."""
        self._finalizer()

    def _check_alive(self) -> None:
        if not self._finalizer.alive:
            raise AssertionError("Library object has been destroyed")


def _take_back(registered: list[Callable[[], None]]) -> None:
    while registered:
        registered.pop()()


def _own(ns: str, source: str) -> None:
    first = loaded()[ns].origin if ns in loaded() else _owners.get(ns)
    if first is not None:
        raise RuntimeError(
            f"Only a single library of kind DEF can be used to register the namespace {ns}; please put all "
            "of your definitions in a single one.  If you were trying to specify implementations, "
            "consider the kind IMPL (which can be duplicated).  If you really intended to define "
            "operators for a single namespace in a distributed way, you can use FRAGMENT to explicitly "
            f"indicate this.  Previous registration: {first}; latest registration: {source}"
        )
    _owners[ns] = source


def _disown(ns: str, source: str) -> None:
    if _owners.get(ns) == source:
        del _owners[ns]


def _drop_fallback(kernel: Kernel) -> None:
    if fallbacks.get(kernel.key) is kernel:
        del fallbacks[kernel.key]
        _all_changed()


def _all_changed() -> None:
    for made in defined.values():
        made.changed()


# -- definitions -----------------------------------------------------------------------------

#: The operators that the program has defined, by their full names.
defined: dict[str, CustomOperator] = {}


def _define(library: Library, text: str, tags: tuple[Tag, ...]) -> CustomOperator:
    signature = parse(library.ns, text)
    if Tag.out in tags:
        schema_rules.check_out(signature)
        signature = replace(signature, out_variant=True)
    if Tag.inplace in tags:
        schema_rules.check_inplace(signature)
    name = signature.full_name
    if name in OPERATORS:
        raise RuntimeError(
            f"Tried to register an operator ({signature}) with the same name and overload name multiple "
            "times. Each overload's schema should only be registered with a single call to define()."
        )
    module = namespace(library.ns)
    function = signature.name.partition("::")[2]
    packet = vars(module).get(function)
    if packet is not None and not isinstance(packet, OpOverloadPacket):
        raise RuntimeError(f"the library {library.ns} has an operator {function!r}, which it declares")
    made = CustomOperator(signature, tags)
    defined[name] = made
    if packet is None:
        packet = OpOverloadPacket(library.ns, function)
        setattr(module, function, packet)
    packet.add(made)
    for kernel in _waiting.pop(name, ()):
        made.add_kernel(kernel)
    library._registered.append(lambda: _undefine(made))
    return made


def _undefine(made: CustomOperator) -> None:
    if defined.get(made.name) is not made:
        return
    del defined[made.name]
    made.remove()
    ns, _, function = made.function.partition("::")
    module = namespace(ns)
    if vars(module)[function].discard(made.overload):
        delattr(module, function)


def _register(library: Library, name: str, kernel: Kernel, allow_override: bool) -> None:
    found = defined.get(name)
    if found is None:
        if name in OPERATORS or library.ns in RESERVED:
            raise RuntimeError(
                f"{name} is a declared operator: its kernels are declared too. A library's kernels.yaml "
                "declares more for a backend that lacks one."
            )
        waiting = _waiting.setdefault(name, [])
        waiting.append(kernel)
    else:
        function = name.partition("::")[2]
        if not allow_override and found.newest(kernel.key) is not None:
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python overriding "
                f"{function}'s behavior for {kernel.key} dispatch key and {library.ns} namespace."
            )
        if keys.is_without_data(kernel.key) and found.newest(keys.IMPLICIT) is not None:
            raise RuntimeError(
                f"We should not register a meta kernel directly to the operator '{function}', because it "
                "has a CompositeImplicitAutograd kernel in core. Instead we should let the operator "
                "decompose, and ensure that we have meta kernels for the base ops that it decomposes into."
            )
        found.add_kernel(kernel)
    library._registered.append(lambda: _unregister(name, kernel))


def _unregister(name: str, kernel: Kernel) -> None:
    found = defined.get(name)
    if found is not None:
        found.remove_kernel(kernel)
    elif kernel in _waiting.get(name, ()):
        _waiting[name].remove(kernel)


def find(name: str) -> CustomOperator:
    """The operator that the program has defined under a full name; AttributeError where it has not."""
    parse_namespace(name)
    found = defined.get(name.removesuffix(".default"))
    if found is None:
        ns, _, function = name.partition("::")
        raise AttributeError(f"the library {ns} has no operator {function!r} that was defined in Python")
    return found


def _name_of(given: Any) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, OpOverload):
        return given.name()
    raise RuntimeError(
        "impl should be passed either a name or an OpOverload object as the first argument, got "
        f"{type(given)}"
    )


def source_of_caller() -> str:
    """Where the program called this package: ``file:line``."""
    from ..core.user_stack import program_frames

    frame = next(program_frames(), sys._getframe(0))
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def parse_namespace(qualname: str) -> tuple[str, str]:
    """``ns::name`` in two; ValueError for a name that is not so."""
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname '
            "passed to the tengen.library APIs must consist of a namespace and a name, e.g. mylib::sin"
        )
    return parts[0], parts[1]


def library_for(ns: str, lib: Library | None) -> Library:
    """The library that was given, or one that lives as long as the program."""
    if lib is None:
        lib = Library(ns, "FRAGMENT")
        _kept.append(lib)
    return lib


# -- define and impl --------------------------------------------------------------------------


@overload
def define(
    qualname: str, schema: str, *, lib: Library | None = None, tags: Tag | Iterable[Tag] = ()
) -> None: ...
@overload
def define(
    qualname: Library, schema: str, alias_analysis: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def define(
    qualname: str | Library,
    schema: str,
    alias_analysis: str = "",
    *,
    lib: Library | None = None,
    tags: Tag | Iterable[Tag] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]] | None:
    """Define an operator: ``define("mylib::foo", "(Tensor x) -> Tensor")``.

    It lives as long as ``lib``, if that is given. With a Library in place of the name, and the name in the
    schema, it decorates the operator's function. Raises ValueError for a name without a namespace and a
    schema that does not look like one; else as ``Library.define``.
    """
    if isinstance(qualname, Library):
        library = qualname
        library.define(schema, alias_analysis)
        defined_name = schema.partition("(")[0].strip()

        def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
            library.impl(defined_name, function)
            return function

        return wrap
    if not isinstance(qualname, str):
        raise ValueError(
            f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}"
        )
    ns, name = parse_namespace(qualname)
    if not (schema.startswith("(") and ") -> " in schema):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}"'
        )
    library_for(ns, lib).define(name + schema, tags=tags)
    return None


def impl(
    qualname: str | Library,
    types: str | Sequence[str],
    func: Any = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Register a function for an operator: ``impl("mylib::foo", "cpu", f)``, or as a decorator without it.

    ``types`` are kinds of devices, ``"default"`` for all of them, or dispatch keys. It counts as long as
    ``lib`` lives, if that is given. With a Library in place of the name, ``types`` is the name and ``func``
    the key.
    """
    if isinstance(qualname, Library):
        library, op_name, key = qualname, str(types), func or ""

        def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
            library.impl(op_name, function, key)
            return function

        return wrap
    kinds = (types,) if isinstance(types, str) else tuple(types)
    found = dict.fromkeys([_key_of(kind) for kind in kinds])
    ns, _ = parse_namespace(qualname)

    def register(function: Callable[..., Any]) -> None:
        library = library_for(ns, lib)
        for key in found:
            library.impl(qualname, function, key)

    return register if func is None else register(func)


def _key_of(kind: str) -> str:
    if keys.is_key(kind):
        return kind
    return keys.EXPLICIT if kind == "default" else keys.key_of_device(kind)
