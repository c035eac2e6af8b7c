"""What a Node saved, as users see it: ``grad_fn._saved_self``, ``grad_fn._raw_saved_self``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .node import Node
from .saved_variable import BACKWARD_TWICE, FREED, unpack_result, unpack_tensor
from .saved_variable_hooks import HookPair, Packed, edge_in, pack_result, pack_slot, result_type, slots_of

_FREED = "Calling register_hooks on a saved tensor after it has been freed. " + BACKWARD_TWICE.partition(
    ". "
)[2].replace("saved tensors", "saved variables")


class SavedTensor:
    """One tensor that a Node saved."""

    __slots__ = ("_index", "_name", "_node", "_number")

    def __init__(self, node: Any, name: str, number: int | None, index: int | None = None) -> None:
        self._node = node
        self._name = name
        self._number = number  # of the result, for one that was saved
        self._index = index  # in a list of tensors

    def _value(self) -> Any:
        value = getattr(self._node, self._name)
        return value if self._index is None or value is FREED else value[self._index]

    def unpack(self) -> Any:
        """The tensor, with the history it had when it was saved; RuntimeError when it was freed."""
        value = self._value()
        if value is None:
            return None
        if value is FREED:
            raise RuntimeError(BACKWARD_TWICE)
        node = self._node
        if self._number is not None:
            return unpack_result(node, value, self._number, result_type(node, self._number))
        if isinstance(value, Packed):
            return value.unpack(value.edge)
        version = getattr(node, f"{self._name}_version")
        if self._index is not None:
            version = version[self._index]
        return unpack_tensor(value, version, edge_in(node, value))

    @property
    def data(self) -> Any:
        """What is kept: a Tensor, what a pack hook returned, or None once it is freed."""
        value = self._value()
        if value is FREED:
            return None
        return value.packed if isinstance(value, Packed) else self.unpack()

    @property
    def unpack_hook(self) -> Callable[[Any], Any] | None:
        """The hook that unpacks the value, or None."""
        value = self._value()
        return value.unpack_hook if isinstance(value, Packed) else None

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Pack the value now, with ``pack_hook(tensor)``, and unpack it when it is needed.

        Raises RuntimeError when it was freed, when it has hooks already, or when ``pack_hook``
        writes into its argument; TypeError for what cannot be called.
        """
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError("register_hooks(): the hooks must be callable")
        value = self._value()
        if value is FREED:
            raise RuntimeError(_FREED)
        if isinstance(value, Packed):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one "
                "pair of hooks is allowed at a time."
            )
        if value is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        hooks = HookPair(pack_hook, unpack_hook)
        if self._number is None:
            pack_slot(self._node, self._name, hooks, self._index, detached=True)
        else:
            pack_result(self._node, self._name, self._number, hooks, detached=True)


#: For each name of a saved value its slot, the number of a result, and whether it is a tensor.
Attributes = dict[str, tuple[str, int | None, bool]]

_attributes: dict[type[Node], Attributes] = {}


def attributes_of(cls: type[Node]) -> Attributes:
    """The saved values that a class of Nodes shows."""
    found = _attributes.get(cls)
    if found is None:
        found = _attributes[cls] = _find_attributes(cls)
    return found


def _find_attributes(cls: type[Node]) -> Attributes:
    slots = slots_of(cls)
    found: Attributes = {}
    for name in slots.others:
        found[name[1:]] = (name, None, False)
        if name.endswith("_shape"):  # as PyTorch calls it
            found[name[1 : -len("_shape")] + "_sym_sizes"] = (name, None, False)
    names = _result_names(cls)
    for name, number in slots.results.items():
        shown = names[number] if number < len(names) and names[number] else f"result{number}"
        found["result" if shown == "result0" and cls.num_inputs == 1 else shown] = (name, number, True)
    for name in slots.inputs:
        found[name[1:]] = (name, None, True)
    return found


def _result_names(cls: type[Node]) -> list[str]:
    """The names of an operator's results, where its schema, which documents the Node, has some."""
    # A Node over arrays derives from the one over Tensors, which has the text.
    texts = [base.__dict__.get("__doc__") or "" for base in cls.__mro__]
    results = next((t.partition(" -> ")[2] for t in texts if " -> " in t), "")
    parts = [part.split() for part in results.strip("()").split(", ")]
    return [part[-1] if len(part) > 1 else "" for part in parts]


def saved_attribute(node: Node, name: str) -> Any:
    """``_saved_NAME`` or ``_raw_saved_NAME`` of a Node; AttributeError when it has no such."""
    raw = name.startswith("_raw_saved_")
    entry = attributes_of(type(node)).get(name[len("_raw_saved_" if raw else "_saved_") :])
    if entry is None or (raw and not entry[2]):
        raise AttributeError(f"'{node.name()}' object has no attribute '{name}'")
    slot, number, is_tensor = entry
    value = getattr(node, slot)
    if not is_tensor:
        return value
    if value is FREED and getattr(node, f"{slot}_version", None).__class__ is tuple:
        raise RuntimeError(BACKWARD_TWICE)  # of a list not even the length is left
    if value.__class__ is tuple:
        several = tuple([SavedTensor(node, slot, number, i) for i in range(len(value))])
        return several if raw else tuple([s.unpack() for s in several])
    saved = SavedTensor(node, slot, number)
    return saved if raw else saved.unpack()


class SavedAttribute:
    """``_saved_NAME`` or ``_raw_saved_NAME`` of a class of Nodes."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, node: Node | None, owner: type[Node]) -> Any:
        return self if node is None else saved_attribute(node, self.name)


def show_saved(cls: type[Node]) -> None:
    """Give a class of Nodes the attributes that show what they saved."""
    for name, (*_, is_tensor) in attributes_of(cls).items():
        setattr(cls, f"_saved_{name}", SavedAttribute(f"_saved_{name}"))
        if is_tensor:
            setattr(cls, f"_raw_saved_{name}", SavedAttribute(f"_raw_saved_{name}"))
