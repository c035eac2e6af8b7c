"""``jit``: functions of tensors, compiled by XLA."""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import jax

from ..array_libraries.jax import is_traced
from ..array_libraries.jax_random import default_source
from ..autograd.grad_mode import grad_mode
from ..autograd.writes import replace
from ..core.scalar_type import get_default_dtype
from ..core.storage import begin_write
from ..core.tensor_base import TensorBase
from ..dispatch.legacy_type_dispatch import type_of
from ..optim.optimizer import Optimizer
from ..utils.pytree import tree_flatten, tree_unflatten
from .arrays import DEVICE, described, is_tensor
from .captures import Captures
from .state import Roots, Traced, put, state_on

Numbers = int | Iterable[int] | None
Names = str | Iterable[str] | None


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: Numbers = None,
    static_argnames: Names = None,
    donate_argnums: Numbers = None,
    donate_argnames: Names = None,
) -> Any:
    """The function ``fun`` of tensors on ``jax``, compiled by XLA; without ``fun`` what decorates one.

    Arguments and results are tensors on ``jax`` and trees of them. Arguments may also be modules and
    optimisers, which bring their tensors, and generators on ``jax``. What the function writes to these is
    written in each call, ``grad`` and the states of optimisers too, as without ``jit``; all else that it does
    to Python's objects happens once, while it is traced. Results have no history: derivatives are taken
    inside.

    It is traced and compiled for each combination of shapes, dtypes, and of values that are no tensors.
    Arguments by the positions ``static_argnums``, or by name, are such values as a whole, and hashable. The
    memory of the tensors of ``donate_argnums`` may be used for results: these tensors have no elements
    afterwards, unless they are written to.

    In a call, TypeError for tensors that are not on ``jax`` and for values that are not hashable;
    TracedValueError where the function asks for values of tensors; RuntimeError for a tensor with a history,
    one that is wrapped by ``tengen.func``, views of one memory, and writes to tensors that no argument
    brings. ValueError for positions and names that the function has not. Whatever is raised while it is
    traced leaves all tensors as they were.
    """
    options = (static_argnums, static_argnames, donate_argnums, donate_argnames)
    if fun is None:
        return lambda function: Compiled(function, *options)
    return Compiled(fun, *options)


class _Call(threading.local):
    """What is being called, for the trace of it."""

    roots: Roots
    arguments: tuple[tuple[Any, ...], dict[str, Any]]


class _Trace:
    """One compiled form of a function, and what becomes of its outputs."""

    __slots__ = ("filled", "keys", "objects", "results", "run", "spec", "written")

    #: The compiled function of the donated arrays, and of the others.
    run: Any
    #: The modules and optimisers of which it is.
    objects: list[weakref.ref[Any]]

    #: What each leaf of the result is: the number of an argument's tensor, that of an output, or a value.
    results: list[tuple[str, Any]]
    spec: Any
    #: (number of the tensor, number of the output) of what is written, and of the generators' keys.
    written: list[tuple[int, int]]
    keys: list[tuple[int, int]]
    #: (number of the place among all that the arguments have, or the place itself, and what is put there).
    filled: list[tuple[Any, tuple[str, Any]]]


class Compiled:
    """A function that ``jit`` compiles; ``__wrapped__`` is the function itself."""

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnums: Numbers,
        static_argnames: Names,
        donate_argnums: Numbers,
        donate_argnames: Names,
    ) -> None:
        if not callable(function):
            raise TypeError(f"jit(): argument 'fun' must be callable, not {described(function)}")
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._names, self._rest = _parameters(function)
        self._static = self._chosen("static", static_argnums, static_argnames)
        self._donated = self._chosen("donate", donate_argnums, donate_argnames)
        self._traces: dict[Any, _Trace] = {}
        self._call = _Call()

    def _chosen(self, kind: str, numbers: Numbers, names: Names) -> frozenset[Any]:
        """Positions and names, both if an argument has both. ValueError for what the function has not."""
        positions = [] if numbers is None else [numbers] if isinstance(numbers, int) else list(numbers)
        given = [] if names is None else [names] if isinstance(names, str) else list(names)
        known = self._names
        if known is None:
            return frozenset((*positions, *given))
        found: set[Any] = set()
        for position in positions:
            place = position + len(known) if position < 0 else position
            if not 0 <= place < len(known) and not (place >= 0 and self._rest[0]):
                raise ValueError(
                    f"jit(): {kind}_argnums has {position}, but there are {len(known)} arguments"
                )
            found.update((place, known[place]) if place < len(known) else (place,))
        for name in given:
            if name not in known and not self._rest[1]:
                raise ValueError(f"jit(): {kind}_argnames has {name!r}, which is no argument of the function")
            found.update((known.index(name), name) if name in known else (name,))
        return frozenset(found)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        roots = self._roots(args, kwargs)
        key = roots.key()
        trace = self._traces.get(key)
        if trace is None or not _alive(trace, roots):
            trace = self._traces[key] = self._traced(roots)
        call = self._call
        outer = call.__dict__.get("roots"), call.__dict__.get("arguments")
        call.roots, call.arguments = roots, (args, kwargs)
        try:
            outputs = trace.run(*roots.arrays())
        except BaseException:
            if not hasattr(trace, "spec"):
                del self._traces[key]
            raise
        finally:
            call.roots, call.arguments = outer  # type: ignore[assignment]
        return _applied(trace, roots, outputs)

    def _roots(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Roots:
        roots = Roots()
        roots.signs += (grad_mode.enabled, grad_mode.inference, get_default_dtype(), len(args))
        static, donated, names = self._static, self._donated, self._names or ()
        for position, value in enumerate(args):
            name = names[position] if position < len(names) else str(position)
            if position in static:
                roots.static(value, name)
            else:
                roots.add(value, name, position in donated)
        for name, value in kwargs.items():
            roots.signs.append(name)
            if name in static:
                roots.static(value, name)
            else:
                roots.add(value, name, name in donated)
        if default_source.generator is not None:
            roots.generator(default_source.generator)
        return roots

    def _traced(self, roots: Roots) -> _Trace:
        """A new trace, which is made when it runs first."""
        trace = _Trace()
        trace.objects = roots.objects()

        def run(donated: list[Any], kept: list[Any]) -> list[Any]:
            current = self._call
            args, kwargs = current.arguments
            arrays, keys = current.roots.merged(donated, kept)
            captures = Captures()
            with Traced(current.roots, arrays, keys) as traced:
                try:
                    with captures:
                        result = self._function(*args, **kwargs)
                    captures.check()
                    return _outlined(trace, traced, result)
                except BaseException:
                    _quietly(captures.check)
                    raise

        run.__name__ = getattr(self._function, "__name__", "compiled")
        trace.run = jax.jit(run, donate_argnums=(0,))
        return trace


def _quietly(check: Callable[[], None]) -> None:
    with suppress(RuntimeError):
        check()


def _parameters(function: Callable[..., Any]) -> tuple[tuple[str, ...] | None, tuple[bool, bool]]:
    """The names of positional parameters, and whether any number of more are taken, and any names.

    None where they are not known.
    """
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None, (True, True)
    kinds = {p.kind for p in found}
    names = tuple([p.name for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)])
    return names, (inspect.Parameter.VAR_POSITIONAL in kinds, inspect.Parameter.VAR_KEYWORD in kinds)


