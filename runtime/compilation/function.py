"""Compiled functions: which program a call runs, and calls that are made as written, to be traced."""

from __future__ import annotations

import functools
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.interception import active
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_stacklevel, warn_once
from ..random import default_generator
from ..utils.pytree import tree_flatten
from . import native
from .entries import TENSOR, Entry, Signature, Stage, alike
from .executable import Failed
from .history import History
from .recorder import Recorded, Unsuitable, recorded, unsuitable
from .stances import stance
from .state import State, TooMuch, described
from .traces import traced

#: How often a program fails before the function is called as it is written.
MOST_FAILURES = 8
#: How many kinds of calls a function has programs for, by default.
LIMIT = 8


#: All compiled functions, of which ``reset`` forgets the programs.
functions: weakref.WeakSet[Compiled] = weakref.WeakSet()


class Compiled:
    """A function whose calls run programs of machine code; ``__wrapped__`` is the function itself."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._fullgraph: bool = options.get("fullgraph", False)
        self._limit: int = options.get("limit", LIMIT)
        self._check: str = options.get("check", "first")
        self.entries: list[Entry] = []
        self._lock = threading.RLock()
        functions.add(self)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        function = self._function
        if active or stance.name != "default":
            return self._with_stance(args, keywords)
        leaves, spec = None, None
        for entry in self.entries:
            if entry.guard is not None and entry.signature.is_flat:
                if keywords or len(args) != entry.signature.spec:
                    continue
                tensors = [*args, *entry.own]
                if entry.guard.fits(tensors) and entry.signature.has_modes():
                    return self._ready(entry, tensors, args, keywords)
            if leaves is None:
                leaves, spec = flattened(args, keywords)
            if entry.signature.fits(leaves, spec) and not entry.objection():
                if entry.stage is Stage.EAGER:
                    entry.repeat()
                    return function(*args, **keywords)
                return self._called(entry, leaves, args, keywords)
        if leaves is None:
            leaves, spec = flattened(args, keywords)
        if len(self.entries) >= self._limit or sys.getprofile() is not None:  # of which there can be one
            return function(*args, **keywords)
        return self._traced(leaves, spec, args, keywords)

    def _with_stance(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """A call inside a transform or another trace, or with another stance than the default one."""
        function = self._function
        if active or stance.is_eager:
            return function(*args, **keywords)
        leaves, spec = flattened(args, keywords)
        known = any([e.signature.fits(leaves, spec) and not e.objection() for e in self.entries])
        if not known and self.entries:
            if stance.fails_anew:
                raise RuntimeError(
                    f"compile: {self._name} has no program for this call: {self.why(leaves, spec)}"
                )
            if stance.is_eager_anew:
                return function(*args, **keywords)
        name, stance.name = stance.name, "default"
        try:
            return self(*args, **keywords)
        finally:
            stance.name = name

    def why(self, leaves: Sequence[Any], spec: Any) -> str:
        """Why the newest program is none for a call."""
        entry = self.entries[-1]
        return (
            entry.objection() if entry.signature.fits(leaves, spec) else "its arguments are of another kind"
        )

    def reset(self) -> None:
        """Forget all programs."""
        with self._lock:
            self.entries.clear()

    # -- calls

    def _called(self, entry: Entry, leaves: Sequence[Any], args: Any, keywords: Any) -> Any:
        if entry.stage is Stage.TRIED or self._check == "always":
            return self._tried(entry, leaves, args, keywords)
        return self._ready(entry, entry.tensors(leaves), args, keywords)

    def _ready(self, entry: Entry, tensors: list[Any], args: Any, keywords: Any) -> Any:
        """The result by the program."""
        if entry.written and overlap(tensors, entry.written):
            return self._function(*args, **keywords)
        before = default_generator.get_state() if entry.random else None
        try:
            found = self._results(entry, tensors)
        except Failed:  # the function says what is wrong
            if before is not None:
                default_generator.set_state(before)
            entry.failures += 1
            if entry.failures > MOST_FAILURES:
                self._give_up(entry, "its program fails again and again: sizes follow from elements")
            return self._function(*args, **keywords)
        return found[0] if entry.single else entry.put(found)

    @staticmethod
    def _results(entry: Entry, tensors: list[Any]) -> Sequence[Any]:
        run = entry.trace if entry.history is None else entry.history
        assert run is not None
        return run(tensors)

    def _tried(self, entry: Entry, leaves: Sequence[Any], args: Any, keywords: Any) -> Any:
        """The result by the function, with which that of the program is compared."""
        before, tensors = default_generator.get_state(), entry.tensors(leaves)
        if entry.written and overlap(tensors, entry.written):
            return self._function(*args, **keywords)
        own = [t.clone() if i in entry.written else t for i, t in enumerate(tensors)]
        result = self._function(*args, **keywords)
        after = default_generator.get_state()
        problem = entry.objection()
        if problem:
            entry.state = None  # it is so in any call
            self._give_up(entry, f"each call changes what the next one reads: {problem}")
            return result
        problem = self._differs(entry, own, result, before, after)
        problem = problem or difference([tensors[i] for i in entry.written], [own[i] for i in entry.written])
        if problem:
            self._give_up(entry, problem, warns=True)
        else:
            entry.stage = Stage.READY
            if self._check != "always":
                entry.watch()
        return result

    def _differs(self, entry: Entry, tensors: list[Any], result: Any, before: Any, after: Any) -> str:
        """How the program's result of tensors differs from the function's; "" if it does not.

        ``before`` and ``after`` are states of the generator, around the call of the function.
        """
        default_generator.set_state(before)
        try:
            found = entry.put(self._results(entry, tensors))
        except Failed:
            return "the program fails where the function does not"
        same = bool((default_generator.get_state() == after).all())
        default_generator.set_state(after)
        return difference(result, found) if same else "the program draws other random numbers"

    def _give_up(self, entry: Entry, reason: str, warns: bool = False) -> None:
        entry.stage, entry.reason = Stage.EAGER, reason
        entry.trace = entry.history = entry.guard = None
        if self._fullgraph:
            raise RuntimeError(f"compile: {self._name} cannot be one program: {reason}")
        if warns:
            warnings.warn(
                f"tengen.compile: {self._name} is called as it is written, for its program differs: {reason}",
                stacklevel=program_stacklevel(),
            )

    @property
    def _name(self) -> str:
        return getattr(self._function, "__qualname__", type(self._function).__name__)

    # -- traces

    def _traced(self, leaves: Sequence[Any], spec: Any, args: Any, keywords: Any) -> Any:
        """The result by the function, whose call is traced."""
        signature = Signature(leaves, spec)
        entry = Entry(signature)
        inputs = signature.inputs(leaves)
        problem = next(filter(None, map(unsuitable, inputs)), "")
        if problem or not native.is_there():
            entry.reason = f"it is given {problem}" if problem else native.MISSING
            if not problem:
                warn_once("compile", f"tengen.compile calls functions as they are written: {native.MISSING}")
            self.entries.append(entry)
            return self._function(*args, **keywords)
        before = default_generator.get_state()
        call = recorded(self._function, args, keywords, inputs)
        after = default_generator.get_state()
        with self._lock:
            self.entries.append(entry)
            try:
                self._compile(entry, call, leaves, inputs)
                if not entry.written:
                    tensors = entry.tensors(leaves)
                    problem = self._differs(entry, tensors, call.result, before, after)
                if problem:
                    self._give_up(entry, problem, warns=True)
            except Unsuitable as error:
                self._give_up(entry, str(error))
            except Exception as error:  # of what is computed of the call, which itself is done
                self._give_up(entry, f"{type(error).__name__}: {error}")
            finally:
                default_generator.set_state(after)
        return call.result

    def _compile(self, entry: Entry, call: Recorded, leaves: Sequence[Any], inputs: Sequence[Any]) -> None:
        """Make the entry's program. Unsuitable where there can be none."""
        entry.state = State()
        try:
            entry.state.reach(
                [self._function, *[value for _, value in entry.signature.plain]], call.watch.codes
            )
        except TooMuch as error:
            entry.state = None
            raise Unsuitable(f"it reaches {error}") from None
        if call.graph is None:
            raise Unsuitable(call.problems[0])
        if [described(t) for t in inputs] != entry.signature.tensors:
            raise Unsuitable("it changes what a tensor is that it is given")
        given = [leaf for leaf in call.leaves if isinstance(leaf, TensorBase)]
        outputs = call.outputs
        numbers = {id(tensor): number for number, tensor in enumerate(outputs)}
        entry.order = [numbers[id(tensor)] for tensor in given]
        entry.random = any([node.random for node in call.graph.walk()])
        held = [c.tensor for c in call.graph.constants]
        known = [*inputs, *entry.state.reached]
        if any([all([tensor is not each for each in known]) for tensor in call.written]):
            raise Unsuitable("it writes to a tensor that it makes of Python's numbers")
        for tensor in (*inputs, *held, *outputs):
            problem = unsuitable(tensor)
            if problem:
                raise Unsuitable(f"it uses {problem}")
        entry.result, entry.spec = result_of(call), call.spec
        entry.single = isinstance(call.result, TensorBase)
        entry.hold(held)
        tensors = [*inputs, *held]
        numbers = {id(tensor): number for number, tensor in enumerate(tensors)}
        entry.written = [numbers[id(tensor)] for tensor in call.written]
        if entry.written and overlap(tensors, entry.written):
            raise Unsuitable("it writes to memory that two of its tensors share")
        if any([t._requires_grad for t in outputs]):
            entry.history = History(call.graph, tensors, outputs, entry.written)
        else:
            entry.trace = traced(call.graph, tensors, outputs, entry.written)
        entry.stage = Stage.TRIED


