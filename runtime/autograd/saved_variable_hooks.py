"""Hooks that pack what Nodes save, and unpack it when it is needed.

While a pair of hooks is active in a thread, every operator there runs as ever; then the slots of
the Nodes that it made are given ``Packed`` values, which look enough like Tensors for generated
code. Without hooks nothing here is ever called.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

from ..core.function_dispatch import users_level
from ..core.interception import active
from ..core.numbers import NUMBERS
from ..core.tensor_base import TensorBase
from ..core.thread_state import current_thread, propagated
from .edge import Edge, gradient_edge
from .grad_mode import grad_mode
from .node import LEAF_SEQUENCE_NR, Node, next_sequence_nr
from .saved_variable import FREED, PackedBase, alias


class HookPair(NamedTuple):
    """``pack`` makes anything of a Tensor, ``unpack`` makes a Tensor of that."""

    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]


class HookState(threading.local):
    """The hooks of a thread, innermost last, and why there may be none."""

    stack: tuple[HookPair, ...] = ()
    disabled: str | None = None


state = propagated(HookState())


class Packed(PackedBase):
    """A saved value that hooks have packed; the version of what it came from no longer matters."""

    __slots__ = ("edge", "packed", "type", "unpack_hook")

    #: No version to compare with.
    _storage: ClassVar[None] = None

    def __init__(self, tensor: Any, hooks: HookPair, T: Any, edge: Edge | None) -> None:
        self.unpack_hook = hooks.unpack
        self.type = T
        self.edge = edge
        self.packed = call_pack(hooks, tensor)

    def tensor(self) -> Any:
        """What the hook makes of the packed value. TypeError when that is no Tensor."""
        with users_level():
            made = self.unpack_hook(self.packed)
        if not isinstance(made, TensorBase):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                + type(made).__name__
            )
        return made

    @property
    def _array(self) -> Any:
        return self.tensor()._array

    @property
    def _type(self) -> Any:
        return self.type

    def unpack(self, edge: Edge | None) -> Any:
        """The Tensor with the history that was saved."""
        return alias(self.tensor(), edge)


def call_pack(hooks: HookPair, tensor: Any) -> Any:
    """What the pack hook makes of ``tensor``. RuntimeError when the hook writes into it."""
    before, enabled = state.stack, grad_mode.enabled
    state.stack = ()  # what the hook itself computes is not packed
    grad_mode.enabled = False
    version = 0 if tensor._storage is None else tensor._storage.version
    try:
        packed = hooks.pack(tensor)
    finally:
        state.stack, grad_mode.enabled = before, enabled
    if (0 if tensor._storage is None else tensor._storage.version) != version:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
            "hook cannot be modified by in-place operations as this can lead to unexpected side-effects."
        )
    return packed


# -- the slots of Nodes -----------------------------------------------------------------


class Slots(NamedTuple):
    """What a class of Nodes saves: slots of inputs and, by number, of results; and the rest."""

    inputs: tuple[str, ...]
    results: dict[str, int]
    others: tuple[str, ...]


_slots: dict[type[Node], Slots] = {}


def slots_of(cls: type[Node]) -> Slots:
    """The slots of a class of Nodes that a formula's values are in."""
    found = _slots.get(cls)
    if found is None:
        found = _slots[cls] = _find_slots(cls)
    return found


def _find_slots(cls: type[Node]) -> Slots:
    names = [
        name
        for base in reversed(cls.__mro__)
        for name in base.__dict__.get("__slots__", ())
        if name.startswith("_") and not name.startswith("__")
    ]
    versioned = tuple([name for name in names if f"{name}_version" in names])
    results = {
        name: int(name[len("_result") :])
        for name in names
        if name.startswith("_result") and name[len("_result") :].isdigit() and name not in versioned
    }
    others = [
        n for n in names if n not in versioned and n not in results and n[: -len("_version")] not in versioned
    ]
    return Slots(versioned, results, tuple(others))


def edge_in(node: Node, tensor: Any) -> Edge | None:
    """The edge of ``node`` that leads to the history of a saved input; None when none does."""
    edge = gradient_edge(tensor)
    if edge is None:
        return None
    return next((e for e in node.next_edges if e is not None and e[0] is edge[0] and e[1] == edge[1]), None)


def result_type(node: Node, number: int) -> Any:
    """The Type of a Node's result."""
    return node.type[number] if node.type.__class__ is tuple else node.type


def pack_input(node: Node, value: Any, version: int, hooks: HookPair, detached: bool = False) -> Any:
    """A saved input packed, unless it is so already, or was written to since."""
    if value is None or value is FREED or isinstance(value, PackedBase):
        return value
    if value._storage is not None and value._storage.version != version:
        return value  # the backward pass will say so
    edge = edge_in(node, value)
    return Packed(alias(value, None) if detached else value, hooks, value._type, edge)


