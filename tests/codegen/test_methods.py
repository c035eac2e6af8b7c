"""What methods of Types are made of: results and records, and the statements that they become."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tengen.codegen.model.methods import KernelMethod, RecordMethod
from tengen.codegen.model.records import (
    Input,
    InputKind,
    Kept,
    Record,
    Save,
    SaveGroup,
    Undifferentiable,
    any_requires,
    next_edges,
)
from tengen.codegen.model.results import Cast, Relaid, Result, ResultKind
from tengen.ir.expressions import Expr, Name
from tengen.ir.reader import read_expression as read
from tengen.ir.statements import lines
from tengen.ir.writer import write

X = Input("x", InputKind.TENSOR)
T = Name("T")
ONE = Result("r", "out", T)
TWO = (Result("r0", "out0", T), Result("r1", "out1", read("T.int64_type"), optional=True))


def record(*results: Result, **more: object) -> Record:
    given: dict[str, object] = {"outputs": (0,), "saves_results": False, "constants": ()}
    return Record("_nodes.N", (X,), results, (), **(given | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("result", "first"),
    [
        (ONE, ["out = _new(Tensor)"]),
        (
            Result("r", "out", T, relaid=Relaid(read("r.ndim"), read("like(r)"))),
            ["if r.ndim:", "    r = like(r)"],
        ),
        (TWO[1], ["if r1 is None:", "    out1 = None", "else:", "    out1 = _new(Tensor)"]),
        (Result("r", "out", T, ResultKind.VIEW), ["out = as_view(self, r, T)"]),
    ],
)
def test_results(result: Result, first: list[str]) -> None:
    assert list(lines(result.statements(may_be_scalar=False)))[: len(first)] == first


def test_scalars_are_made_arrays() -> None:
    assert list(lines(ONE.statements(may_be_scalar=True)))[:2] == [
        "if r.__class__ is not _array:",
        "    r = _asarray(r)",
    ]


def test_views_are_neither_cast_nor_laid_out_anew() -> None:
    with pytest.raises(AssertionError):
        Result("r", "out", T, ResultKind.VIEW, Cast.ALWAYS)


def test_a_record_of_one_result() -> None:
    made = record(ONE, undifferentiable=Undifferentiable.NO_HISTORY)
    assert list(lines(made.statements("f")))[3:] == [
        "node.shape = r.shape",
        "node.type = out._type",
        "edges = node.next_edges = (x._edge or gradient_edge(x),)",
        "out._edge = (node, 0)",
        "out._requires_grad = True",
    ]
    assert write(made.condition) == "x._requires_grad and grad_mode.enabled and differentiable(out._type)"


def test_a_dtype_without_gradients_may_be_an_error() -> None:
    made = record(ONE, undifferentiable=Undifferentiable.ERROR)
    assert list(lines(made.statements("f")))[:2] == [
        "if dtype is not None and (not differentiable(out._type)):",
        "    raise no_gradients('f', out._type)",
    ]
    assert write(made.condition) == "x._requires_grad and grad_mode.enabled"


def test_a_record_of_several_results() -> None:
    made = record(*TWO, constants=(1,), saves_results=True)
    text = list(lines(made.statements("f")))
    assert "node.shape = (out0._array.shape, None if out1 is None else out1._array.shape)" in text
    assert text[-3:] == [
        "out0._edge = (node, 0)",
        "out0._requires_grad = True",
        "node.result_versions = {1: ((storage_of(out1), 0),)}",
    ]


def test_results_have_edges_if_they_are_differentiable_and_there() -> None:
    """They were made without."""
    assert list(lines(record(*TWO, outputs=(0, 1)).statements("f")))[-3:] == [
        "if out1 is not None:",
        "    out1._edge = (node, 1)",
        "    out1._requires_grad = True",
    ]
    assert not any("node" in line for line in lines(TWO[0].statements(may_be_scalar=False)))


def test_what_is_saved_under_a_condition() -> None:
    group = SaveGroup(
        (0,), None, (Save("_x", Kept.TENSOR, "x", InputKind.OPTIONAL), Save("_n", Kept.VALUE, "n"))
    )
    assert list(lines(group.statements())) == [
        "if edges[0] is not None:",
        "    node._x = x",
        "    node._x_version = 0 if x is None else 0 if x._storage is None else x._storage.version",
        "    node._n = n",
        "else:",
        "    node._x = None",
        "    node._x_version = 0",
        "    node._n = None",
    ]


@pytest.mark.parametrize(
    ("edges", "further", "condition"),
    [
        ((), None, None),
        ((), read("n > 0"), "n > 0"),
        ((0, 2), None, "edges[0] is not None or edges[2] is not None"),
        ((0, 2), read("n > 0"), "(edges[0] is not None or edges[2] is not None) and n > 0"),
    ],
)
def test_conditions_of_what_is_saved(
    edges: tuple[int, ...], further: Expr | None, condition: str | None
) -> None:
    found = SaveGroup(edges, further, ()).condition
    assert (None if found is None else write(found)) == condition


@pytest.mark.parametrize(
    ("save", "statements"),
    [
        (
            Save("_x", Kept.TENSOR, "x", InputKind.LIST),
            ["node._x = tuple(x)", "node._x_version = versions(x)"],
        ),
        (Save("_result", Kept.RESULT, "_r"), ["node._result = _r"]),
        (Save("_s", Kept.METADATA, "x", metadata="shape"), ["node._s = x._array.shape"]),
        (
            Save("_s", Kept.METADATA, "x", InputKind.OPTIONAL, "type"),
            ["node._s = None if x is None else x._type"],
        ),
        (
            Save("_s", Kept.METADATA, "x", InputKind.LIST, "shape"),
            ["node._s = tuple([t._array.shape for t in x])"],
        ),
    ],
)
def test_what_is_saved(save: Save, statements: list[str]) -> None:
    assert list(lines(save.statements())) == statements


@pytest.mark.parametrize(
    ("inputs", "condition", "edges"),
    [
        ((X,), "x._requires_grad", "(x._edge or gradient_edge(x),)"),
        (
            (X, Input("y", InputKind.OPTIONAL)),
            "x._requires_grad or (y is not None and y._requires_grad)",
            "(x._edge or (gradient_edge(x) if x._requires_grad else None), "
            "None if y is None else y._edge or gradient_edge(y))",
        ),
        ((Input("x", InputKind.LIST),), "any_requires_grad(x)", "gradient_edges(x)"),
        (
            (Input("x", InputKind.LIST), X),
            "any_requires_grad(x) or x._requires_grad",
            "(*gradient_edges(x), x._edge or (gradient_edge(x) if x._requires_grad else None))",
        ),
    ],
)
def test_edges(inputs: tuple[Input, ...], condition: str, edges: str) -> None:
    assert (write(any_requires(inputs)), write(next_edges(inputs))) == (condition, edges)


def test_blocks_have_operands_of_whose_size_they_are() -> None:
    with pytest.raises(AssertionError):
        KernelMethod("f", "f", (), "Tensor", read("k()"), (ONE,), operands=("x",))


@pytest.mark.parametrize(
    ("results", "structure", "returned"),
    [
        ((ONE,), "pair", "out"),
        (TWO, "", "(out0, out1)"),
        (TWO, "pair", "pair((out0, out1))"),
        ((), "", "None"),
    ],
)
def test_what_is_returned(results: tuple[Result, ...], structure: str, returned: str) -> None:
    assert write(KernelMethod("f", "f", (), "Any", read("k()"), results, structure).returned) == returned


def test_what_a_shared_method_records() -> None:
    """Two statements make the Node; then come those that save, for the slots are empty before."""
    group = SaveGroup((0,), None, (Save("_x", Kept.VALUE, "x"),))
    plain = RecordMethod("f", "f", (), "Tensor", read("super().f(x)"), record(), read("(x,)"), None, ())
    assert list(lines(plain.recorded())) == ["record_node(_nodes.N, out, (x,))"]
    several = replace(plain, record=replace(record(), saves=(group,)), outputs=read("(0, 2)"))
    assert list(lines(several.recorded())) == [
        "node = record_node(_nodes.N, outs, (x,), (0, 2))",
        "edges = node.next_edges",
        "if edges[0] is not None:",
        "    node._x = x",
    ]
