"""Containers: what lists and dicts of modules and parameters do, and what they refuse."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest


def test_sequential(m: Any) -> None:
    a, b, c = m.nn.Linear(2, 3), m.nn.Identity(), m.nn.Linear(3, 1)
    n = m.nn.Sequential(a, b)
    assert n.append(c) is n and len(n) == 3 and [*n] == [a, b, c] and n[-1] is c and [*n[1:]] == [b, c]
    named = m.nn.Sequential(OrderedDict(first=a, second=b))
    assert named[0] is a and named.first is a and type(named[:1]) is m.nn.Sequential
    del n[1]
    assert [*n._modules] == ["0", "1"] and n.insert(1, b)[1] is b and n.insert(-1, b)[2] is b
    assert n.pop(2) is b and n(m.ones(1, 2)).shape == (1, 1)
    n[1] = m.nn.Identity()
    assert n[1] is not b
    assert len(n + n) == 6 and len(2 * n) == len(n * 2) == 6
    n += m.nn.Sequential(b)
    n *= 2
    assert len(n) == 8 and n[7] is b and n.extend([b])[8] is b
    del n[1:]
    assert [*n] == [a] and not [name for name in dir(n) if name.isdigit()]


def test_module_list(m: Any) -> None:
    a, b = m.nn.Identity(), m.nn.Linear(1, 1)
    n = m.nn.ModuleList([a])
    n += [b]
    n.insert(0, b)
    assert (
        [*n] == [b, a, b]
        and n[-2] is a
        and type(n[:2]) is m.nn.ModuleList
        and len(n + m.nn.ModuleList([a, b])) == 5
    )
    n[0] = a
    del n[2]
    assert [*n] == [a, a] and n.append(b).pop(2) is b and repr(m.nn.ModuleList()) == "ModuleList()"
    with pytest.raises(NotImplementedError):
        n(1)


def test_module_dict(m: Any) -> None:
    a, b = m.nn.Identity(), m.nn.Linear(1, 1)
    n = m.nn.ModuleDict({"z": a, "y": b})
    n.update([("x", a)])
    n["w"] = b
    assert [*n] == [*n.keys()] == ["z", "y", "x", "w"] and "x" in n and next(iter(n.values())) is a
    assert n.pop("z") is a and len(n) == 3 and dict(n.items())["y"] is b
    del n["y"]
    n.update(m.nn.ModuleDict({"q": a}))
    assert n["q"] is a
    n.clear()
    assert not len(n)


def test_parameter_list(m: Any) -> None:
    n = m.nn.ParameterList([m.ones(2), m.nn.Parameter(m.ones(3)), "other"])
    assert type(n[0]) is m.nn.Parameter and n[2] == "other" and len(n) == 3 and len([*n.parameters()]) == 2
    n += [m.zeros(1)]
    n[0] = m.zeros(4)
    assert n[0].shape == (4,) and len(n[1:]) == 3 and [*n.state_dict()] == ["0", "1", "3"]
    assert repr(n) == (
        "ParameterList(\n"
        f"    (0): Parameter containing: [{m.__name__}.float32 of size 4]\n"
        f"    (1): Parameter containing: [{m.__name__}.float32 of size 3]\n"
        "    (2): Object of type: str\n"
        f"    (3): Parameter containing: [{m.__name__}.float32 of size 1]\n"
        ")"
    )
    assert n.append(m.ones(1)) is n and n[-1].shape == (1,)


def test_parameter_dict(m: Any) -> None:
    n = m.nn.ParameterDict({"z": m.ones(2), "a": m.ones(3)})
    assert [*n] == ["a", "z"] and [*reversed(n)] == ["z", "a"] and [*n.keys()] == ["a", "z"]
    n.update(OrderedDict(y=m.ones(1), b=3))
    assert [*n] == ["a", "z", "y", "b"] and n["b"] == 3 and "y" in n and n.get("q", 5) == 5
    assert n.setdefault("q", m.ones(1)) is n["q"] and n.popitem()[0] == "q" and n.pop("b") == 3
    assert [*(n | m.nn.ParameterDict({"c": m.ones(1)}))] == ["a", "z", "y", "c"]
    copied = n.copy()
    n |= {"d": m.ones(1)}
    assert copied["a"] is n["a"] and "d" not in copied and len([*n.values()]) == 4
    assert [*n.fromkeys("xy", 1).items()] == [("x", 1), ("y", 1)]
    assert f"    (a): Parameter containing: [{m.__name__}.FloatTensor of size 3]" in repr(n)
    del n["d"]
    n.clear()
    assert not n and not [*n.parameters()]


REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "index": (lambda m: m.nn.Sequential()[0], IndexError, "index 0 is out of range"),
    "list index": (lambda m: m.nn.ModuleList([])[-1], IndexError, "index -1 is out of range"),
    "parameter index": (lambda m: m.nn.ParameterList([])[2], IndexError, "index 2 is out of range"),
    "insert": (
        lambda m: m.nn.Sequential().insert(1, m.nn.Identity()),
        IndexError,
        "Index out of range: 1",
    ),
    "insert a number": (lambda m: m.nn.Sequential().insert(0, 3), AssertionError, "module should be of type"),
    "no module": (lambda m: m.nn.Sequential(3), TypeError, "int is not a Module subclass"),
    "add": (lambda m: m.nn.Sequential() + 3, ValueError, "add operator supports only objects of Sequential"),
    "times 0": (lambda m: m.nn.Sequential() * 0, ValueError, "Non-positive multiplication factor 0"),
    "times a word": (lambda m: m.nn.Sequential() * "a", TypeError, r"unsupported operand type\(s\) for \*"),
    "extend": (
        lambda m: m.nn.ModuleList().extend(3),
        TypeError,
        "ModuleList.extend should be called with an iterable, but got int",
    ),
    "a tensor": (
        lambda m: m.nn.ParameterList(m.ones(2)),
        TypeError,
        "ParameterList.extend should be called with an iterable, but got Tensor",
    ),
    "update": (
        lambda m: m.nn.ModuleDict(3),
        TypeError,
        "ModuleDict.update should be called with an iterable of key/value pairs, but got int",
    ),
    "an element": (
        lambda m: m.nn.ModuleDict([3]),
        TypeError,
        "ModuleDict update sequence element #0 should be Iterable; isint",
    ),
    "a triple": (
        lambda m: m.nn.ParameterDict([("a", 1, 2)]),
        ValueError,
        "ParameterDict update sequence element #0 has length 3; 2 is required",
    ),
    "a key": (
        lambda m: m.nn.ParameterDict()[3],
        TypeError,
        r"cannot be used as a key as it is not a string \(type is 'int'\)",
    ),
    "no key": (lambda m: m.nn.ModuleDict()["a"], KeyError, "a"),
    "a call": (lambda m: m.nn.ParameterList()(1), RuntimeError, "ParameterList should not be called."),
    "a call of a dict": (lambda m: m.nn.ParameterDict()(1), RuntimeError, "ParameterDict should not be"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(m: Any, case: str) -> None:
    attempt, kind, text = REFUSED[case]
    with pytest.raises(kind, match=text):
        attempt(m)


def test_the_old_container(m: Any) -> None:
    with pytest.warns(FutureWarning, match=r"`nn.Container` is deprecated"):
        assert m.nn.Container(a=m.nn.Identity()).a is not None