def _alive(trace: _Trace, roots: Roots) -> bool:
    """Whether a trace is of the same modules and optimisers, not of others that have their ``id`` now."""
    owners = (*roots.modules, *roots.optimisers)
    return all([ref() is each for ref, each in zip(trace.objects, owners, strict=True)])


def _outlined(trace: _Trace, traced: Traced, result: Any) -> list[Any]:
    """The outputs of the traced function; ``trace`` is told what becomes of each."""
    roots = traced.roots
    outputs: list[Any] = []
    known: dict[int, tuple[str, Any]] = {id(t): ("argument", i) for i, t in enumerate(roots.tensors)}

    def output(array: Any) -> int:
        outputs.append(array)
        return len(outputs) - 1

    def content(value: Any) -> tuple[str, Any]:
        if not isinstance(value, TensorBase):
            if is_traced(value):
                raise TypeError("jit(): a result is an array of JAX's: tengen.jax.from_jax makes it a tensor")
            return "value", value
        found = known.get(id(value))
        if found is None:
            if not is_tensor(value):
                raise TypeError(f"jit(): a result is {described(value)}, not on jax")
            if value._wraps:
                raise RuntimeError("jit(): a result is a tensor of a transform of tengen.func that is over")
            plain = type_of(value._type.scalar_type, DEVICE)
            found = known[id(value)] = ("output", (output(value._array), plain))
        return found

    leaves, spec = tree_flatten(result)
    results = [content(leaf) for leaf in leaves]
    filled = []
    for (owner, name), value in traced.filled():
        if isinstance(owner, Optimizer) and isinstance(value, TensorBase) and not is_tensor(value):
            raise TypeError(f"jit(): {state_on(owner, name[1], value)}, not on jax")
        filled.append((_numbered(roots, (owner, name)), content(value)))
    trace.written = [(i, output(roots.tensors[i]._array)) for i in traced.written()]
    changed = [i for i, g in enumerate(roots.generators) if g.source.key is not traced.keys[i]]
    trace.keys = [(i, output(roots.generators[i].source.key)) for i in changed]
    trace.results, trace.filled, trace.spec = results, filled, spec
    return outputs


def _numbered(roots: Roots, place: Any) -> tuple[Any, Any, Any]:
    """A place by numbers of what the arguments bring, the same in each call."""
    owner, name = place
    if isinstance(owner, TensorBase):
        return "grad", roots.numbers[id(owner)], None
    if isinstance(owner, Optimizer):
        return "state", roots.optimisers.index(owner), (roots.numbers[id(name[0])], name[1])
    for i, module in enumerate(roots.modules):
        for members in ("_parameters", "_buffers"):
            if getattr(module, members) is owner:
                return members, i, name
    raise AssertionError("the place is none of the arguments'")


def _place(roots: Roots, numbered: tuple[Any, Any, Any]) -> Any:
    kind, number, name = numbered
    if kind == "grad":
        return roots.tensors[number], None
    if kind == "state":
        return roots.optimisers[number], (roots.tensors[name[0]], name[1])
    return getattr(roots.modules[number], kind), name


def _applied(trace: _Trace, roots: Roots, outputs: list[Any]) -> Any:
    """The results; what the function wrote is written."""
    made: dict[int, Any] = {}

    def content(told: tuple[str, Any]) -> Any:
        kind, what = told
        if kind == "argument":
            return roots.tensors[what]
        if kind == "value":
            return what
        number, type = what
        found = made.get(number)
        if found is None:
            found = made[number] = type.wrap(outputs[number])
        return found

    for number, output in trace.written:
        begin_write(roots.tensors[number])
        replace(roots.tensors[number], outputs[output])
    for number, output in trace.keys:
        roots.generators[number].source.key = outputs[output]
    for place, told in trace.filled:
        put(_place(roots, place), content(told))
    return tree_unflatten([content(told) for told in trace.results], trace.spec)