def overlap(tensors: Sequence[Any], written: Sequence[int]) -> bool:
    """Whether a tensor that is written to has memory of another."""
    arrays = [tensor._array for tensor in tensors]
    return any(
        [np.may_share_memory(arrays[n], other) for n in written for i, other in enumerate(arrays) if i != n]
    )


def flattened(args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Sequence[Any], Any]:
    """The leaves of arguments, and what tells how they stand."""
    if not keywords and all([isinstance(a, TensorBase) for a in args]):
        return args, len(args)
    return tree_flatten((args, keywords))


def result_of(call: Recorded) -> list[Any]:
    """The leaves of a result, with TENSOR in the places of tensors. Unsuitable for what is no plain value."""
    found: list[Any] = []
    for leaf in call.leaves:
        if isinstance(leaf, TensorBase):
            found.append(TENSOR)
        elif leaf is None or isinstance(leaf, bool | int | float | complex | str):
            found.append(leaf)
        else:
            raise Unsuitable(f"it gives a {type(leaf).__name__}")
    return found


#: By how much results of a dtype may differ, in units of the greatest element.
_TOLERANCES = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-3, "float64": 1e-8}
_TOLERANCES |= {"complex64": 1e-3, "complex128": 1e-8}


def difference(result: Any, found: Any) -> str:
    """What differs between two results; "" if nothing does."""
    both = zip(tree_flatten(result)[0], tree_flatten(found)[0], strict=True)
    for number, (a, b) in enumerate(both):
        if isinstance(a, TensorBase):
            problem = _difference(a, b)
            if problem:
                return f"output {number} {problem}"
        elif a is not b and not alike(a, b):
            return f"output {number} is {a!r}, not {b!r}"
    return ""


def _difference(a: Any, b: Any) -> str:
    if a.dtype is not b.dtype or a.shape != b.shape or a._array.strides != b._array.strides:
        return "has another dtype, shape or layout"
    if a._requires_grad is not b._requires_grad:
        return "requires grad in one of them"
    tolerance = _TOLERANCES.get(a.dtype.name, 0.0)
    first, second = a.detach(), b.detach()
    if not tolerance:
        return "" if bool((first == second).all()) else "has other elements"
    if not first.numel():
        return ""
    if a.dtype.name in ("float16", "bfloat16"):
        first, second = first.float(), second.float()
    finite = first.isfinite()
    scale = first.where(finite, 0).abs().max().item()
    close = first.isclose(second, tolerance, tolerance * scale, True)
    return "" if bool(close.all()) else f"differs by {(first - second).abs().max().item():.3g}"
