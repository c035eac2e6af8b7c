"""Structures of trees as text, in PyTorch's format: JSON behind the number of the protocol."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque
from pkgutil import resolve_name
from typing import Any, Final

from ..core.size import Size
from .pytree import CONTAINERS, TreeSpec, treespec_leaf

_PROTOCOL: Final = 1
#: How the classes are written that are nodes by themselves.
_WRITTEN: Final[dict[Any, str]] = {
    **{cls: f"builtins.{cls.__name__}" for cls in (tuple, list, dict)},
    **{cls: f"collections.{cls.__name__}" for cls in (OrderedDict, defaultdict, deque)},
    Size: "torch.Size",
}


def _context(spec: TreeSpec) -> Any:
    """The context as JSON has it: by the class's own function, or as text."""
    if spec.type is defaultdict:
        factory, keys = spec.context
        module, name = getattr(factory, "__module__", None), getattr(factory, "__qualname__", None)
        return {"default_factory_module": module, "default_factory_name": name, "dict_context": keys}
    to_dumpable = CONTAINERS[spec.type].to_dumpable
    return json.dumps(spec.context) if to_dumpable is None else to_dumpable(spec.context)


def _written(spec: TreeSpec) -> dict[str, Any]:
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    name = _WRITTEN.get(spec.type) or CONTAINERS[spec.type].written
    if name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your "
            "register_pytree_node call with a `serialized_type_name` kwarg."
        )
    children = [_written(child) for child in spec.children()]
    return {"type": name, "context": _context(spec), "children_spec": children}


def _class(name: str) -> Any:
    for cls, written in _WRITTEN.items():
        if written == name:
            return cls
    for cls, container in CONTAINERS.items():
        if container.written == name:
            return cls
    raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")


def _read(record: dict[str, Any]) -> TreeSpec:
    if record["type"] is None:
        return treespec_leaf()
    cls, context = _class(record["type"]), record["context"]
    children = [_read(child) for child in record["children_spec"]]
    if cls is defaultdict:
        module, name = context["default_factory_module"], context["default_factory_name"]
        factory = None if name is None else resolve_name(f"{module}:{name}")
        return TreeSpec(cls, [factory, context["dict_context"]], children)
    from_dumpable = CONTAINERS[cls].from_dumpable
    return TreeSpec(cls, json.loads(context) if from_dumpable is None else from_dumpable(context), children)


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """The structure as text, which ``treespec_loads`` reads.

    TypeError for what is no structure, or has a context that JSON cannot write, ValueError for another
    protocol than 1, NotImplementedError for a class that was registered without ``serialized_type_name``.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"treespec_dumps(treespec): expected an instance of TreeSpec, but got {type(treespec).__name__}"
        )
    _check(_PROTOCOL if protocol is None else protocol)
    return json.dumps([_PROTOCOL, _written(treespec)])


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that ``treespec_dumps`` wrote.

    ValueError for another protocol, NotImplementedError for a class that is not registered.
    """
    protocol, record = json.loads(serialized)
    _check(protocol)
    return _read(record)


def _check(protocol: Any) -> None:
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
