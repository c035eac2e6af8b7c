"""Selective checkpoints: some results inside of a checkpoint are kept, the others computed again."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..autograd.node import Error
from ..autograd.saved_variable_hooks import HookPair, call_pack, state
from ..core.interception import Layer
from ..core.operands import tensors_in
from ..core.tensor_base import TensorBase
from ..custom_operators.declared import overload_of
from ..custom_operators.overloads import Overload
from ..dispatch.operator import Operator
from ..random import get_rng_state, set_rng_state


class CheckpointPolicy(enum.Enum):
    """What becomes of an operator's results inside of a checkpoint.

    ``MUST`` and ``PREFER`` make no difference here, nor do the ``CPU_OFFLOAD`` ones from saving:
    results are on the CPU already.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_RECOMPUTED = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)

Policy = Callable[..., CheckpointPolicy | bool]


class SelectiveCheckpointContext:
    """What a policy is told: the operator's result. It is asked in the first run only."""

    __slots__ = ("is_recompute", "op_output")

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | Sequence[Any], allow_cache_entry_mutation: bool = False
) -> tuple[Layer, Layer]:
    """The two contexts of a checkpoint (its ``context_fn``) that keeps the results of some operators.

    A policy is called as ``policy(context, operator, *arguments)`` after every operator that is not
    made of others, nor a view, nor in place; ``operator`` is such as ``tengen.ops.aten.mul.Tensor``, and
    ``context.op_output`` its result. It returns a ``CheckpointPolicy``, or whether to save. A list has
    what is saved: such operators, full names (``"mul.Tensor"``), names of functions (``"mul"``: all of its
    overloads), or functions themselves (``tengen.mul``).

    Raises TypeError for a policy that is neither, ValueError for an element that is no operator;
    in the backward pass RuntimeError when a kept result was written to, unless
    ``allow_cache_entry_mutation``, in a second one that needs a kept result, and for an operator that the
    first run has not called, or not so often.
    """
    if isinstance(policy_fn_or_list, (list, tuple, set, frozenset)):
        policy = _policy_of([_name_of(item) for item in policy_fn_or_list])
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[str, list[_Kept | str]] = {}
    return _Keeping(policy, kept), _Finding(kept, allow_cache_entry_mutation)


def _name_of(item: Any) -> str:
    """The name of an operator, of one overload or of all, as the user gives it."""
    from tengen.generated.operators import OPERATORS, OVERLOADS

    name = item
    if isinstance(item, Operator):
        name = item.name
    elif isinstance(item, Overload):
        name = item._operator.name
    elif callable(item):
        name = getattr(item, "__name__", "")
    if not isinstance(name, str) or (name not in OPERATORS and name not in OVERLOADS):
        raise ValueError(
            "Expected an operator in the list, by its name ('mul', 'mul.Tensor') or its function, but got: "
            f"{item!r} of type {type(item)}."
        )
    return name


def _policy_of(names: Sequence[str]) -> Policy:
    found = frozenset(names)

    def policy(context: SelectiveCheckpointContext, op: Overload, *arguments: Any) -> bool:
        return op._operator.name in found or op._operator.function in found

    return policy


#: What stands for a result that is computed again, and for one that was given.
_RECOMPUTE, _CONSUMED = "recompute", "consumed"


class _Kept(NamedTuple):
    """The results of one operator, and all else that the second run needs of it."""

    result: Any  # as the operator returned it, without history
    versions: tuple[int, ...]
    recorded: tuple[bool, ...]  # which of the results had a history
    packed: tuple[tuple[str, int, int], ...]  # what the Node saved: arguments or results, by position
    rng: Any  # the generator's state afterwards, when the operator has changed it


