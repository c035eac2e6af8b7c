"""Bindings: how they ask for the Type that runs them, and what they hand it."""

from __future__ import annotations

from tengen.codegen.specialise.binding import Attempt, Binding
from tengen.ir.reader import read_expression as read


def binding(*attempts: Attempt, receiver: str = "self") -> Binding:
    runs = read(receiver) if receiver else None
    return Binding("f", ("self", "other"), "Tensor", runs, attempts, read("call()"), "")


def attempt(call: str, *tests: str, receiver: str = "") -> Attempt:
    return Attempt(tuple(map(read, tests)), read(call), read(receiver) if receiver else None)


def test_a_type_that_is_asked_once_has_no_name() -> None:
    made = binding(attempt("T.f(self, other)", "other.__class__ is int"))
    assert list(made.lines())[:3] == [
        "if not active:",
        "    if other.__class__ is int:",
        "        return self._type.f(self, other)",
    ]


def test_a_type_that_is_asked_more_often_has() -> None:
    for attempts in (
        (attempt("T.f(self, other)", "other._type is T"),),
        (attempt("T.f(self, other)"), attempt("T.g(self, other)")),
    ):
        assert list(binding(*attempts).lines())[:2] == ["if not active:", "    T = self._type"]


def test_a_guard_may_name_it() -> None:
    """As that of functions of lists does, which have no receiver."""
    made = binding(attempt("T.cat(tensors)"), receiver="")
    assert list(made.lines()) == ["if not active:", "    return T.cat(tensors)", "return call()"]


def test_an_overload_may_have_another_receiver() -> None:
    made = binding(
        attempt("T.f(self, other)", "other.__class__ is int"),
        attempt("T.g(self, other)", "self.__class__ in T.weak", receiver="other"),
        receiver="input",
    )
    assert list(made.lines()) == [
        "if not active and input.__class__ in plain:",
        "    if other.__class__ is int:",
        "        return input._type.f(self, other)",
        "if not active and other.__class__ in plain:",
        "    T = other._type",
        "    if self.__class__ in T.weak:",
        "        return T.g(self, other)",
        "return call()",
    ]
