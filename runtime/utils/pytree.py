"""Trees of containers: what functions take and return, as flat lists of leaves and a description.

A tuple, list, dict, OrderedDict, defaultdict, deque, named tuple, Size or a container given to
``register_pytree_node`` is a node; everything else is a leaf, None too.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ..core.size import Size
from ..core.structseq import StructSequence

__all__ = [
    "TreeSpec",
    "arg_tree_leaves",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_structure",
    "tree_unflatten",
    "treespec_leaf",
    "treespec_pprint",
]

#: Says of an object that it is to be a leaf.
IsLeaf = Callable[[Any], bool]


class Container(NamedTuple):
    """How the nodes of one kind are taken apart and put together."""

    #: A node -> its children, and the context that is needed to make it again.
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]]
    #: The children and the context -> a node.
    unflatten_fn: Callable[[list[Any], Any], Any]
    #: A node -> its keys with its children, and the context; None where `pytree_paths` knows them.
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None
    #: How `pytree_text` writes the class; None for a class that cannot be written.
    written: str | None = None
    #: The context -> what JSON can write, and back; None where the context is that.
    to_dumpable: Callable[[Any], Any] | None = None
    from_dumpable: Callable[[Any], Any] | None = None


def _rebuild_defaultdict(children: list[Any], context: Any) -> Any:
    factory, keys = context
    return defaultdict(factory, zip(keys, children, strict=True))


CONTAINERS: dict[Any, Container] = {
    tuple: Container(lambda d: (d, None), lambda children, _: tuple(children)),
    list: Container(lambda d: (d, None), lambda children, _: list(children)),
    Size: Container(lambda d: (d, None), lambda children, _: Size(children)),
    dict: Container(
        lambda d: (d.values(), list(d)), lambda children, keys: dict(zip(keys, children, strict=True))
    ),
    OrderedDict: Container(
        lambda d: (d.values(), list(d)), lambda children, keys: OrderedDict(zip(keys, children, strict=True))
    ),
    defaultdict: Container(lambda d: (d.values(), [d.default_factory, list(d)]), _rebuild_defaultdict),
    deque: Container(lambda d: (d, d.maxlen), lambda children, maxlen: deque(children, maxlen)),
    # Stands for all classes of named tuples: the class is the context.
    namedtuple: Container(lambda d: (d, type(d)), lambda children, cls: cls(*children)),
}

_DICTS = (dict, OrderedDict, defaultdict)


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Make the instances of ``cls``, and not of its subclasses, nodes.

    ``flatten_fn`` takes a node and returns its children and a context; ``unflatten_fn`` takes children and
    that context, and returns a node. Contexts are compared with ``==`` where trees are. Structures are
    written by the name ``serialized_type_name``, with the context made fit for JSON and back by the two
    functions; ``flatten_with_keys_fn`` returns pairs of keys and children, and the context, for paths.

    ValueError when ``cls`` is registered already, and for one of the two functions without the other.
    """
    if cls in CONTAINERS:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered."
        )
    CONTAINERS[cls] = Container(
        flatten_fn,
        unflatten_fn,
        flatten_with_keys_fn,
        serialized_type_name,
        to_dumpable_context,
        from_dumpable_context,
    )


def is_namedtuple_class(cls: type) -> bool:
    """Whether it is a class of named tuples, as ``collections.namedtuple`` makes them."""
    fields = getattr(cls, "_fields", None)
    return isinstance(fields, tuple) and issubclass(cls, tuple) and hasattr(cls, "_make")


def is_structseq_class(cls: type) -> bool:
    """Whether it is a class of the tuples that operators return, or Python's own, as ``time.struct_time``."""
    if not isinstance(cls, type) or not issubclass(cls, tuple):
        return False
    own = all(
        isinstance(getattr(cls, f"n_{kind}fields", None), int) for kind in ("", "sequence_", "unnamed_")
    )
    return own or (issubclass(cls, StructSequence) and cls is not StructSequence)


