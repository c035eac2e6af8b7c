"""Lowering: expressions to instructions, rows to passes; tests/kernels has what the code computes."""

from __future__ import annotations

import re

import pytest

from tengen.ir.expressions import Name
from tengen.ir.kernels import NativeKernel, Operand
from tengen.ir.lower.instructions import Instructions, Kind, Unlowerable, Value
from tengen.ir.lower.kernels import lower, lower_row, read_body, read_routine, read_statements, row_of
from tengen.ir.lower.nests import Nest
from tengen.ir.lower.passes import Plan
from tengen.ir.lower.scalars import ScalarLowering
from tengen.ir.reader import read_expression
from tengen.ir.writer import write

SQUARED = {"squared": {s: read_routine("x: result = x * x") for s in ("float32", "float64")}}
LONG = {"costly": {s: read_routine("x: y2 = x + 1; result = y2 * y2") for s in ("float32", "float64")}}


def instructions(text: str, scalar: str = "float32") -> list[str]:
    """The instructions of statements over x and y, floats, b, a bool, and k, an int64."""
    body = Instructions()
    kinds = {"x": Kind.FLOAT, "y": Kind.FLOAT, "b": Kind.BOOL, "k": Kind.LONG}
    env = {name: Value(f"%{name}", kind) for name, kind in kinds.items()}
    ScalarLowering(body, scalar, SQUARED).run(read_statements(text), env)
    return [re.sub(r"%v\.", "%", line.strip()) for line in body.lines]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r = x * y + x", ["%1 = fmul contract float %x, %y", "%2 = fadd float %1, %x"]),
        ("r = fma(x, y, x)", ["%1 = call float @llvm.fmuladd.f32(float %x, float %y, float %x)"]),
        ("r = x ** 2", ["%1 = fmul contract float %x, %x"]),
        ("r = squared(-x)", ["%1 = fneg float %x", "%2 = fmul contract float %1, %1"]),
        ("r = where(x > 0, x, -1)", [
            "%1 = fcmp ogt float %x, 0x0000000000000000",
            "%2 = select i1 %1, float %x, float 0xBFF0000000000000",
        ]),
        ("r = x * (2 * 3 - 0.5)", ["%1 = fmul contract float %x, 0x4016000000000000"]),
        ("r = (bits(x) & 7) << 1", [
            "%1 = bitcast float %x to i32",
            "%2 = and i32 %1, 7",
            "%3 = shl i32 %2, 1",
        ]),
        ("r = narrow(wide(x) + 1)", [
            "%1 = fpext float %x to double",
            "%2 = fadd double %1, 0x3FF0000000000000",
            "%3 = fptrunc double %2 to float",
        ]),
        ("r = squared(wide(x))", ["%1 = fpext float %x to double", "%2 = fmul contract double %1, %1"]),
        ("r = bits(wide(x))", ["%1 = fpext float %x to double", "%2 = bitcast double %1 to i64"]),
        ("r = b & (x != x)", ["%1 = fcmp une float %x, %x", "%2 = and i1 %b, %1"]),
        ("r = 3.5e38 * x", ["%1 = fmul contract float 0x7FF0000000000000, %x"]),
    ],
)  # fmt: skip
def test_instructions(text: str, expected: list[str]) -> None:
    assert instructions(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("r = x @ y", "@ of float values has no native form"),
        ("r = unheard_of(x)", "unheard_of has no routine for float32"),
        ("r = x + wide(y)", "values of two widths meet: wide and narrow convert them"),
        ("r = x + bits(x)", "float and int values meet"),
        ("r = -b", "- of bool values has no native form"),
        ("r = ~x", "~ of floating-point values has no native form"),
        ("r = where(x, x, y)", "where needs a condition"),
        ("r = [x]", "elements has no native form"),
        ("r = bits(x) + 0.5", "0.5 meets an integer"),
        ("r = floor(bits(x))", "floor of int values has no native form"),
    ],
)
def test_what_has_no_native_form(text: str, message: str) -> None:
    with pytest.raises(Unlowerable, match=re.escape(message)):
        instructions(text)


def test_a_routine_that_repeats_something_is_a_function_for_numbers_and_for_vectors() -> None:
    routine = read_routine("x: h = repeat(abs(x), h > 1.0, h * 0.5); result = copysign(h, x)")
    made = kernel("x", "y", "y = halved(x) + halved(x * 2.0)")
    text = lower(made, {"halved": {"float32": routine}}, "float32")
    loop = text[text.index("@kernel(") :]
    assert loop.count("call float @halved.float32(float") == 2 * 2  # of contiguous operands, and of others
    defined = re.findall(r"define weak hidden (.*) @(halved\S*)\(", text)
    vectors = [(f"<{n} x float>", f"halved.float32.{n}") for n in (16, 2, 4, 8)]
    assert sorted(defined) == sorted([*vectors, ("float", "halved.float32")])
    assert "_ZGV_LLVM_N8v_halved.float32(halved.float32.8)" in text
    # Lanes that are done wait for the others.
    of_vectors = text[text.index("@halved.float32.4(<4 x float> %x)") :]
    assert "br i1 %v.3, label" in of_vectors and "select <4 x i1>" in of_vectors


def kernel(inputs: str, outputs: str, text: str) -> NativeKernel:
    operands = [tuple(map(Operand.read, re.split(r" (?![^[]*\])", side))) for side in (inputs, outputs)]
    return NativeKernel("k", operands[0], operands[1], *read_body(text))


def passes(made: NativeKernel) -> list[str]:
    """What each pass over a row reduces, writes and keeps."""
    found = []
    for done in Plan(made, LONG).passes:
        lines = [f"{write(r)}" for r in done.reductions]
        lines += [f"{name} = {write(e)}" for name, e in done.results]
        lines += [f"keep {write(e)} in {name}" for name, e in done.kept]
        found.append("; ".join(lines))
    return found


