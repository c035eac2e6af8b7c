"""Templates say how the output looks, and decide nothing: see codegen/model for the statements they write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from tengen.codegen.gen import templates_dir
from tengen.codegen.model.nodes import Branch, JvpFunction, Local, NodeClass, Term
from tengen.codegen.specialise.bindings import Attempt, Binding
from tengen.codegen.specialise.keyword_calls import KeywordForm
from tengen.ir.expressions import Elements, Name
from tengen.ir.reader import read_expression as read
from tengen.ir.statements import let_all, lines

TEMPLATES = sorted(templates_dir().glob("*.jinja"))


def decisions(text: str) -> Iterator[str]:
    """What in a template is more than the question whether something is there: the kind, and its line."""
    tree = Environment().parse(text)
    macros = {m.name for m in tree.find_all(nodes.Macro)}
    for node in tree.find_all((nodes.Compare, nodes.And, nodes.Or, nodes.Not, nodes.Test, nodes.Call)):
        match node:
            case nodes.Not(node=nodes.Getattr(node=nodes.Name(name="loop"))):  # a comma between
                continue
            case nodes.Call(node=nodes.Name(name=name)) if name in macros:
                continue
            case nodes.Call(node=nodes.Getitem(node=nodes.Name(name="macros"))):
                continue
            case nodes.Call(node=nodes.Getattr(), args=[], kwargs=[]):  # statements that the model knows
                continue
        yield f"{type(node).__name__} in line {node.lineno}"


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: t.name)
def test_templates_decide_nothing(template: Path) -> None:
    assert not list(decisions(template.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{% if m.form == 'view' %}{% endif %}", 1),
        ("{{ 'a' if x.kind in ('b', 'c') }}", 1),
        ("{% if a and not b %}{% endif %}", 2),
        ("{{ m.name.replace('r', 'out') }}", 1),
        ("{% if x is none %}{% endif %}", 1),
        ("{% if m.doc %}{% for line in m.statements() %}{{ line }}{% endfor %}{% endif %}", 0),
        ("{% for a in b %}{{ a }}{{ ', ' if not loop.last }}{% endfor %}", 0),
    ],
)
def test_decisions_are_seen(text: str, found: int) -> None:
    assert len(list(decisions(text))) == found


# -- the statements that they write ----------------------------------------------------------------


def test_a_branch_over_tensors() -> None:
    prepare, named = (Local("x", read("node._x")),), (Local("t0", read("x + 1")),)
    branch = Branch(read("edges[0] is not None"), prepare, "g0", read("grad * x"), named)
    assert list(lines([branch.statement()])) == [
        "if edges[0] is not None:",
        "    x = node._x",
        "    t0 = x + 1",
        "    g0 = grad * x",
    ]


def test_a_branch_in_blocks_that_may_give_scalars() -> None:
    blocked = (let_all("g0, g1", read("run(f)")),)
    small = read("grad.size < LARGE")
    formula = read("f(grad)")
    branch = Branch(Name("wanted"), (), "g0, g1", formula, (), small, blocked, may_be_scalars=True)
    assert list(lines([branch.statement()])) == [
        "if wanted:",
        "    if grad.size < LARGE:",
        "        g0, g1 = f(grad)",
        "    else:",
        "        g0, g1 = run(f)",
        "    if g0.__class__ is not _array and g0 is not None:",
        "        g0 = _asarray(g0)",
        "    if g1.__class__ is not _array and g1 is not None:",
        "        g1 = _asarray(g1)",
    ]


@pytest.mark.parametrize(
    ("num_inputs", "constants", "expected"),
    [(1, (), []), (None, (), []), (3, (2,), ["num_inputs = 3", "constants = (2,)"])],
)
def test_attributes_of_nodes(num_inputs: int | None, constants: tuple[int, ...], expected: list[str]) -> None:
    node = NodeClass(
        "N", "B", (), "grad", (), (), (), Elements("tuple", ()), num_inputs=num_inputs, constants=constants
    )  # fmt: skip
    assert list(node.attributes()) == expected


def test_a_tangent_of_one_formula() -> None:
    function = JvpFunction("f", "", (("x_t", "x"),), (read("x_t * t"),), "", (("t", read("g(x)")),))
    assert list(function.lines()) == [
        "if x_t is None:",
        "    x_t = zero_tangent(x)",
        "t = g(x)",
        "return x_t * t",
    ]


def test_tangents_of_several_results() -> None:
    function = JvpFunction("f", "", (), (Name("a"), Name("b")), "", refused=(("x_t", read("no('x')")),))
    assert list(function.lines()) == ["if x_t is not None:", "    no('x')", "return (a, b)"]


def test_a_sum_of_tangents() -> None:
    terms = (Term("x_t", Name("x_t")), Term("y_t", Name("y_t"), negative=True))
    function = JvpFunction("f", "", (), (read("-s"),), "", terms=terms, sum="s")
    assert list(function.lines()) == [
        "s = None",
        "if x_t is not None:",
        "    s = x_t",
        "if y_t is not None:",
        "    s = -y_t if s is None else s - y_t",
        "if s is None:",
        "    return None",
        "return -s",
    ]


def binding(receiver: str, attempts: tuple[Attempt, ...], **more: object) -> list[str]:
    given = "Tensor", read(receiver), attempts, read("call()"), ""
    made = Binding("f", (), *given, **more)  # type: ignore[arg-type]
    return list(made.lines())


def attempt(call: str, *tests: str) -> Attempt:
    return Attempt(tuple(map(read, tests)), read(call))


def test_bindings() -> None:
    assert binding("self", (attempt("T.f(self)"),)) == [
        "if not active:",
        "    return self._type.f(self)",
        "return call()",
    ]
    attempts = (attempt("T.f_int(input, x)", "x.__class__ is int"), attempt("T.f(input)", "x is None"))
    assert binding("input", attempts, words=(("dim", "axis", "None"),)) == [
        "if axis is not MISSING:",
        "    dim = worded('f', 'dim', dim, None, axis)",
        "if not active and input.__class__ in plain:",
        "    T = input._type",
        "    if x.__class__ is int:",
        "        return T.f_int(input, x)",
        "    if x is None:",
        "        return T.f(input)",
        "return call()",
    ]


def test_bindings_with_keywords() -> None:
    form = KeywordForm((0, "dim"), (("dim_", "dim"),), (), read("T.f(self, dim_)"))
    assert binding("self", (), forms=(form,)) == [
        "if keywords and (not active):",
        "    T = self._type",
        "    given = (len(args), *keywords)",
        "    if given == (0, 'dim'):",
        "        dim_ = keywords['dim']",
        "        return T.f(self, dim_)",
        "return call()",
    ]
    assert "if keywords and (not active) and args and (args[0].__class__ in plain):" in binding(
        "args[0]", (), forms=(form,)
    )