def _of_either(test: Callable[[type], bool]) -> Callable[[Any], bool]:
    """The test of a class, or of an object's."""
    return lambda obj: test(obj if isinstance(obj, type) else type(obj))


is_namedtuple, is_structseq = _of_either(is_namedtuple_class), _of_either(is_structseq_class)


def is_namedtuple_instance(obj: object) -> bool:
    """Whether it is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq_instance(obj: object) -> bool:
    """Whether it is a tuple that an operator returned, or one of Python's own with names."""
    return is_structseq_class(type(obj))


def node_type(tree: Any) -> Any:
    """The key of the node's kind; None for a leaf."""
    cls = tree.__class__
    if cls in CONTAINERS:
        return cls
    if isinstance(tree, tuple):
        if isinstance(tree, StructSequence):
            CONTAINERS[cls] = Container(lambda d: (d, None), lambda children, _: cls(children))
            return cls
        if is_namedtuple_class(cls):
            return namedtuple
    return None


class TreeSpec:
    """The structure of a tree: the kind and context of its node, and the structures of its children."""

    __slots__ = ("_children", "context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Any, children: list[TreeSpec]) -> None:
        #: The class of the node, ``collections.namedtuple`` for all named tuples; None for a leaf.
        self.type = type
        self.context = context
        self._children = children
        self.num_children = len(children)
        if type is None:
            self.num_nodes = self.num_leaves = 1
        else:
            self.num_nodes = 1 + sum([c.num_nodes for c in children])
            self.num_leaves = sum([c.num_leaves for c in children])

    def is_leaf(self) -> bool:
        """Whether this is the structure of a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The structures of the children."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self._children[index]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        same: bool = (
            self.type is other.type and self.context == other.context and self._children == other._children
        )
        return same

    def __hash__(self) -> int:
        # A context may not be hashable; what is equal has as many leaves all the same.
        return hash((self.type, self.num_nodes, self.num_leaves, *self._children))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        name = getattr(self.type, "__name__", str(self.type))
        return f"TreeSpec({name}, {self.context}, [{', '.join(map(repr, self._children))}])"

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves. ValueError when there are too many or few."""
        if leaves.__class__ is not list:
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec "
                f"refers to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._unflatten(iter(leaves))

    def _unflatten(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        children = [c._unflatten(leaves) for c in self._children]
        return CONTAINERS[self.type].unflatten_fn(children, self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees of ``tree`` that stand where this structure has its leaves.

        Raises ValueError where the nodes above them are not this structure's. Dicts may have their keys in
        another order.
        """
        subtrees: list[Any] = []
        self._flatten_up_to(tree, subtrees)
        return subtrees

    def _flatten_up_to(self, tree: Any, subtrees: list[Any]) -> None:
        if self.type is None:
            subtrees.append(tree)
            return
        for spec, child in zip(self._children, self._matching_children(tree), strict=True):
            spec._flatten_up_to(child, subtrees)

    def _matching_children(self, tree: Any) -> list[Any]:
        """The children of ``tree``, in the order of this node's; ValueError when it is another node."""
        kind = node_type(tree)
        dicts = self.type in _DICTS and kind in _DICTS
        if kind is not self.type and not dicts:
            raise ValueError(f"Node type mismatch; expected {self.type}, but got {type(tree)}.")
        found, context = CONTAINERS[kind].flatten_fn(tree)
        children = list(found)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if dicts:
            keys = self.context[1] if self.type is defaultdict else self.context
            return [tree[key] for key in self._matching_keys(keys, tree)]
        if self.type is not deque and context != self.context:
            raise ValueError(
                f"Node context mismatch for node type {self.type}; expected {self.context!r}, "
                f"but got {context!r}."
            )
        return children

    @staticmethod
    def _matching_keys(keys: list[Any], tree: dict[Any, Any]) -> list[Any]:
        missing = [key for key in keys if key not in tree]
        if missing:
            extra = [key for key in tree if key not in keys]
            raise ValueError(
                f"Node keys mismatch; missing key(s): {{{', '.join(map(repr, missing))}}}; "
                f"extra key(s): {{{', '.join(map(repr, extra))}}}."
            )
        return keys


_LEAF = TreeSpec(None, None, [])


def treespec_leaf() -> TreeSpec:
    """The structure of a leaf."""
    return _LEAF


def _flatten(tree: Any, leaves: list[Any], is_leaf: IsLeaf | None) -> TreeSpec:
    if is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return _LEAF
    kind = node_type(tree)
    if kind is None:
        leaves.append(tree)
        return _LEAF
    children, context = CONTAINERS[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of ``tree`` from left to right, and its structure.

    ``is_leaf`` may make leaves of nodes: it is asked of each object before this is looked into.
    """
    leaves: list[Any] = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of the structure ``treespec`` with these leaves: the inverse of ``tree_flatten``.

    Raises TypeError for what is no structure, ValueError for the wrong number of leaves.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item "
            f"of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: IsLeaf | None = None) -> Iterator[Any]:
    """The leaves, one after the other."""
    yield from tree_leaves(tree, is_leaf)


def tree_leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of ``tree`` from left to right."""
    leaves: list[Any] = []
    _flatten(tree, leaves, is_leaf)
    return leaves


def tree_structure(tree: Any, is_leaf: IsLeaf | None = None) -> TreeSpec:
    """The structure of ``tree``."""
    return _flatten(tree, [], is_leaf)


def tree_is_leaf(tree: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether ``tree`` is a leaf itself."""
    return node_type(tree) is None or (is_leaf is not None and is_leaf(tree))


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of a call's arguments, those of the keywords last."""
    return tree_leaves((args, kwargs))


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The tree with ``func`` applied to each leaf, and to what stands there in each of ``rests``.

    Raises ValueError when one of ``rests`` has other nodes above.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(list(map(func, leaves, *[spec.flatten_up_to(r) for r in rests])))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Calls ``func`` as ``tree_map`` does, and returns ``tree`` itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for arguments in zip(leaves, *[spec.flatten_up_to(r) for r in rests], strict=True):
        func(*arguments)
    return tree


def _chosen(types_or_predicate: Any) -> Callable[[Any], bool]:
    if isinstance(types_or_predicate, (type, tuple)) or not callable(types_or_predicate):
        return lambda leaf: isinstance(leaf, types_or_predicate)
    predicate: Callable[[Any], bool] = types_or_predicate
    return predicate


def tree_map_only(types: Any, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The tree with ``func`` applied to the leaves of these types, or for which the predicate holds."""
    chosen = _chosen(types)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(types: Any, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Calls ``func`` as ``tree_map_only`` does, and returns ``tree`` itself."""
    chosen = _chosen(types)
    return tree_map_(lambda leaf: func(leaf) if chosen(leaf) else None, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether ``pred`` holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether ``pred`` holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


class _Star:
    """A leaf of a printed structure."""

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The structure as it looks with stars for leaves: ``{'a': [*, *]}``."""
    return repr(treespec.unflatten([_Star() for _ in range(treespec.num_leaves)]))


def _broadcast_to_and_flatten(
    tree: Any, treespec: TreeSpec, is_leaf: IsLeaf | None = None
) -> list[Any] | None:
    """For each leaf of the structure, the leaf of ``tree`` that stands there or above; None for no fit.

    ``tree`` is a prefix of the structure: ``(0, None)`` broadcast to ``([*, *], *)`` is ``[0, 0, None]``.
    """
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.type is None:
        return None
    kind = node_type(tree)
    if kind is not treespec.type:
        return None
    children = list(CONTAINERS[kind].flatten_fn(tree)[0])
    if len(children) != treespec.num_children:
        return None
    if kind in _DICTS:
        try:
            children = treespec._matching_children(tree)
        except ValueError:
            return None
    result: list[Any] = []
    for child, spec in zip(children, treespec._children, strict=True):
        leaves = _broadcast_to_and_flatten(child, spec, is_leaf)
        if leaves is None:
            return None
        result += leaves
    return result
