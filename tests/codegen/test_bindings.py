"""Bindings: how they ask for the Type that runs them."""

from __future__ import annotations

from tengen.codegen.specialise.bindings import Attempt, Binding


def binding(*attempts: Attempt, receiver: str = "self") -> Binding:
    return Binding("f", "self, other", "Tensor", receiver, attempts, "call()", "")


def test_a_type_that_is_asked_once_has_no_name() -> None:
    made = binding(Attempt("other.__class__ is int", "t.f(self, other)"))
    assert not made.names_type
    assert made.first_paths == (Attempt("other.__class__ is int", "self._type.f(self, other)"),)


def test_a_type_that_is_asked_more_often_has() -> None:
    for attempts in (
        (Attempt("other._type is t", "t.f(self, other)"),),
        (Attempt("True", "t.f(self, other)"), Attempt("True", "t.g(self, other)")),
    ):
        made = binding(*attempts)
        assert made.names_type and made.first_paths == attempts


def test_a_guard_may_name_it() -> None:
    """As that of functions of lists does, which have no receiver."""
    made = binding(Attempt("True", "t.cat(tensors)"), receiver="")
    assert not made.names_type and made.first_paths == made.attempts
