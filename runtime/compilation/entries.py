"""Entries: what a compiled function knows of one kind of call, and whether a call is of that kind."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from .. import fast_paths
from ..autograd.grad_mode import grad_mode
from ..core.scalar_type import get_default_dtype
from ..core.tensor_base import TensorBase
from ..utils.pytree import tree_unflatten
from .history import History
from .state import MISSING, State, described
from .traces import Trace

#: So many calls of a function that has no program look whether it might have one now.
REPEATS = 32
#: Stands for a tensor in a result.
TENSOR = object()


class Stage(Enum):
    """How far an entry is."""

    TRIED = "tried"  # its program was right once; the next call is compared with it, too
    READY = "ready"
    EAGER = "eager"  # the function is called as it is


class Signature:
    """The kind of a call: of its tensors what programs are made for, of all else the values."""

    __slots__ = ("default", "enabled", "inference", "numbers", "plain", "repeated", "spec", "tensors")

    def __init__(self, leaves: Sequence[Any], spec: Any) -> None:
        self.spec = spec
        self.plain: list[tuple[int, Any]] = []
        #: Where tensors stand, each once; and where one stands again that stands at another place.
        self.numbers: list[int] = []
        self.repeated: list[tuple[int, int]] = []
        seen: dict[int, int] = {}
        for number, leaf in enumerate(leaves):
            if not isinstance(leaf, TensorBase):
                self.plain.append((number, leaf))
            elif id(leaf) in seen:
                self.repeated.append((number, seen[id(leaf)]))
            else:
                seen[id(leaf)] = number
                self.numbers.append(number)
        self.tensors = [described(leaves[number]) for number in self.numbers]
        self.enabled, self.inference = grad_mode.enabled, grad_mode.inference
        self.default = get_default_dtype()

    @property
    def is_flat(self) -> bool:
        """Whether the arguments are tensors, each once."""
        return isinstance(self.spec, int) and not self.plain and not self.repeated

    def inputs(self, leaves: Sequence[Any]) -> list[Any]:
        """The tensors among the leaves of a call, each once."""
        return [leaves[number] for number in self.numbers]

    def has_modes(self) -> bool:
        """Whether the modes of tengen are those of the call."""
        modes = grad_mode.enabled is self.enabled and grad_mode.inference is self.inference
        return modes and get_default_dtype() is self.default

    def fits(self, leaves: Sequence[Any], spec: Any) -> bool:
        """Whether a call is of this kind."""
        if spec != self.spec or not self.has_modes():
            return False
        for number, value in self.plain:
            leaf = leaves[number]
            if leaf is not value and not alike(leaf, value):
                return False
        for number, expected in zip(self.numbers, self.tensors, strict=True):
            if not isinstance(leaves[number], TensorBase) or described(leaves[number]) != expected:
                return False
        return all([leaves[number] is leaves[first] for number, first in self.repeated])


def alike(leaf: Any, value: Any) -> bool:
    """Whether two arguments that are no tensors are the same."""
    if type(leaf) is not type(value) or not isinstance(value, int | float | complex | str | bytes):
        return False
    return repr(leaf) == repr(value)


class Entry:
    """One kind of call, and what is done in it."""

    __slots__ = (
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
        #: What compares tensors and objects in C, where there is the C machine, and if all are the very same.
        self.guard: Any = None
        #: The tensors that the function has itself; whether the result is one tensor.
        self.own: list[Any] = []
        self.single = False

    def watch(self) -> None:
        """Have the C machine compare, if it is there."""
        machine, state, held = fast_paths.programs(), self.state, [kind for _, _, kind in self.held]
        if machine is None or state is None or state.others:
            return
        seen = [(None, kind) for kind in [*self.signature.tensors, *held]]
        seen += [(t, kind) for t, kind in state.tensors if not any([t is own for own in self.own])]
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

    def objection(self) -> str:
        """What Python's objects have now otherwise than when the call was traced; "" if nothing."""
        for tensor, array, kind in self.held:
            if (tensor._array is not array or tensor._requires_grad is not kind[4]) and described(
                tensor
            ) != kind:
                return f"a tensor of shape {tuple(tensor.shape)} that the function has is of another kind"
        return "" if self.state is None else self.state.difference()

    def put(self, tensors: Sequence[Any]) -> Any:
        """The result, of its tensors."""
        given = iter([tensors[number] for number in self.order])
        return tree_unflatten([next(given) if kept is TENSOR else kept for kept in self.result], self.spec)

    def tensors(self, leaves: Sequence[Any]) -> list[Any]:
        """What the program is given."""
        return [*self.signature.inputs(leaves), *self.own]
