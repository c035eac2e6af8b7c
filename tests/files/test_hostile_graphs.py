"""Files of traced functions of unknown origin: ``jit.load`` reads what ``jit.save`` writes, and no more."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import tengen
from tengen import jit

Data = dict[str, Any]
Change = Callable[[Data], object]


TABLE = tengen.tensor([1.0, 2.0])


def program(x: Any, n: int) -> Any:
    h = tengen.nn.functional.layer_norm(x, (2,)).to(tengen.float64, memory_format=tengen.contiguous_format)
    return {"sum": h.sum(n), "parts": [h.t(), h * TABLE]}


def written() -> Data:
    """What is in a file of ``jit.save``."""
    file = io.BytesIO()
    jit.trace(program, (tengen.ones(3, 2), 0)).save(file)
    found: Data = tengen.load(io.BytesIO(file.getvalue()))
    return found


def load(data: Any) -> Any:
    file = io.BytesIO()
    tengen.save(data, file)
    return jit.load(io.BytesIO(file.getvalue()))


def inner(data: Data) -> Data:
    """The first node with a body."""
    found: Data = next(node for node in data["nodes"] if node["body"])
    return found


def doubled(depth: int) -> Any:
    """A small file of a structure of 2 ** depth parts."""
    found: Any = ("list", [])
    for _ in range(depth):
        found = ("list", [found, found])
    return found


def own() -> Any:
    found: Any = ("list", [])
    found[1].append(found)
    return found


def branches(depth: int) -> Any:
    found: Any = [0]
    for _ in range(depth):
        found = [found, found]
    return found


CHANGES: dict[str, tuple[Change, str]] = {
    "another format": (lambda d: d.update(format="tengen.jit 2"), "not written by"),
    "a field that is missing": (lambda d: d.pop("name"), "without the fields"),
    "a field too many": (lambda d: d.update(code="print()"), "without the fields"),
    "a name that is none": (lambda d: d.update(name=3), "'name' is a int, not a str"),
    "values of no type": (lambda d: d["values"].append((1, 2)), "a value that is no value"),
    "a value of a negative size": (
        lambda d: d["values"].__setitem__(0, (tengen.float32, (-1,), None, True, 0)),
        "a value that is no value",
    ),
    "a value whose type is a string": (
        lambda d: d["values"].__setitem__(0, ("float32", (3, 2), None, True, 0)),
        "a value that is no value",
    ),
    "no such input": (lambda d: d["inputs"].__setitem__(0, 999), "the number of a value that it has not"),
    "an input counted from the end": (lambda d: d["inputs"].__setitem__(0, -1), "the number of a value"),
    "an input too many": (lambda d: d["inputs"].append(0), "in another number"),
    "an output too few": (lambda d: d["outputs"].pop(), "in another number"),
    "an output that is never made": (lambda d: d["nodes"].pop(), "used before it is made"),
    "outputs of another kind": (lambda d: d["outputs"].__setitem__(0, True), "the number of a value"),
    "inputs that are no arguments": (lambda d: d.update(takes=([0, 1], {})), "no arguments"),
    "inputs with other numbers": (lambda d: d.update(takes=((0, 2), {})), "without a number"),
    "inputs in a set": (lambda d: d.update(takes=(({0}, 1), {})), "a set as part"),
    "inputs without end": (lambda d: d.update(takes=((branches(60),), {})), "in two places"),
    "a plain input that is not": (lambda d: d["plain"].update({7: 1}), "inputs of other numbers"),
    "a plain input by name": (lambda d: d["plain"].update(x=1), "inputs of other numbers"),
    "a constant of another shape": (
        lambda d: d["constants"].__setitem__(0, (d["constants"][0][0], tengen.ones(5), False, False)),
        "another type than its value",
    ),
    "a constant that is none": (lambda d: d["constants"].append((0, 1, False, False)), "no tensor"),
    "a call of what is no operator": (
        lambda d: inner(d).update(operator="save"),
        "save, an operator that is not",
    ),
    "a call by path": (lambda d: inner(d).update(operator="os.system"), "os.system, an operator that is not"),
    "a call with too many": (lambda d: inner(d)["arguments"][1].append(None), "which takes"),
    "a call with too few": (lambda d: inner(d)["arguments"][1].pop(), "which takes"),
    "arguments in a dict": (lambda d: inner(d).update(arguments={}), "'arguments' is a dict"),
    "an argument of no kind": (lambda d: inner(d)["arguments"][1].__setitem__(0, ("call", "x")), "is none"),
    "an argument of three": (lambda d: inner(d)["arguments"][1].__setitem__(0, (1, 2, 3)), "is none"),
    "a dict as an argument": (lambda d: inner(d)["arguments"][1].__setitem__(0, {}), "is none"),
    "a tensor as an argument": (
        lambda d: inner(d)["arguments"][1].__setitem__(0, ("itself", tengen.ones(2))),
        "is none",
    ),
    "a value as no number": (
        lambda d: inner(d)["arguments"][1].__setitem__(0, ("value", "0")),
        "the number of",
    ),
    "what is used before": (lambda d: d["nodes"].reverse(), "used before it is made"),
    "an own list": (lambda d: inner(d)["arguments"][1].__setitem__(0, own()), "in two places"),
    "a list without end": (lambda d: inner(d)["arguments"][1].__setitem__(0, doubled(60)), "in two places"),
    "a node twice": (lambda d: inner(d)["body"].append(inner(d)["body"][0]), "in two places"),
    "a node in itself": (lambda d: inner(d)["body"].append(inner(d)), "in two places"),
    "a body that is none": (lambda d: inner(d).update(body=()), "a body that is no list"),
    "a source that is none": (lambda d: inner(d).update(source=("file", "line", "name")), "no place"),
    "a result that is no data": (lambda d: inner(d).update(result={"a": 1}), "is none"),
    "chance by a number": (lambda d: inner(d).update(random=1), "'random' is a int"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_what_is_refused(case: str) -> None:
    change, expected = CHANGES[case]
    data = written()
    change(data)
    with pytest.raises(jit.LoadError, match=expected):
        load(data)


def test_what_is_not_changed_loads() -> None:
    x = tengen.arange(6.0).reshape(3, 2)
    found, expected = load(written())(x, 0), program(x, 0)
    assert [t.tolist() for t in tengen.utils.pytree.tree_leaves(found)] == [
        t.tolist() for t in tengen.utils.pytree.tree_leaves(expected)
    ]


@pytest.mark.parametrize(
    "other", [None, 1, [], "text", {}, {"weight": tengen.ones(2)}, {"format": b"x"}], ids=str
)
def test_other_files(other: Any) -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"not written by tengen\.jit\.save"):
        load(other)
    assert issubclass(jit.LoadError, RuntimeError) and issubclass(jit.LoadError, pickle.UnpicklingError)
