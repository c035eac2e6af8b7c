"""``tengen.ops.aten``: the operators that tengen declares, by name and overload."""

from __future__ import annotations

from typing import Any

import pytest

import tengen
from tengen import Tensor
from tengen.generated.operators import OPERATORS, OVERLOADS
from tengen.overrides import TengenFunctionMode

aten = tengen.ops.aten
X = tengen.tensor([[1.0, -2.0], [3.0, 4.0]])


def own() -> list[str]:
    return [name for name in dir(aten) if not name.startswith("__")]


def test_every_declared_operator_is_there() -> None:
    libraries = {n for v in tengen.library.loaded().values() for n in vars(v.operators)}
    assert set(own()) == {n for n in OVERLOADS if "::" not in n and n not in libraries}
    for name in own():
        packet = getattr(aten, name)
        found = {f"{name}.{o}".removesuffix(".default") for o in packet.overloads()}
        assert found == set(OVERLOADS[name]), name


def test_schemas_are_those_of_the_declarations() -> None:
    for name in own():
        packet = getattr(aten, name)
        for overload in map(packet.__getattr__, packet.overloads()):
            full = overload.name().removeprefix("aten::")
            declared = OPERATORS[full].schema.replace("=Mean", "=1")
            assert str(overload._schema).replace(", ", ",") == f"aten::{declared}".replace(", ", ",")
            assert overload._schema.full_name == overload.name()
            names = [row[0].removesuffix("_") for row in OPERATORS[full].parameters]  # from_ stands for from
            written = [a.name for a in overload._schema.arguments if a.kwarg_only and a.is_write]
            if len(written) > 1:  # they are given together
                names[-1:] = written
            assert [a.name for a in overload._schema.arguments] == names, full


def tags(name: str) -> list[str]:
    packet, _, overload = name.partition(".")
    return [tag.name for tag in getattr(getattr(aten, packet), overload or "default").tags]


def test_tags() -> None:
    assert tags("add.Tensor") == ["core", "pointwise", "pt2_compliant_tag"]
    assert tags("add_.Tensor") == ["inplace", "pointwise", "pt2_compliant_tag"]
    assert tags("add.out") == ["out", "pointwise", "pt2_compliant_tag"]
    assert tags("t_") == ["inplace", "inplace_view", "pt2_compliant_tag"]
    assert tags("masked_select") == ["dynamic_output_shape", "pt2_compliant_tag"]
    assert tags("split_copy.Tensor_out") == ["out", "pt2_compliant_tag", "view_copy"]
    assert tengen.Tag.nondeterministic_seeded in aten.bernoulli_.float.tags
    assert tags("frexp.Tensor") == ["pointwise", "pt2_compliant_tag"], "its kernel is a function"


@pytest.mark.oracle
def test_tags_beside_torch() -> None:
    import torch

    compared = ("core", "inplace", "out", "inplace_view", "nondeterministic_seeded", "pt2_compliant_tag")
    differing = set()
    for packet in map(aten.__getattr__, own()):
        theirs = getattr(torch.ops.aten, packet.__name__, None)
        for name in set(packet.overloads()) & set(theirs.overloads() if theirs is not None else ()):
            sets = [{str(t).rpartition(".")[2] for t in getattr(p, name).tags} for p in (packet, theirs)]
            differing |= {
                (packet.__name__, name, tag) for tag in compared if len([s for s in sets if tag in s]) == 1
            }
    # PyTorch's own slips; and the derivative of a pool is made here by that of the pool.
    assert differing == {
        ("atan2", "out", "core"),
        ("avg_pool2d_backward", "default", "core"),
        ("empty_permuted", "default", "core"),
    }


@pytest.mark.oracle
def test_schemas_beside_torch() -> None:
    import torch

    overloads = [
        (getattr(packet, o), getattr(getattr(torch.ops.aten, packet.__name__), o))
        for packet in map(aten.__getattr__, own())
        for o in packet.overloads()
        if o in getattr(getattr(torch.ops.aten, packet.__name__, None), "overloads", list)()
    ]
    assert len(overloads) > 1000
    assert sum(str(ours._schema) == str(theirs._schema) for ours, theirs in overloads) > 0.9 * len(overloads)
    for name in ("add.Tensor", "mse_loss.default", "sum.dim_IntList", "lu_unpack.out"):
        base, _, overload = name.partition(".")
        ours, theirs = (getattr(getattr(ops, base), overload) for ops in (aten, torch.ops.aten))
        assert str(ours._schema) == str(theirs._schema)
        assert (ours.name(), repr(ours), str(ours)) == (theirs.name(), repr(theirs), str(theirs))


def test_calls() -> None:
    assert tengen.equal(aten.add(X, 1), X + 1)
    assert tengen.equal(aten.add.Tensor(X, X, alpha=2), 3 * X)
    assert tengen.equal(aten.sum.dim_IntList(X, [0]), X.sum(0))
    assert tengen.equal(aten.sum.default(X), X.sum())
    assert tengen.equal(aten.zeros.default([2], dtype=tengen.int64), tengen.zeros(2, dtype=tengen.int64))
    out = tengen.empty(2, 2)
    assert aten.add.out(X, X, out=out) is out
    assert tengen.equal(out, X + X)
    assert tengen.equal(tengen.func.vmap(aten.mul.Tensor)(X, X), X * X)
    assert tengen.equal(tengen.func.grad(lambda x: aten.mul.Tensor(x, x).sum())(X), 2 * X)


def test_in_place() -> None:
    x = X.clone()
    assert aten.add_.Scalar(x, 1) is x
    assert tengen.equal(x, X + 1)


def test_names() -> None:
    assert repr(aten.add.Tensor) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert (str(aten.add), str(aten.abs.default)) == ("aten.add", "aten.abs.default")
    assert aten.add is tengen.ops.aten.add
    assert aten.add.Tensor.overloadpacket is aten.add
    assert (aten.add.Tensor.namespace, aten.abs.default.name()) == ("aten", "aten::abs")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: aten.add.Tensor(X), r"add.Tensor\(\): missing required argument 'other'"),
        (lambda: aten.add.Tensor(X, "x"), r"add.Tensor\(\): argument 'other' .* must be Tensor, not str"),
        (lambda: aten.add.out(X, X), r"add.out\(\): missing required argument 'out'"),
        (lambda: aten.add.Tensor(X, X, out=X), r"add.Tensor\(\): got an unexpected keyword argument 'out'"),
        (lambda: aten.sum.default(X, 1), r"sum.default\(\): takes 1 positional argument but 2 were given"),
        (lambda: aten.sum([1]), "invalid combination of arguments"),
    ],
)
def test_arguments_that_do_not_fit(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_absent_names() -> None:
    with pytest.raises(AttributeError, match="tengen declares no operator 'nope'"):
        _ = aten.nope
    with pytest.raises(AttributeError, match=r"'aten\.add' has no overload name 'nope'"):
        _ = aten.add.nope


def test_modes_see_the_overload() -> None:
    seen = []

    class Mode(TengenFunctionMode):
        def __tengen_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Mode():
        found = aten.add.Tensor(X, X)
        aten.relu(X)
    assert isinstance(found, Tensor)
    assert seen == [aten.add.Tensor, aten.relu]
