"""``utils.pytree``, and torch's where that is installed: the same of both."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple
from types import ModuleType
from typing import Any

import pytest

HAVE_TORCH = importlib.util.find_spec("torch") is not None
TORCH = pytest.param(
    "torch.utils._pytree",
    marks=[pytest.mark.oracle, pytest.mark.skipif(not HAVE_TORCH, reason="torch is not installed")],
)
Point = namedtuple("Point", "x y")
Place = namedtuple("Place", "x y")


class Special(Point):
    pass


class Derived(tuple[Any, ...]):
    pass


@pytest.fixture(params=["tengen.utils.pytree", TORCH])
def p(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(request.param)


TREES: list[tuple[Any, list[Any]]] = [
    (1, [1]),
    (None, [None]),
    ([], []),
    ((), []),
    ({}, []),
    ([1, (2, None), {"a": 3}], [1, 2, None, 3]),
    ({"b": 1, "a": [2]}, [1, 2]),
    (OrderedDict(b=1, a=2), [1, 2]),
    (defaultdict(list, b=[1, 2]), [1, 2]),
    (deque([1, 2], maxlen=3), [1, 2]),
    (Point(1, [2]), [1, 2]),
    (Special(1, 2), [1, 2]),
    (Derived([1, 2]), [Derived([1, 2])]),
    ("text", ["text"]),
    ({1, 2}, [{1, 2}]),
]


@pytest.mark.parametrize(("tree", "leaves"), TREES)
def test_there_and_back(p: ModuleType, tree: Any, leaves: list[Any]) -> None:
    found, spec = p.tree_flatten(tree)
    assert found == leaves == p.tree_leaves(tree) == list(p.tree_iter(tree))
    assert spec == p.tree_structure(tree) and hash(spec) == hash(p.tree_structure(tree))
    again = p.tree_unflatten(found, spec)
    assert again == tree and type(again) is type(tree)
    assert spec.num_leaves == len(leaves)
    assert p.tree_map(lambda leaf: leaf, tree) == tree


def test_what_containers_remember(p: ModuleType) -> None:
    made = p.tree_map(lambda x: x + 1, defaultdict(list, a=1))
    assert made.default_factory is list and made["a"] == 2
    assert p.tree_map(lambda x: x + 1, deque([1, 2], maxlen=2)).maxlen == 2


def test_structures_that_differ(p: ModuleType) -> None:
    trees = [(1, 2), [1, 2], [1, [2]], {"a": 1, "b": 2}, {"b": 1, "a": 2}, Point(1, 2), Place(1, 2), 1, [1]]
    specs = [p.tree_structure(tree) for tree in trees]
    for i, one in enumerate(specs):
        for j, other in enumerate(specs):
            assert (one == other) is (i == j)


def test_the_text_of_a_structure(p: ModuleType) -> None:
    assert p.treespec_pprint(p.tree_structure({"a": [1, (2, None)], "p": Point(1, 2)})) == (
        "{'a': [*, (*, *)], 'p': Point(x=*, y=*)}"
    )
    assert repr(p.tree_structure([1])) == "TreeSpec(list, None, [*])"


def test_map_over_several_trees(p: ModuleType) -> None:
    add = lambda a, b: a + b  # noqa: E731
    assert p.tree_map(add, [1, (2,)], [10, (20,)]) == [11, (22,)]
    assert p.tree_map(add, {"a": 1, "b": 2}, {"b": 10, "a": 20}) == {"a": 21, "b": 12}
    assert p.tree_map(add, OrderedDict(a=1), {"a": 2}) == OrderedDict(a=3)
    assert p.tree_map(lambda a, b: (a, b), [1, 2], [[3], 4]) == [(1, [3]), (2, 4)]


@pytest.mark.parametrize(
    ("tree", "other", "message"),
    [
        ([1, 2], [1], "arity mismatch; expected 2, but got 1"),
        ([1, 2], (1, 2), "type mismatch"),
        ([1, 2], 3, "type mismatch"),
        ({"a": 1}, {"b": 2}, "keys mismatch"),
        (Point(1, 2), (1, 2), "type mismatch"),
        (Point(1, 2), Place(1, 2), "context mismatch"),
    ],
)
def test_trees_that_do_not_match(p: ModuleType, tree: Any, other: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        p.tree_map(lambda a, b: a, tree, other)
    with pytest.raises(ValueError, match=message):
        p.tree_structure(tree).flatten_up_to(other)


def test_the_number_of_leaves(p: ModuleType) -> None:
    spec = p.tree_structure([1, (2, 3)])
    for leaves in ([1, 2], [1, 2, 3, 4]):
        with pytest.raises(ValueError, match="refers to a pytree that holds 3 items"):
            p.tree_unflatten(leaves, spec)
    assert p.tree_unflatten(iter((4, 5, 6)), spec) == [4, (5, 6)]
    with pytest.raises(TypeError, match="Expected `treespec` to be"):
        p.tree_unflatten([1], [1])


def test_leaves_by_decree(p: ModuleType) -> None:
    is_leaf = lambda tree: isinstance(tree, tuple)  # noqa: E731
    assert p.tree_leaves([1, (2, 3), [4]], is_leaf=is_leaf) == [1, (2, 3), 4]
    assert p.tree_map(len, [(1, 2), ()], is_leaf=is_leaf) == [2, 0]


def test_maps_of_some_leaves(p: ModuleType) -> None:
    assert p.tree_map_only(int, lambda x: -x, [1, 2.0, "a"]) == [-1, 2.0, "a"]
    assert p.tree_map_only((int, str), lambda x: x * 2, [1, 2.0, "a"]) == [2, 2.0, "aa"]
    assert p.tree_map_only(lambda x: x == 1, lambda x: x + 1, [1, 3]) == [2, 3]
    seen: list[Any] = []
    tree = [1, "a", (2,)]
    assert p.tree_map_(seen.append, tree) is tree and seen == [1, "a", 2]
    assert p.tree_map_only_(str, seen.append, tree) is tree and seen[3:] == ["a"]
    assert p.tree_all(bool, [1, [2]]) and not p.tree_all(bool, [1, 0])
    assert p.tree_any(bool, [1, 0]) and not p.tree_any(bool, [])
    assert p.arg_tree_leaves(1, [2], a=3) == [1, 2, 3]


def test_prefixes(p: ModuleType) -> None:
    spread = p._broadcast_to_and_flatten
    assert spread(0, p.tree_structure(([1, 2], 3))) == [0, 0, 0]
    assert spread((0, None), p.tree_structure(([1, 2], 3))) == [0, 0, None]
    assert spread(({"a": 1, "b": 2}, 3), p.tree_structure(({"a": 0, "b": (0, 0)}, 0))) == [1, 2, 2, 3]
    assert spread((0, None), p.tree_structure([[1, 2], 3])) is None
    assert spread((0, 1, 2), p.tree_structure((1, 2))) is None
    assert spread((0, (1, 2)), p.tree_structure((1, 2))) is None


def test_containers_of_ones_own(p: ModuleType) -> None:
    class Box:
        def __init__(self, items: Any, label: str) -> None:
            self.items, self.label = items, label

    p.register_pytree_node(Box, lambda b: (b.items, b.label), lambda items, label: Box(list(items), label))
    with pytest.raises(ValueError, match="is already registered as pytree node"):
        p.register_pytree_node(Box, lambda b: (b.items, b.label), lambda items, label: Box(items, label))
    with pytest.raises(ValueError, match="is already registered as pytree node"):
        p.register_pytree_node(list, lambda b: (b, None), lambda items, _: items)
    made = p.tree_map(lambda x: x * 2, [Box([1, (2,)], "x")])[0]
    assert made.items == [2, (4,)] and made.label == "x"
    with pytest.raises(ValueError, match="context mismatch"):
        p.tree_map(lambda a, b: a, Box([1], "x"), Box([1], "y"))


def test_what_operators_return() -> None:
    import tengen

    pytree = tengen.utils.pytree
    result = tengen.max(tengen.tensor([[1.0, 3.0], [5.0, 2.0]]), 1)
    mapped = pytree.tree_map(lambda t: t.tolist(), result)
    assert type(mapped) is type(result) and mapped.values == [3.0, 5.0]
    size = pytree.tree_map(lambda n: n + 1, tengen.Size([1, 2]))
    assert size == (2, 3) and isinstance(size, tengen.Size)


def test_keys_in_another_order() -> None:
    """torch goes by position here, and gives each the other's."""
    from tengen.utils import pytree

    structure = pytree.tree_structure({"a": 1, "b": 2})
    assert pytree._broadcast_to_and_flatten({"b": "of b", "a": "of a"}, structure) == ["of a", "of b"]
    assert pytree._broadcast_to_and_flatten({"b": 1, "c": 2}, structure) is None


