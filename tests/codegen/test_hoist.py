"""Which methods of the classes of a backend move up to their mother."""

from __future__ import annotations

from tengen.codegen.model.methods import AbsentMethod, CallMethod, KernelMethod, Method, Result
from tengen.codegen.specialise.hoist import ClassNode, hoist, tree
from tengen.ir.expressions import Name
from tengen.ir.reader import read_expression


def method(call: str) -> Method:
    return CallMethod("exp", "exp", (("self", "Tensor"),), "Tensor", read_expression(call))


def hoisted(*calls: str | None) -> ClassNode:
    """A mother of leaves whose methods have these texts, or that have no method."""
    leaves = {f"leaf{i}": {} if c is None else {"exp": method(c)} for i, c in enumerate(calls)}
    mother = tree("root", {"floating": leaves}).children[0]
    hoist(mother)
    return mother


def test_what_most_sisters_share_moves_up() -> None:
    """The text of most is the mother's; another stays where it is, and overrides."""
    for calls in (("rare", "common", "common"), ("common", "common", "rare"), ("common", "rare", "common")):
        mother = hoisted(*calls)
        assert mother.methods == {"exp": method("common")}
        own = [child.methods.get("exp") for child in mother.children]
        assert own == [None if c == "common" else method("rare") for c in calls]


def test_what_no_two_sisters_share_stays() -> None:
    mother = hoisted("one", "other", None)
    assert not mother.methods
    assert [list(child.methods) for child in mother.children] == [["exp"], ["exp"], []]


def test_a_sister_without_the_method_does_not_inherit_it() -> None:
    mother = hoisted("common", None, "common")
    assert [child.methods.get("exp") for child in mother.children] == [None, AbsentMethod("exp"), None]


def test_of_two_the_longer_moves_up() -> None:
    """A call is a line, and a kernel's method many: the class that has the call overrides."""
    kernel = KernelMethod(
        "exp", "exp", (("self", "Tensor"),), "Tensor", Name("k"), (Result("r", "out", Name("T")),), "out"
    )
    promoting = method('operator("exp")(self)')
    leaves = {f"leaf{i}": {"exp": m} for i, m in enumerate((promoting, promoting, kernel, kernel))}
    mother = tree("root", {"floating": leaves}).children[0]
    hoist(mother)
    assert mother.methods == {"exp": kernel}
    assert [child.methods.get("exp") for child in mother.children] == [promoting, promoting, None, None]
