"""Bindings: how they ask for the Type that runs them, and what they hand it."""

from __future__ import annotations

from tengen.codegen.specialise.binding import Attempt, Binding


def binding(*attempts: Attempt, receiver: str = "self") -> Binding:
    return Binding("f", ("self", "other"), "Tensor", receiver, attempts, "call()", "")


def test_a_type_that_is_asked_once_has_no_name() -> None:
    made = binding(Attempt("other.__class__ is int", "t.f(self, other)"))
    assert list(made.statements())[:3] == [
        "if not active:",
        "    if other.__class__ is int:",
        "        return self._type.f(self, other)",
    ]


def test_a_type_that_is_asked_more_often_has() -> None:
    for attempts in (
        (Attempt("other._type is t", "t.f(self, other)"),),
        (Attempt("True", "t.f(self, other)"), Attempt("True", "t.g(self, other)")),
    ):
        assert list(binding(*attempts).statements())[:2] == ["if not active:", "    t = self._type"]


def test_a_guard_may_name_it() -> None:
    """As that of functions of lists does, which have no receiver."""
    made = binding(Attempt("True", "t.cat(tensors)"), receiver="")
    assert list(made.statements()) == ["if not active:", "    return t.cat(tensors)", "return call()"]


def test_an_overload_may_have_another_receiver() -> None:
    made = binding(
        Attempt("other.__class__ is int", "t.f(self, other)"),
        Attempt("self.__class__ in t.weak", "t.g(self, other)", "other"),
        receiver="input",
    )
    assert list(made.statements()) == [
        "if not active and input.__class__ in plain:",
        "    if other.__class__ is int:",
        "        return input._type.f(self, other)",
        "if not active and other.__class__ in plain:",
        "    t = other._type",
        "    if self.__class__ in t.weak:",
        "        return t.g(self, other)",
        "return call()",
    ]