PRIVATE = """
import importlib, sys
from collections import OrderedDict, defaultdict, deque, namedtuple
if sys.argv[1] == "tengen":
    import tengen
    tengen.as_torch()
p = importlib.import_module("torch.utils._pytree")
Pair = namedtuple("Pair", "a b")
class Box:
    def __init__(self, *items): self.items = items
class Bare(Box): pass
p.register_pytree_node(
    Box, lambda b: (list(b.items), {"n": len(b.items)}), lambda items, _: Box(*items),
    serialized_type_name="t.Box",
    to_dumpable_context=lambda c: c["n"], from_dumpable_context=lambda n: {"n": n},
    flatten_with_keys_fn=lambda b: (
        [(p.GetAttrKey(f"at{i}"), x) for i, x in enumerate(b.items)], {"n": len(b.items)}
    ),
)
p._register_pytree_node(Bare, lambda b: (b.items, None), lambda items, _: Bare(*items))
tree = {"a": [1, (2, 3)], "b": OrderedDict(x=4)}
tree |= {"c": defaultdict(list, z=5), "d": deque([6], 3), "e": Box(7, [8])}
text = p.treespec_dumps(p.tree_structure(tree))
again = p.treespec_loads(text)
assert again == p.tree_structure(tree) and p.tree_leaves(p.tree_unflatten(range(8), again)) == list(range(8))
pairs, spec = p.tree_flatten_with_path({**tree, "f": Pair(9, 10)})
assert p.key_get(tree, pairs[2][0]) == 3 and p.key_get({"f": Pair(9, 10)}, pairs[-1][0]) == 10
print(text)
print([(p.keystr(path), leaf) for path, leaf in pairs], spec.num_leaves)
print(p.tree_map_with_path(lambda path, x, y: (len(path), x + y), [1, (2,)], [3, (4,)]))
print(p._dict_flatten({"a": 1}), p._dict_flatten_with_keys({"a": 1}), p._dict_unflatten([1], ["a"]))
print(p._get_node_type([]) is list, list in p.SUPPORTED_NODES, p.SUPPORTED_NODES[Box].flatten_fn(Box(1)))
for call in (
    lambda: p.treespec_dumps(3), lambda: p.treespec_dumps(spec, 5), lambda: p.treespec_loads("[2, {}]"),
    lambda: p.treespec_loads('[1, {"type": "no", "context": "null", "children_spec": []}]'),
    lambda: p.treespec_dumps(p.tree_structure(Bare(1))),
    lambda: p.treespec_dumps(p.tree_structure(Pair(1, 2))),
    lambda: p.tree_flatten_with_path(Bare(1)), lambda: p.register_pytree_node(Box, None, None),
    lambda: p.register_pytree_node(int, None, None, to_dumpable_context=str),
):
    try:
        print(call())
    except (NotImplementedError, TypeError, ValueError) as error:
        print(type(error).__name__)
"""


def test_the_private_names_that_packages_use() -> None:
    ways = ("tengen", "torch") if HAVE_TORCH else ("tengen",)
    said = [
        subprocess.run(
            [sys.executable, "-c", PRIVATE, way], capture_output=True, text=True, check=True
        ).stdout
        for way in ways
    ]
    assert said[-1] == said[0] and said[0].count("NotImplementedError") == 3