class _Layer(Layer):
    """Sees the operators that have results of their own to keep."""

    def __call__(self, operator: Any, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        if operator.decomposes or operator.kind != "functional":
            return proceed(*arguments)
        return self.run(operator, arguments, proceed)

    def run(self, op: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        """Run one of them."""
        raise NotImplementedError


class _Keeping(_Layer):
    """The first run: keeps what the policy says."""

    def __init__(self, policy: Policy, kept: dict[str, list[_Kept | str]]) -> None:
        self.policy, self.kept = policy, kept

    def run(self, op: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        before = get_rng_state()
        result, saved = _observed(arguments, proceed)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        wanted = self.policy(context, overload_of(op), *arguments)
        if isinstance(wanted, CheckpointPolicy):
            wanted = wanted not in _RECOMPUTED
        kept = _kept(result, arguments, saved, before) if wanted else None
        self.kept.setdefault(op.name, []).append(_RECOMPUTE if kept is None else kept)
        return result


class _Finding(_Layer):
    """The second run: gives what was kept in the place of what is computed."""

    def __init__(self, kept: dict[str, list[_Kept | str]], mutation: bool) -> None:
        self.kept, self.mutation = kept, mutation
        #: How often each operator was called.
        self.calls: dict[str, int] = {}

    def enter(self) -> None:
        self.calls.clear()
        super().enter()

    def run(self, op: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        entries = self.kept.get(op.name, [])
        number = self.calls.get(op.name, 0)
        self.calls[op.name] = number + 1
        if number >= len(entries):
            raise RuntimeError(
                f"{op.name} encountered for the {number + 1}th time during the recomputation, but not found "
                "among what the original forward under selective activation checkpoint has run."
            )
        kept = entries[number]
        if kept == _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region "
                "computed under selective activation checkpoint."
            )
        if isinstance(kept, str):
            return proceed(*arguments)
        entries[number] = _CONSUMED
        if not self.mutation and _versions(tensors_in((kept.result,))) != kept.versions:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return _replayed(kept, arguments)


def _observed(arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> tuple[Any, list[Any]]:
    """Run an operator; what it returns, and the arrays that its Node saves."""
    arrays: list[Any] = []
    hooks = state.stack
    if hooks:
        top = hooks[-1]

        def pack(tensor: Any) -> Any:
            arrays.append(tensor._array)
            return top.pack(tensor)

        state.stack = (*hooks[:-1], HookPair(pack, top.unpack))
    try:
        result = proceed(*arguments)
    finally:
        state.stack = hooks
    return result, arrays


def _kept(result: Any, arguments: tuple[Any, ...], arrays: Sequence[Any], before: Any) -> _Kept | None:
    """What is kept of an operator that returned ``result`` and whose Node saved ``arrays``.

    What is saved and is neither an argument nor a result, as an operand that was cast, cannot be
    found again without a computation: then there is nothing to be kept. ``before`` is the state that the
    generator had.
    """
    results = tensors_in((result,))
    places = [_place(array, arguments, results) for array in arrays]
    if None in places or any(out is a for out in results for a in arguments):
        return None
    after = get_rng_state()
    changed = after.tolist() != before.tolist()
    plain = _map(result, lambda t: t.detach())
    return _Kept(
        plain,
        _versions(tensors_in((plain,))),
        tuple(t._requires_grad for t in results),
        tuple(p for p in places if p is not None),
        after if changed else None,
    )


def _replayed(kept: _Kept, arguments: tuple[Any, ...]) -> Any:
    """The results that were kept, with what the Node would have saved packed again."""
    if kept.rng is not None:
        set_rng_state(kept.rng)
    result = _map(kept.result, lambda t: t.detach())
    results = tensors_in((result,))
    if state.stack:
        for kind, position, index in kept.packed:
            value = arguments[position] if kind == "argument" else results[position]
            call_pack(state.stack[-1], value if index < 0 else value[index])
    for out, recorded in zip(results, kept.recorded, strict=True):
        if recorded:  # nobody goes backward through it: it is there for what follows to be recorded
            node = Error(
                "a selective checkpoint is not differentiated twice", (), out._array.shape, out._type
            )
            out._edge, out._requires_grad = (node, 0), True
    return result


def _place(array: Any, arguments: tuple[Any, ...], results: Sequence[Any]) -> tuple[str, int, int] | None:
    """Where a saved array comes from: the position of a result, or of an argument, and in a list."""
    for position, out in enumerate(results):
        if out._array is array:
            return "result", position, -1
    for position, value in enumerate(arguments):
        if isinstance(value, TensorBase):
            if value._array is array:
                return "argument", position, -1
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                if isinstance(item, TensorBase) and item._array is array:
                    return "argument", position, index
    return None


def _map(result: Any, function: Callable[[Any], Any]) -> Any:
    """A result with a function of each of its tensors, in the same structure."""
    if isinstance(result, TensorBase):
        return function(result)
    if isinstance(result, (list, tuple)):
        return type(result)([function(t) if isinstance(t, TensorBase) else t for t in result])
    return result


def _versions(tensors: Sequence[Any]) -> tuple[int, ...]:
    return tuple([t._version for t in tensors])
