"""Compiled functions: which program a call runs, and calls that are made as written, to be traced."""

from __future__ import annotations

import functools
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.saved_variable import anomaly
from ..autograd.saved_variable_hooks import state as saved_hooks
from ..core.interception import active
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_stacklevel, warn_once
from ..random import default_generator
from ..utils.pytree import tree_flatten
from . import native
from .effects import effects_of
from .entries import TENSOR, Entry, Prepared, Stage
from .executable import Failed
from .history import History
from .recorder import Recorded, Unrepeated, Unsuitable, recorded, unsuitable
from .signature import Signature
from .spent import is_spent
from .stances import stance
from .state import State, TooMuch, described
from .traces import traced
from .trial import Trial

#: How often a program fails before the function is called as it is written.
MOST_FAILURES = 8
#: How many calls are recorded that do what a later one does not.
MOST_UNREPEATED = 3
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
        #: How many calls were recorded that did what a later one does not, as to make what it keeps.
        self._unrepeated = 0
        self._lock = threading.RLock()
        functions.add(self)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if active or stance.name != "default":
            return self._with_stance(args, keywords)
        if not keywords:
            for entry in self.entries:
                if entry.guard is not None and entry.signature.spec == len(args):
                    prepared = entry.guarded(args)
                    if prepared is not None:
                        return self._called(entry, prepared, args, keywords)
        leaves, spec = flattened(args, keywords)
        for entry in self.entries:
            prepared = entry.fitting(leaves, spec)
            if prepared is not None:
                return self._called(entry, prepared, args, keywords)
        if len(self.entries) >= self._limit or sys.getprofile() is not None:  # of which there can be one
            return self._function(*args, **keywords)
        return self._traced(leaves, spec, args, keywords)

    def _with_stance(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """A call inside a transform or another trace, or with another stance than the default one."""
        function = self._function
        if active or stance.is_eager:
            return function(*args, **keywords)
        leaves, spec = flattened(args, keywords)
        known = any([e.fitting(leaves, spec) is not None for e in self.entries])
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
        if not entry.signature.fits(leaves, spec):
            return "its arguments are of another kind"
        return entry.objection(entry.signature.inputs(leaves)) or "an optimiser's step is of another kind"

    def reset(self) -> None:
        """Forget all programs."""
        with self._lock:
            self.entries.clear()
            self._unrepeated = 0

    # -- calls

    def _called(self, entry: Entry, prepared: Prepared, args: Any, keywords: Any) -> Any:
        if entry.stage is Stage.EAGER:
            entry.repeat()
            return self._function(*args, **keywords)
        if entry.history is not None and (anomaly.enabled or saved_hooks.stack):  # who looks at operators
            return self._function(*args, **keywords)
        inputs, tensors, counted = prepared
        if entry.written and entry.overlaps(tensors):
            return self._function(*args, **keywords)
        if entry.stage is Stage.TRIED or self._check == "always":
            return self._tried(entry, prepared, args, keywords)
        before = default_generator.get_state() if entry.random else None
        try:
            found = entry.results(tensors)
        except Failed:  # the function says what is wrong
            if before is not None:
                default_generator.set_state(before)
            entry.failures += 1
            if entry.failures > MOST_FAILURES:
                self._give_up(entry, "its program fails again and again: sizes follow from elements")
            return self._function(*args, **keywords)
        if entry.effects is not None:
            entry.effects.take(inputs, found, counted)
        return found[0] if entry.single else entry.put(found)

    def _tried(self, entry: Entry, prepared: Prepared, args: Any, keywords: Any) -> Any:
        """The result by the function, with which that of the program is compared."""
        trial = Trial(entry, prepared, default_generator.get_state())
        result = self._function(*args, **keywords)
        after = default_generator.get_state()
        problem = entry.changed()
        if problem:
            entry.state = None  # it is so in any call
            self._give_up(entry, f"each call changes what the next one reads: {problem}")
            return result
        problem = trial.difference(result, after)
        if problem:
            self._give_up(entry, problem, warns=True)
        else:
            entry.stage = Stage.READY
            if self._check != "always":
                entry.watch()
        return result

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
            problem, differs = self._problem(entry, call, inputs, before, after)
            default_generator.set_state(after)
            if entry.stage is not Stage.EAGER or problem:
                self.entries.append(entry)
            if problem:
                self._give_up(entry, problem, warns=differs)
        return call.result

    def _problem(
        self, entry: Entry, call: Recorded, inputs: Sequence[Any], before: Any, after: Any
    ) -> tuple[str, bool]:
        """Why an entry has no program, and whether it had one that differs; "" if it has one or is no use."""
        try:
            self._compile(entry, call, inputs)
            if entry.written or entry.effects is not None:
                return "", False
            trial = Trial(entry, (inputs, [*inputs, *entry.own], ()), before)
            return trial.difference(call.result, after), True
        except Unrepeated as error:
            self._unrepeated += 1
            return (str(error) if self._unrepeated > MOST_UNREPEATED else ""), False
        except Unsuitable as error:
            return str(error), False
        except Exception as error:  # of what is computed of the call, which itself is done
            return f"{type(error).__name__}: {error}", False

    def _compile(self, entry: Entry, call: Recorded, inputs: Sequence[Any]) -> None:
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
        reached = entry.state.reached
        if any(map(call.makes, reached)):
            raise Unrepeated("it keeps a tensor that it makes")
        if not all(map(entry.state.has, call.steps.optimisers)):
            raise Unsuitable("it steps an optimiser that a later call does not find")
        entry.effects = effects_of(call, inputs, reached)
        numbers = {id(tensor): number for number, tensor in enumerate(call.outputs)}
        entry.order = [numbers[id(leaf)] for leaf in call.leaves if isinstance(leaf, TensorBase)]
        entry.random = any([node.random for node in call.graph.walk()])
        held = [c.tensor for c in call.graph.constants]
        known = {id(tensor) for tensor in (*inputs, *reached, *[before for _, before, _ in call.grads])}
        if any([id(tensor) not in known for tensor in call.written]):
            raise Unsuitable("it writes to a tensor that it makes of Python's numbers")
        for tensor in (*inputs, *held, *call.outputs):
            problem = unsuitable(tensor)
            if problem:
                raise Unsuitable(f"it uses {problem}")
        entry.result, entry.spec = result_of(call), call.spec
        entry.single = isinstance(call.result, TensorBase)
        tensors = [*inputs, *[step.tensor for step in call.steps.found], *held]
        self._make(entry, call, tensors)

    def _make(self, entry: Entry, call: Recorded, tensors: Sequence[Any]) -> None:
        """Make the program of what it is given."""
        assert call.graph is not None
        read = 0 if entry.effects is None else sum([g.is_read for g in entry.effects.gradients])
        entry.hold([c.tensor for c in call.graph.constants][: len(call.graph.constants) - read])
        numbers = {id(tensor): number for number, tensor in enumerate(tensors)}
        entry.written = [numbers[id(tensor)] for tensor in call.written]
        if entry.written and entry.overlaps(tensors):
            raise Unsuitable("it writes to memory that two of its tensors share")
        entry.spent = [i for i, t in enumerate(call.outputs) if id(t) not in numbers and is_spent(t)]
        alive = [t for i, t in enumerate(call.outputs) if t._requires_grad and i not in entry.spent]
        if alive and entry.effects is None and not entry.spent:
            entry.history = History(call.graph, tensors, call.outputs, entry.written)
        elif any([id(tensor) not in numbers for tensor in alive]):
            raise Unsuitable("it changes gradients, and gives a tensor with a history")
        else:
            entry.trace = traced(call.graph, tensors, call.outputs, entry.written)
        entry.stage = Stage.TRIED


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
