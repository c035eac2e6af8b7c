"""Where the leaves of trees are: keys from the root to each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from .pytree import CONTAINERS, IsLeaf, TreeSpec, node_type, tree_structure


@dataclass(frozen=True)
class SequenceKey:
    """A place in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What stands there."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """A key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """What stands there."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """The name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """What the attribute is."""
        return getattr(obj, self.name)


KeyPath = tuple[Any, ...]


def children_with_keys(tree: Any, kind: Any) -> list[tuple[Any, Any]]:
    """The keys and children of a node. ValueError for a registered class that does not tell its keys."""
    container = CONTAINERS[kind]
    if container.flatten_with_keys is not None:
        return list(container.flatten_with_keys(tree)[0])
    if isinstance(tree, dict):
        return [(MappingKey(key), child) for key, child in tree.items()]
    children = container.flatten_fn(tree)[0]
    if hasattr(tree, "_fields"):
        return [(GetAttrKey(name), child) for name, child in zip(tree._fields, children, strict=True)]
    if not isinstance(tree, (tuple, list)) and not hasattr(tree, "maxlen"):
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn "
            "argument to register_pytree_node."
        )
    return [(SequenceKey(number), child) for number, child in enumerate(children)]


def _walk(tree: Any, path: KeyPath, found: list[tuple[KeyPath, Any]], is_leaf: IsLeaf | None) -> None:
    kind = None if is_leaf is not None and is_leaf(tree) else node_type(tree)
    if kind is None:
        found.append((path, tree))
        return
    for key, child in children_with_keys(tree, kind):
        _walk(child, (*path, key), found, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf | None = None) -> list[tuple[KeyPath, Any]]:
    """The leaves, each behind the keys that lead to it.

    ValueError for a node of a class that was registered without ``flatten_with_keys_fn``.
    """
    found: list[tuple[KeyPath, Any]] = []
    _walk(tree, (), found, is_leaf)
    return found


def tree_flatten_with_path(
    tree: Any, is_leaf: IsLeaf | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """``tree_leaves_with_path``, and the structure of the tree."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf | None = None
) -> Any:
    """The tree with ``func`` applied to the path of each leaf, the leaf, and what ``rests`` have there."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*pair, *beside) for pair, *beside in zip(found, *others, strict=True)])


def keystr(kp: KeyPath) -> str:
    """The path as Python would write it: ``['a'][0].b``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What stands at the end of the path."""
    return reduce(lambda found, key: key.get(found), kp, obj)
