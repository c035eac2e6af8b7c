"""Function overrides: finding the arguments that take over a call, and letting them.

A class with ``__tengen_function__`` is asked when one of its instances is among the arguments of a public
function or method. Plain tensors are told by their class, so that calls without such arguments, in which
nothing is entered into ``active``, never come here. ``tengen.overrides`` is what users see of this.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from types import CodeType, FunctionType, TracebackType
from typing import Any, Final, TypeVar

from .interception import active
from .package_name import package
from .tensor_base import declare_tensor
from .thread_state import propagated
from .user_stack import program_stacklevel

_F = TypeVar("_F")
#: CO_VARARGS and CO_VARKEYWORDS: importing inspect for them would take longer than all of this.
_LOOSE: Final = 0x04 | 0x08
#: What ``dispatch`` returns when nobody takes over the call.
UNHANDLED: Final = object()

#: How much is disabled: nothing, the overrides of arguments, these and the modes.
ENABLED, NO_ARGUMENTS, NOTHING = range(3)


class _State(threading.local):
    """What a thread has disabled, and its modes, the newest last."""

    level = ENABLED
    modes: tuple[Any, ...] = ()
    #: While the engine runs, which nothing overrides: what was disabled outside of it.
    outside: int | None = None


state = propagated(_State())

#: The classes of plain tensors, which override nothing: bindings pass such arguments on as they are.
plain: set[Any] = set()
#: Classes without overrides that are met often, those of plain tensors among them.
without_overrides: set[type] = {bool, int, float, complex, str, bytes, slice, type(None), type(...)}


Tensor: Any = None  # until it is defined
declare_tensor(globals())
#: What tells the public names of functions.
_names: list[Callable[[Any], str | None]] = []


def register_names(name_of: Callable[[Any], str | None]) -> None:
    """Register what tells the public name of a function, or None: for messages."""
    _names.append(name_of)


class Overridden(Exception):
    """No error: an argument that overrides functions was met while arguments were converted."""


class _Level:
    """A context of this thread, behind which the level is what it was before."""

    __slots__ = ("before",)
    before: int

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state.level = self.before


class at_level(_Level):
    """``with at_level(level):`` disables that much in this thread; levels only rise when they nest."""

    __slots__ = ("level",)

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> None:
        self.before = state.level
        state.level = max(self.before, self.level)


class users_level(_Level):
    """``with users_level():`` the engine calls what a user wrote: overrides are as outside of it."""

    __slots__ = ()

    def __enter__(self) -> None:
        self.before = state.level
        if state.outside is not None:
            state.level = state.outside


def enter_engine() -> tuple[int, int | None]:
    """The engine begins: formulas are not overridden. What is returned ``state`` has again at its end."""
    before = state.level, state.outside
    state.level, state.outside = NOTHING, before[0]
    return before


class _DisabledImpl:
    """The type of ``disabled_impl``: no function, which would be bound to instances."""

    __slots__ = ()

    def __call__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        with at_level(NO_ARGUMENTS):
            return func(*args, **(kwargs or {}))

    def __repr__(self) -> str:
        return "<tengen.overrides._disabled_tengen_function_impl>"


#: The ``__tengen_function__`` of classes that take no part: functions of them have plain results.
disabled_impl: Final = _DisabledImpl()


# -- who takes over ----------------------------------------------------------------------


def handler_of(value: Any) -> Any:
    """The ``__tengen_function__`` of an argument; None when it has none, or one that was opted out of."""
    if value.__class__ in without_overrides or isinstance(value, type):
        return None
    found = getattr(value, "__tengen_function__", None)
    if found is None and package.name != "tengen":
        found = getattr(value, "__torch_function__", None)
    return None if found is disabled_impl else found


def overrides(value: Any) -> bool:
    """Whether ``value``, no plain tensor, takes over the functions that it is an argument of."""
    return state.level == ENABLED and handler_of(value) is not None


def overloaded(arguments: Iterable[Any]) -> list[Any]:
    """The arguments to be asked, one of each class: from left to right, but subclasses first.

    Elements of lists and tuples count as arguments.
    """
    found: list[Any] = []
    for value in arguments:
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if each.__class__ not in without_overrides and handler_of(each) is not None:
                _insert(found, each)
    return found


def _insert(found: list[Any], value: Any) -> None:
    kind = type(value)
    place = len(found)
    for position, other in enumerate(found):
        if type(other) is kind:
            return
        if place == len(found) and issubclass(kind, type(other)):
            place = position
    found.insert(place, value)


# -- the call ------------------------------------------------------------------------------


def dispatch(
    public: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], relevant: list[Any] | None = None
) -> Any:
    """The result of the mode or the argument that takes over a call of ``public``; else UNHANDLED.

    ``public`` is the function that was called, or the name of the method of Tensor; ``relevant`` are the
    arguments to be asked, where these are not to be looked for. TypeError when all that were asked returned
    NotImplemented.
    """
    level = state.level
    if level == NOTHING:
        return UNHANDLED
    modes = state.modes
    asked: list[Any] = []
    if level == ENABLED:
        asked = overloaded((*args, *kwargs.values())) if relevant is None else relevant
    if not modes and not asked:
        return UNHANDLED
    if public.__class__ is str:
        public = getattr(Tensor, public)
    types = tuple([type(value) for value in asked])
    if modes:
        state.modes = modes[:-1]
        try:
            result = modes[-1].__tengen_function__(public, types, args, dict(kwargs))
        finally:
            state.modes = modes
        if result is not NotImplemented:
            return result
    for value in asked:
        result = _handler(value)(public, types, args, dict(kwargs))
        if result is not NotImplemented:
            return result
    raise nobody(public, modes, asked)


def _handler(value: Any) -> Any:
    found = handler_of(value)
    if getattr(found, "__self__", None) is value:
        warnings.warn(
            "Defining your `__tengen_function__` as a plain method is deprecated and will be an error in "
            "future, please define it as a classmethod.",
            DeprecationWarning,
            stacklevel=program_stacklevel(),
        )
    return found


def nobody(public: Any, modes: tuple[Any, ...], asked: list[Any]) -> TypeError:
    """The error of a call that everybody who was asked refused."""
    lines = [f"  - mode object {modes[-1]!r}"] if modes else []
    for value in asked:
        kind = type(value)
        what = "tensor subclass" if issubclass(kind, Tensor) else "object of"
        lines.append(f"  - {what} {kind!r}")
    return TypeError(
        f"Multiple dispatch failed for '{public_name(public)}'; all __tengen_function__ handlers returned "
        "NotImplemented:\n\n" + "\n".join(lines)
    )


def public_name(public: Any) -> str:
    """``tengen.add`` and the like, for messages."""
    known = (found for name_of in _names if (found := name_of(public)) is not None)
    name: str = next(known, None) or getattr(public, "__qualname__", None) or repr(public)
    return name


def dispatch_bound(
    public: Any, args: tuple[Any, ...], keywords: Mapping[str, Any], relevant: list[Any] | None = None
) -> Any:
    """As ``dispatch``, from inside a binding: without the arguments that only its defaults have given."""
    binding = _method(public) if public.__class__ is str else public
    given = getattr(binding, "__kwdefaults__", None) or {}
    keywords = {k: v for k, v in keywords.items() if k not in given or v is not given[k]}
    defaults = getattr(binding, "__defaults__", None) or ()
    if defaults and len(args) == binding.__code__.co_argcount:
        kept = len(args)
        for value, default in zip(reversed(args), reversed(defaults), strict=False):
            if value is not default:
                break
            kept -= 1
        args = args[:kept]
    return dispatch(public, args, keywords, relevant)


def _method(name: str) -> Any:
    """What plain tensors have under this name, as it is."""
    return next((k.__dict__[name] for k in Tensor.__mro__ if name in k.__dict__), None)


# -- functions written by hand -----------------------------------------------------------------

#: Those that arguments can take over.
overridable_functions: set[Any] = set()


def overridable(function: Any) -> Any:
    """A function written by hand as users call it: arguments and modes may take it over.

    The wrapper tests what the annotations say are tensors, and nothing else, so it is made for the
    function. Where nothing is a tensor only modes take it over.
    """
    code = function.__code__
    if code.co_flags & _LOOSE:
        return loosely_overridable(function)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    annotations = function.__annotations__
    tests = [test for n in names if (test := _is_plain(n, annotations.get(n)))]
    scope: dict[str, Any] = {
        "__name__": function.__module__,
        "active": active,
        "plain": plain,
        "function": function,
        "dispatch": dispatch_bound if tests else _dispatch_to_modes,
        "UNHANDLED": UNHANDLED,
        "compile_wrapper": partial(_compile_wrapper, tests),
    }
    names_taken = scope.keys() & set(names)
    if names_taken:
        raise ValueError(f"{function.__name__}(): the wrapper has names of its own: {names_taken}")
    scope["public"] = made = FunctionType(_first_call.__code__, scope)
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    if tests:
        overridable_functions.add(made)
    return wraps(function)(made)


def _first_call(*args: Any, **keywords: Any) -> Any:
    """The code of a wrapper until it is called: to compile all at once would make the import longer."""
    public.__code__ = compile_wrapper(function.__code__)  # type: ignore[name-defined] # noqa: F821
    return public(*args, **keywords)  # type: ignore[name-defined] # noqa: F821


def _compile_wrapper(tests: list[str], code: CodeType) -> CodeType:
    """The code of the wrapper of a function with this code, which makes the tests."""
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    positional, keyword = names[: code.co_argcount], names[code.co_argcount :]
    given = ", ".join([*positional, *[f"{n}={n}" for n in keyword]])
    loose = "".join([f"{n}, " for n in positional])
    named = ", ".join([f'"{n}": {n}' for n in keyword])
    source = (
        f"def public({', '.join([*positional, *(['*'] if keyword else []), *keyword])}):\n"
        f"    if {' and '.join(['not active', *tests])}:\n"
        f"        return function({given})\n"
        f"    result = dispatch(public, ({loose}), {{{named}}})\n"
        f"    return function({given}) if result is UNHANDLED else result\n"
    )
    scope: dict[str, Any] = {}
    exec(source, scope)
    made: CodeType = scope["public"].__code__
    return made


def loosely_overridable(function: _F) -> _F:
    """As ``overridable``, for functions that take loose arguments or such of many kinds: it looks at all."""
    run: Any = function

    @wraps(run)
    def public(*args: Any, **kwargs: Any) -> Any:
        if not active:
            for value in (*args, *kwargs.values()):
                if value.__class__ not in without_overrides:
                    break
            else:
                return run(*args, **kwargs)
        result = dispatch(public, args, kwargs)
        return run(*args, **kwargs) if result is UNHANDLED else result

    made: Any = public
    overridable_functions.add(made)
    return made  # type: ignore[no-any-return]


def _dispatch_to_modes(public: Any, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    return dispatch_bound(public, args, keywords, [])


def _is_plain(name: str, annotation: Any) -> str:
    """The test that an argument overrides nothing; empty for what is no tensor."""
    kinds = {part.strip() for part in str(annotation).split("|")}
    if "Tensor" not in kinds:
        return ""
    test = f"{name}.__class__ in plain"
    return test if kinds == {"Tensor"} else f"({name} is None or {test})"


def make_overridable(namespace: dict[str, Any], *names: str) -> None:
    """Replace functions of a module that others import from by such that can be taken over.

    These are those written by hand that take or return tensors, as their annotations say, and ``names``,
    for which annotations do not say it. Pickles name them as the module's, or ``tengen``'s.
    """
    home = namespace["__name__"].removesuffix(".namespace")
    for name, found in list(namespace.items()):
        if name in names:
            namespace[name] = loosely_overridable(found)
            namespace[name].__module__ = home
        elif (
            isinstance(found, FunctionType)
            and not name.startswith("_")
            and not found.__module__.startswith("tengen.generated.")
            and any([_is_plain("", a) for a in found.__annotations__.values()])
        ):
            namespace[name] = overridable(found)
            namespace[name].__module__ = home
