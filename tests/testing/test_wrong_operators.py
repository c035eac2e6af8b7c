"""Operators made wrong in one respect: the check of that respect sees it, and passes again without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import tengen
from tengen.autograd.forward import operators as forward_operators
from tengen.autograd.forward.operators import rule_of
from tengen.dispatch.operator import operator
from tengen.testing.aspects import aspects
from tengen.testing.failure import Failure

Function = Callable[..., Any]


class Wrong(NamedTuple):
    """What is called in place of an operator's method or tangent, which it is given."""

    aspect: str
    base: str  # the operator whose check it is
    name: str  # the operator or variant that is made wrong
    made: Callable[[Function], Function]
    text: str  # of the failure
    device: str = "cpu"
    tangent: bool = False


def counting(change: int) -> Callable[[Function], Function]:
    """Writes that count as others do not."""

    def made(right: Function) -> Function:
        def wrong(T: Any, self: Any) -> Any:
            result = right(self)
            self._storage.version += change
            return result

        return wrong

    return made


def then(after: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Something more is done to the result."""
    return lambda right: lambda T, *given: after(right(*given))


def first(before: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Something is done to the first argument before."""

    def made(right: Function) -> Function:
        def wrong(T: Any, self: Any, *given: Any) -> Any:
            before(self)
            return right(self, *given)

        return wrong

    return made


def contiguous(view: Any) -> Any:
    """The same shape over other strides."""
    return view.as_strided(view.shape, tengen.empty(view.shape).stride(), view.storage_offset())


def zeroed(tensor: Any) -> None:
    tensor.detach().numpy()[...] = 0


WRONG = {
    "another shape of as many": Wrong(
        "value", "exp", "exp", then(lambda r: r.reshape(-1)), r"kernel +\(12,\)"
    ),
    "another dtype": Wrong("value", "eq.Tensor", "eq.Tensor", then(lambda r: r + 0.5), "kernel of eq"),
    "a write that is not counted": Wrong("in place", "exp", "exp_", counting(-1), "0 writes are counted"),
    "a write that is counted twice": Wrong("in place", "exp", "exp_", counting(1), "2 writes are counted"),
    "another tensor": Wrong(
        "in place", "exp", "exp_", then(lambda r: r.clone()), "not the one that was given"
    ),
    "another value": Wrong(
        "in place", "exp", "exp_", then(lambda r: r.mul_(2)), "writes are counted|2 times"
    ),
    "a leaf is changed": Wrong("leaf", "exp", "exp_", first(zeroed), "changes its argument before it fails"),
    "a view that is copied": Wrong("views", "t", "t", then(lambda r: r.clone()), "memory of its own"),
    "a shape without data": Wrong(
        "without data", "exp", "exp", then(lambda r: r.reshape(-1)), "shape", "meta"
    ),
    "a dtype without data": Wrong(
        "without data", "exp", "exp", then(lambda r: r.to(tengen.int8)), "int8", "meta"
    ),
    "strides without data": Wrong(
        "without data", "t", "t", then(contiguous), r"strides \(2, 1\), offset 0\n", "meta"
    ),
    "a tangent's sign": Wrong(
        "tangent", "exp", "exp", then(lambda r: -r), "the sign is the wrong", tangent=True
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = WRONG[name]
    check = aspects()[wrong.aspect].verify
    check(wrong.base)
    if wrong.tangent:
        rule = rule_of(operator(wrong.name))
        assert rule is not None
        made = wrong.made(rule.formula)
        monkeypatch.setattr(rule, "formula", lambda *given: made(None, *given))
    else:
        for dtype in (tengen.float64, tengen.complex128):
            T = tengen.ones(1, dtype=dtype, device=wrong.device)._type
            method = operator(wrong.name).method
            monkeypatch.setattr(type(T), method, wrong.made(getattr(T, method)))
    with pytest.raises(Failure, match=wrong.text):
        check(wrong.base)
    monkeypatch.undo()
    check(wrong.base)


@pytest.mark.parametrize("change", [lambda t: t.to(tengen.float32), lambda t: t[0]], ids=["dtype", "shape"])
def test_tangents_are_like_results(change: Function, monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes them so is looked at as well."""
    check = aspects()["tangent"].verify
    check("exp")
    monkeypatch.setattr(forward_operators, "_broadcast_and_cast", lambda tangent, out: change(tangent))
    monkeypatch.setattr(forward_operators, "match_layout", lambda tangent, *_, **__: tangent)
    with pytest.raises(Failure, match="a tangent is not like its result"):
        check("exp")