def pack_slot(
    node: Any, name: str, hooks: HookPair, index: int | None = None, detached: bool = False
) -> None:
    """Pack what is in a slot of inputs, or one element of a list in it."""
    value = getattr(node, name)
    version = getattr(node, f"{name}_version")
    if value.__class__ is tuple:
        value = tuple(
            [
                pack_input(node, v, w, hooks, detached) if index in (None, i) else v
                for i, (v, w) in enumerate(zip(value, version, strict=True))
            ]
        )
    else:
        value = pack_input(node, value, version, hooks, detached)
    setattr(node, name, value)


def pack_result(node: Any, name: str, number: int, hooks: HookPair, detached: bool = False) -> None:
    """Pack the result in a slot."""
    array = getattr(node, name)
    if array is None or array is FREED or isinstance(array, PackedBase):
        return
    T = result_type(node, number)
    tensor = T.wrap(array)
    if not detached:
        tensor._edge, tensor._requires_grad = (node, number), True
    packed = Packed(tensor, hooks, T, None)
    if node.result_versions is None:
        node.result_versions = {}  # so that the slot is looked at before its value is used
    setattr(node, name, packed)


def is_number(value: Any) -> bool:
    """Whether a saved value may have been made of a Python number."""
    return isinstance(value, TensorBase) and value._array.ndim == 0 and not value._requires_grad


def pack_node(node: Node, hooks: HookPair, given: set[int] | None = None) -> None:
    """Pack all that a Node has saved.

    ``given``, of an operator that was called with Python numbers, has the ids of its arguments:
    what was made of the numbers is not packed.
    """
    slots = slots_of(type(node))
    for name in slots.inputs:
        value = getattr(node, name)
        if given is None or id(value) in given or not is_number(value):
            pack_slot(node, name, hooks)
    for name, number in slots.results.items():
        pack_result(node, name, number, hooks)


# -- watching operators ------------------------------------------------------------------


def new_nodes(result: Any, since: int) -> Iterator[Node]:
    """The Nodes above what an operator returned that are newer than number ``since``."""
    found: list[Node] = []
    todo = [result]
    while todo:
        value = todo.pop()
        if isinstance(value, TensorBase):
            if value._edge is not None:
                found.append(value._edge[0])
        elif isinstance(value, tuple | list):
            todo.extend(value)
    seen: set[Node] = set()
    while found:
        node = found.pop()
        if node in seen or not since < node.sequence_nr < LEAF_SEQUENCE_NR:
            continue
        seen.add(node)
        yield node
        inner = getattr(node, "fn", None)  # of CopySlices
        if isinstance(inner, Node):
            found.append(inner)
        found.extend([edge[0] for edge in node.next_edges if edge is not None])


def _intercept(operator: Any, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
    stack = state.stack
    if not stack:
        return proceed(*arguments)
    since = next_sequence_nr()
    result = proceed(*arguments)
    # The oldest first, which is the order in which they saved.
    nodes = sorted(new_nodes(result, since), key=lambda n: n.sequence_nr)
    if nodes:
        given = {id(t) for t in arguments} if any([a.__class__ in NUMBERS for a in arguments]) else None
        for node in nodes:
            pack_node(node, stack[-1], given)
    return result


_watched: set[int] = set()
_lock = threading.Lock()


def _watch() -> None:
    """Let operators be seen here as long as there are hooks in some thread; once more changes nothing."""
    with _lock:
        if state.stack:
            _watched.add(current_thread.ident)
        else:
            _watched.discard(current_thread.ident)
        if not _watched and _intercept in active:
            active.remove(_intercept)
        elif _watched and _intercept not in active:
            active.append(_intercept)


class saved_tensors_hooks:  # the user's spelling
    """Inside, what operators save for the backward pass goes through ``pack_hook(tensor)``.

    ``unpack_hook`` is given what that returned, whenever the value is needed, and returns a
    Tensor of the same content. Of several such contexts the innermost counts.

    Raises RuntimeError inside ``disable_saved_tensors_hooks``, and when a pack hook writes into
    its argument; TypeError in the backward pass when ``unpack_hook`` returns no Tensor.
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if state.disabled is not None:
            raise RuntimeError(state.disabled)
        state.stack = (*state.stack, HookPair(self.pack_hook, self.unpack_hook))
        try:
            _watch()
        except BaseException:  # an interrupt
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        state.stack = state.stack[:-1]
        try:
            _watch()
        except BaseException:  # an interrupt before it has
            _watch()
            raise


class save_on_cpu(saved_tensors_hooks):  # the user's spelling
    """Inside, what is saved for the backward pass is moved to the CPU, and back when it is needed.

    ``pin_memory`` and ``device_type`` are accepted for PyTorch's sake.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(
            lambda tensor: (tensor.device, tensor.to("cpu")), lambda packed: packed[1].to(packed[0])
        )


class disable_saved_tensors_hooks:  # the user's spelling
    """Inside, entering ``saved_tensors_hooks`` raises RuntimeError with this message.

    So does entering this context inside of one.
    """

    def __init__(self, error_message: str) -> None:
        self.message = error_message

    def __enter__(self) -> None:
        if state.stack:
            raise RuntimeError(self.message)
        self.previous = state.disabled
        state.disabled = self.message

    def __exit__(self, *_: object) -> None:
        state.disabled = self.previous