def test_passes_over_rows() -> None:
    softmax = kernel("x[n]", "y[n]", "e = costly(x - max(x)); y = e / sum(e)")
    assert passes(softmax) == [
        "max(x)",
        "sum(costly(x - max(x))); keep costly(x - max(x)) in y",
        "y = costly(x - max(x)) / sum(costly(x - max(x)))",
    ]
    # What is cheap is computed again, and numbers are no passes.
    moments = kernel("x[n] eps", "y[n] mean", "mean = sum(x) / n; y = (x - mean) * (1 / eps)")
    assert passes(moments) == ["sum(x)", "y = (x - sum(x) / n) * (1 / eps)"]
    # Two reductions of one level share a pass.
    two = kernel("x[n]", "y[n]", "y = x + sum(x) * max(x)")
    assert passes(two) == ["sum(x); max(x)", "y = x + sum(x) * max(x)"]
    # What is still needed when all results are written has no memory.
    late = kernel("x[n]", "y[n] s", "y = costly(x); s = sum(costly(x) * sum(costly(x)))")
    assert passes(late) == ["sum(costly(x)); y = costly(x)", "sum(costly(x) * sum(costly(x)))"]


def test_values_hold_until_a_dim_is_gone_through_anew() -> None:
    nest = Nest(kernel("x[n] s", "y[n]", "y = x * s"), {}, "float32")
    x, s = Name("x"), Name("s")
    with nest.outer(), nest.scope({"n": "%i"}):
        found = nest.value(x), nest.value(s)
        with nest.scope({}):
            assert (nest.value(x), nest.value(s)) == found
        with nest.scope({"n": "%j"}):
            assert nest.value(x) != found[0] and nest.value(s) == found[1]
        assert nest.value(x) == found[0]
    # What is the same in a loop is computed before it, and nothing else.
    with nest.outer():
        nest.prepare([read_expression("x * (s + 1)")])
        lines = len(nest.body.lines)
        nest.value(read_expression("s + 1"))
        assert len(nest.body.lines) == lines and "fadd" in nest.body.lines[-1]


def test_rows_of_tables_read_back() -> None:
    made = kernel("x[n] k:int64 v:number", "y[n] s", "s = sum(x) + x[k]; y = x * v - s")
    row = row_of(made)
    assert row[:3] == (("x[n]", "k:int64", "v:number"), ("y[n]", "s"), "(n),(),()->(n),()")
    assert row[3] == "s = sum(x) + x[k]; y = x * v - s"
    table = kernel("i[k]:int64 x[k]", "t[m]", "y = x * 2; t[i] = t[i] + y")
    assert row_of(table)[2:] == ("(k),(k)->(m)", "y = x * 2; t[i] = t[i] + y")
    for each in (made, table):
        for scalar in ("float32", "float64"):
            assert lower_row("k", row_of(each), {}, scalar) == lower(each, {}, scalar)


@pytest.mark.parametrize("text", ["x[p]", "x[n, m]", "x:float8", "x y", ""])
def test_operands_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="is no operand of a kernel"):
        Operand.read(text)


@pytest.mark.parametrize(
    ("inputs", "outputs", "text", "message"),
    [
        ("x[n] y", "z[n]", "z = x[y]", "an element is picked by an int64"),
        ("x[n] y", "z[n]", "z = x * sum(y)", "a reduction takes one row"),
        ("x[n]", "z[n]", "z = [x]", "elements has no native form over rows"),
        ("x[n]", "z", "z = any(x)", "any takes a condition"),
        ("x[n]", "z[n]", "z = scan(before + after, x > 0, 0)", "a scan is of numbers, or of places"),
        (
            "x[m, n]",
            "z[n] s",
            "z = sum(x); s = sum(x)",
            "the results of a kernel over columns are rows or tables",
        ),
        ("x[m, n]", "z[m, n]", "z = scan(before + after, x, 0)", "the elements of a row have no order"),
        ("x[m, n]", "z:int64", "z = where_first(x > 0)", "the elements of a row have no order"),
        ("x[n] i[n]:int64", "t[m] s", "t[i] = x; s = 1", "the results of a kernel with updates are tables"),
        ("x[n] i[n]", "t[m]", "t[i] = x", "an element is picked by an int64"),
        ("x[n] k", "y[n]", "y = x; y[k] = 1", "an element is picked by an int64"),
        ("x[n] k[n]:int64", "y[n]", "y = x; y[k] = 1", "an update changes an element of a row"),
        (
            "x[h, w]",
            "y[p, q] s",
            "y = x[p, q]; s = 1",
            "the results of a kernel over windows have the same dims",
        ),
        ("x[h, w]", "y[p, q]", "y = x[q, p]", "the row that is picked follows from that of the place"),
        (
            "x[h, w]",
            "y[p, q]",
            "y = sum(x[p, q + a] * 2 for a in range(3))",
            "a generator gives what an image has",
        ),
        (
            "x[h, w]",
            "y[p, q]",
            "y = sum(x[p, q + a] for a in p)",
            "a clause of a generator is: for name in range",
        ),
        ("x[h, w] k", "y[p, q]", "y = x[p, k]", "an element is picked by an int64"),
        ("x[n] k:int64", "s", "s = sum(x); s[k] = 1", "an update changes an element of a row"),
    ],
)
def test_rows_that_have_no_native_form(inputs: str, outputs: str, text: str, message: str) -> None:
    with pytest.raises(Unlowerable, match=re.escape(message)):
        lower(kernel(inputs, outputs, text), {}, "float32")
