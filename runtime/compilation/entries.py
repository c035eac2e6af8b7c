"""Entries: what a compiled function knows of one kind of call, and whether a call is of that kind."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from .. import fast_paths
from ..utils.pytree import tree_unflatten
from .effects import Effects
from .history import History
from .signature import Signature
from .spent import spend
from .state import MISSING, State, described
from .steps import Counted
from .traces import Trace

#: So many calls of a function that has no program look whether it might have one now.
REPEATS = 32
#: Stands for a tensor in a result.
TENSOR = object()


#: The tensors of a call, what the program is given, and what the counts of steps become.
Prepared = tuple[Sequence[Any], list[Any], Sequence[Counted]]


class Stage(Enum):
    """How far an entry is."""

    TRIED = "tried"  # its program was right once; the next call is compared with it, too
    READY = "ready"
    EAGER = "eager"  # the function is called as it is


class Entry:
    """One kind of call, and what is done in it."""

    __slots__ = (
        "apart",
        "effects",
        "failures",
        "guard",
        "held",
        "history",
        "order",
        "own",
        "random",
        "reason",
        "result",
        "signature",
        "single",
        "spec",
        "spent",
        "stage",
        "state",
        "trace",
        "uses",
        "written",
    )

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.stage = Stage.EAGER
        #: Why the function is called as it is.
        self.reason = ""
        self.state: State | None = None
        self.trace: Trace | None = None
        self.history: History | None = None
        #: The tensors that the function has itself, with what the program was made for.
        self.held: list[tuple[Any, Any, tuple[Any, ...]]] = []
        #: Of the leaves of the result, what is no tensor.
        self.result: list[Any] = []
        self.spec: Any = None
        #: Which of the tensors that the program gives stands in each place; whether it draws random numbers.
        self.order: list[int] = []
        self.random = False
        self.failures = self.uses = 0
        #: The numbers of the tensors that calls write to.
        self.written: list[int] = []
        #: The arrays of a call, no two of which share memory that is written to.
        self.apart: list[Any] = []
        #: What compares tensors and objects in C, where there is the C machine, and if all are the very same.
        self.guard: Any = None
        #: The tensors that the function has itself; whether the result is one tensor.
        self.own: list[Any] = []
        self.single = False
        self.effects: Effects | None = None
        #: The numbers of results through whose history a backward pass has gone in the call.
        self.spent: list[int] = []

    def watch(self) -> None:
        """Have the C machine compare, if it is there."""
        machine, state, held = fast_paths.programs(), self.state, [kind for _, _, kind in self.held]
        if machine is None or state is None or state.others:
            return
        seen = [(None, kind) for kind in [*self.signature.tensors, *held]]
        own = {id(tensor) for tensor in self.own}
        seen += [(t, kind) for t, kind in state.tensors if id(t) not in own]
        if any([kind[3] is None for _, kind in seen]):
            return
        expected = tuple([(n, c, t, r, s, st, own) for n, (own, (c, t, s, st, r)) in enumerate(seen)])
        facts: list[list[Any]] = [state.named, state.cells, state.functions]
        facts += [state.lists, state.dicts, state.kinds]
        self.guard = machine.Guard(expected, *[tuple(each) for each in facts], MISSING)

    def hold(self, tensors: Sequence[Any]) -> None:
        """Note the tensors that the function has itself."""
        self.held = [(tensor, tensor._array, described(tensor)) for tensor in tensors]
        self.own = list(tensors)

    def repeat(self) -> None:
        """Count a call that is made as it is; after some, none looks for what may have changed."""
        self.uses += 1
        if self.uses > REPEATS:
            self.state = self.guard = None
            self.held = []

    def objection(self, inputs: Sequence[Any]) -> str:
        """What Python's objects have now otherwise than when the call was traced; "" if nothing."""
        return self.changed() or ("" if self.effects is None else self.effects.objection(inputs))

    def changed(self) -> str:
        """As ``objection``, of all but gradients."""
        for tensor, array, kind in self.held:
            if (tensor._array is not array or tensor._requires_grad is not kind[4]) and described(
                tensor
            ) != kind:
                return f"a tensor of shape {tuple(tensor.shape)} that the function has is of another kind"
        return "" if self.state is None else self.state.difference()

    def results(self, tensors: list[Any]) -> Sequence[Any]:
        """What the program gives. Failed as it says."""
        run = self.trace if self.history is None else self.history
        assert run is not None
        found = run(tensors)
        for number in self.spent:
            spend(found[number])
        return found

    def put(self, tensors: Sequence[Any]) -> Any:
        """The result, of its tensors."""
        given = iter([tensors[number] for number in self.order])
        return tree_unflatten([next(given) if kept is TENSOR else kept for kept in self.result], self.spec)

    def overlaps(self, tensors: Sequence[Any]) -> bool:
        """Whether a tensor that is written to has memory of another; what was found is kept by arrays."""
        arrays = [tensor._array for tensor in tensors]
        targets, known = {*self.written}, self.apart or [None] * len(arrays)
        for number, (array, before) in enumerate(zip(arrays, known, strict=True)):
            if array is before:
                continue
            others = range(len(arrays)) if number in targets else self.written
            if any([np.may_share_memory(array, arrays[i]) for i in others if i != number]):
                return True
        self.apart = arrays
        return False

    def guarded(self, args: Sequence[Any]) -> Prepared | None:
        """A call of tensors alone that is of this kind, as the C machine finds; else None."""
        tensors = [*args, *self.own]
        if not self.signature.is_flat or not self.guard.fits(tensors) or not self.signature.has_modes():
            return None
        effects = self.effects
        if effects is None:
            return args, tensors, ()
        return None if effects.objection(args) else self._prepared(args)

    def fitting(self, leaves: Sequence[Any], spec: Any) -> Prepared | None:
        """A call that is of this kind; else None."""
        if not self.signature.fits(leaves, spec):
            return None
        inputs = self.signature.inputs(leaves)
        if self.effects is not None and self.effects.objection(inputs):
            return None
        same = self.guard is not None and self.guard.fits([*inputs, *self.own])
        return self._prepared(inputs) if same or not self.changed() else None

    def _prepared(self, inputs: Sequence[Any]) -> Prepared | None:
        if self.effects is None or self.stage is Stage.EAGER:
            return inputs, [*inputs, *self.own], ()
        given = self.effects.given(inputs, self.own)
        return None if given is None else (inputs, *given)
