"""Bodies: what is read of them, and what follows: NumPy's form, the native kernel, gradients and tangents."""

from __future__ import annotations

import pytest

from tengen.codegen.check.bodies import body_of
from tengen.codegen.derive.differentiate import derivative_of
from tengen.codegen.derive.graph import Underivable
from tengen.codegen.derive.plan import Language
from tengen.codegen.model.diagnostics import Report
from tengen.codegen.model.operators import Derivative, Formula, Kernel, Operator
from tengen.codegen.model.source import Located, Place
from tengen.codegen.parse.schema import parse_schema
from tengen.codegen.specialise.fast_path_code import Code
from tengen.ir.bodies import Body, Kind, name_without
from tengen.ir.body_calls import BodyCall
from tengen.ir.expressions import Constant, Name, replaced
from tengen.ir.lower.instructions import Unlowerable
from tengen.ir.lower.kernels import lower, row_of
from tengen.ir.reader import read_expression
from tengen.ir.writer import write
from tengen.testing.declared import declarations

HERE = Place("test.yaml", 1, 1)
ONE, TWO = "Tensor self, int dim", "Tensor self, Tensor other, int dim"
MANY = "Tensor self, int[1]? dim=None"
WEIGHTED = "Tensor self, Tensor weight, int dim"
MAYBE = "Tensor self, int[1] dim, Tensor? weight=None"
SIZED = "Tensor self, SymInt[] sizes, Tensor? weight=None"
OVER = {
    WEIGHTED: "over self[dim: n], weight[n]\n",
    MAYBE: "over self[dim: n], weight[n]\n",
    SIZED: "over self[sizes: n], weight[n]\n",
    SIZED.partition(", Tensor?")[0]: "over self[sizes: n]\n",
    ONE: "over self[dim: n]\n",
    MANY: "over self[dim: n]\n",
    "Tensor self": "over self[n]\n",
    TWO: "over self[dim: n], other[dim: n]\n",
}
SOFTMAX = "e = exp(self - constant(max(self)))\nout = e / sum(e)"
LOGSUMEXP = "top = constant(max(self))\nout = log(sum(exp(self - top))) + top"
#: The largest element, of formulas: rows without elements have none.
TOP = "(self.amax(dim, True) if self.numel() else self.sum(dim, True))"


def body(text: str, arguments: str = ONE, returns: str = "Tensor") -> Body:
    report = Report()
    schema = parse_schema(f"f({arguments}) -> {returns}")
    head = OVER[arguments.partition(", float")[0].partition(", bool")[0]]
    found = body_of(schema, Located(head + text, HERE), declarations().primitives, report)
    report.finish()
    assert found is not None
    return found


def derivative(text: str, arguments: str = ONE, returns: str = "Tensor") -> Derivative:
    made = body(text, arguments, returns)
    operator = Operator(
        parse_schema(f"f({arguments}) -> {returns}"),
        HERE,
        "native",
        kernels={"CPU": Kernel(Formula(Located(text, HERE), made.form()))},
        dtypes={"CPU": frozenset({"Double"})},
        said=made,
    )
    return derivative_of(operator, Language.of(declarations()))


def written(found: Derivative) -> dict[str, str]:
    """The formulas with the parts that they share."""
    shared = {s.name: f"({s.formula.text})" for s in (*found.shared, *found.jvp_shared)}
    texts = {names[0]: f.text for names, f in found.gradients.items()}
    texts |= {"tangent" if n == "result" else n: f.text for n, f in found.jvps.items()}
    texts.setdefault("tangent", "0")
    for name in reversed(shared):
        texts = {key: text.replace(name, shared[name]) for key, text in texts.items()}
    return texts


@pytest.mark.parametrize(
    ("text", "kept", "form"),
    [
        ("out = self / sum(self)", True, "self / fold('sum', self, axis)"),
        ("out = mean(self)", False, "fold('mean', self, axis)"),
        ("out = max(self) + n", False, "fold('max', self, axis) + n"),
        (
            "top = constant(max(self))\nout = where(top == -inf, 0, self - top)",
            True,
            "((top := fold('max', self, axis)), xp.where(top == -xp.inf, 0, self - top))[-1]",
        ),
        (
            "out = cumsum(self) / cumprod(self, reverse=True)",
            True,
            "scan('cumsum', self, axis, False) / scan('cumprod', self, axis, True)",
        ),
        (
            "out = self + 1\nmore = sum(out)",
            True,
            "((out := (self + 1)), (more := fold('sum', out, axis)), out)[-1]",
        ),
        (
            "out = self[argmax(self)]",
            False,
            "fold('at', self, axis, fold('argmax', self, axis))",
        ),
    ],
)
def test_the_form_over_arrays(text: str, kept: bool, form: str) -> None:
    made = body(text)
    assert made.kept == (kept,)
    assert write(made.form()) == f"lambda fold, scan, axis, n, self: {form}"


@pytest.mark.parametrize(
    ("text", "kind", "together", "native", "columns"),
    [
        ("out = sum(self)", Kind.TOTAL, "sum", "out = sum(self)", "out = sum(self)"),
        ("out = mean(self)", Kind.MEAN, "mean", "out = sum(self) / n", "out = sum(self) / m"),
        ("out = max(abs(self))", Kind.REAL, "max", "out = max(abs(self))", "out = max(abs(self))"),
        ("out = sum(self != 0)", Kind.INT64, "sum", "out = count(self != 0)", "out = count(self != 0)"),
        ("out = any(self)", Kind.TEST, "any", "out = any(self != 0)", "out = any(self != 0)"),
        ("out = all(self)", Kind.TEST, "all", "out = ~any(self == 0)", "out = ~any(self == 0)"),
        ("out = all(self > 1)", Kind.TEST, "all", "out = ~any(~(self > 1))", "out = ~any(~(self > 1))"),
        ("out = sum(self * n)", Kind.TOTAL, "sum;", "out = sum(self * n)", "out = sum(self * m)"),
        ("out = self > 1", Kind.CONDITION, "", "out = self > 1", None),
        (
            "out = argmax(self)",
            Kind.INT64,
            "argmax",
            "out = where_first((self == max(self)) | (self != self))",
            "out = where_first((self == max(self)) | (self != self))",
        ),
        (
            "at = argmin(abs(self))\nout = self[at]",
            Kind.OWN,
            "",
            "at = where_first((abs(self) == min(abs(self))) | (abs(self) != abs(self))); out = self[at]",
            "at = where_first((abs(self) == min(abs(self))) | (abs(self) != abs(self))); out = self[at]",
        ),
    ],
)
def test_what_results_are(text: str, kind: Kind, together: str, native: str, columns: str | None) -> None:
    """Their dtypes, the kernel of rows side by side, and what brings parts of rows together."""
    made = body(text)
    assert (made.kinds, made.together) == ((kind,), together)
    plain, side_by_side = made.kernel("made"), made.kernel_of_columns("made")
    assert row_of(plain)[3] == native
    assert side_by_side is None if columns is None else row_of(side_by_side)[3] == columns
    for kernel in (plain, *([] if side_by_side is None else [side_by_side])):
        for scalar in ("float32", "float64"):
            lower(kernel, {}, scalar)


def test_rows_of_all_elements() -> None:
    made = body("out = sum(self)", "Tensor self")
    assert made.rows == ("self",) and write(made.dims) == "()" and made.several
    assert (
        written(derivative("out = sum(self * self)", "Tensor self"))["self"]
        == "2 * (_restore_dims(grad, (), False, self.dim()) * self)"
    )


def test_the_native_kernel() -> None:
    made = body("d = self - other + eps\nout = sqrt(mean(d * d))", f"{TWO}, float eps")
    inputs, outputs, signature, text = row_of(made.kernel("distance"))
    assert (inputs, outputs) == (("self[n]", "other[n]", "eps"), ("out",))
    assert signature == "(n),(n),()->()"
    assert text == "d = self - other + eps; out = sqrt(sum(d * d) / n)"


def test_the_native_kernel_of_scans() -> None:
    made = body("out = cumsum(self, reverse=True) / cumprod(self)").kernel("both")
    back, ahead = "scan_back(before + after, self, -0.0)", "scan(before * after, self, 1"
    assert row_of(made)[3] == f"out = {back} / {ahead}, (abs(after) > 1e-30) & (abs(after) < 1e+30))"
    with pytest.raises(Unlowerable, match="one way"):
        lower(made, declarations().routines, "float32")


def test_several_results() -> None:
    made = body("mean_ = mean(self)\nvalues = self - mean_", ONE, "(Tensor values, Tensor mean_)")
    assert made.results == ("values", "mean_") and made.kept == (True, False)
    assert write(made.form()).endswith("(values, mean_))[-1]")


def test_derivatives_of_several_results() -> None:
    """Each result hands on its gradient, and has a tangent."""
    text = "mean_ = mean(self)\nvalues = self - mean_"
    found = written(derivative(text, ONE, "(Tensor values, Tensor mean_)"))
    restored = "_restore_dims(grad_mean_, [dim], False, self.dim())"
    assert "grad_values" in found["self"] and restored in found["self"]
    assert found["values"].startswith("self_t - ") and found["mean_"].endswith(".squeeze(dim)")


@pytest.mark.parametrize(
    ("text", "gradient", "tangent"),
    [
        ("out = sum(self)", "_restore_dims(grad, [dim], False, self.dim()).expand_as(self)", None),
        ("out = self * 2", "2 * grad", "2 * self_t"),
        ("out = self / sum(self)", None, None),
        (SOFTMAX, "(grad - (grad * result).sum(dim, True)) * result", None),
        ("out = self - constant(self)", "grad", "self_t"),
        ("out = constant(self)", "zeros_like(self)", "0"),
        ("out = cumsum(self)", "_cumsum_backward(grad, dim)", "self_t.cumsum(dim)"),
        ("out = cumsum(self, reverse=True)", "grad.cumsum(dim)", "_cumsum_backward(self_t, dim)"),
        (
            "out = sum(cumsum(self))",
            "_cumsum_backward(as_row(_restore_dims(grad, [dim], False, self.dim()), self.cumsum(dim)), dim)",
            "self_t.cumsum(dim).sum(dim, True).squeeze(dim)",
        ),
    ],
)
def test_derivatives(text: str, gradient: str | None, tangent: str | None) -> None:
    found = written(derivative(text))
    assert gradient is None or found["self"] == gradient
    assert tangent is None or found["tangent"] == tangent


def test_what_is_kept_is_least() -> None:
    """The result where that is enough; what PyTorch keeps of softmax."""
    assert "self" not in written(derivative(SOFTMAX))["self"]
    assert "result" not in written(derivative("out = self * self"))["self"]


def test_one_number_for_each_row() -> None:
    """Gradients get the dim back, whether it was kept or not, and tangents lose it."""
    found = written(derivative(LOGSUMEXP, f"{ONE}, bool keepdim=False"))
    assert "_restore_dims(grad, [dim], keepdim, self.dim())" in found["self"]
    assert " if keepdim else " in found["tangent"] and found["tangent"].endswith(".squeeze(dim)")
    assert TOP in found["self"]


def test_rows_over_several_dims() -> None:
    """What is one number for each row is brought into the result's shape, and their length is counted."""
    found = written(derivative("out = sum(self * self) / n", f"{MANY}, bool keepdim=False"))
    assert found["self"] == "2 * (_restore_dims(grad, dim, keepdim, self.dim()) * self) / count_of(self, dim)"
    assert found["tangent"].endswith(".reshape(result.shape)")


def test_a_row_that_all_rows_share() -> None:
    """It stands beside the rows; what it gets of each row is added up."""
    made = body("out = self * weight", WEIGHTED)
    assert (made.rows, made.shared) == (("self",), ("weight",))
    assert write(made.form()) == "lambda fold, scan, axis, n, self, weight: self * weight"
    assert row_of(made.kernel("scaled"))[2] == "(n),(n)->(n)"
    found = written(derivative("out = self * weight", WEIGHTED))
    assert found["self"] == "grad * beside(weight, self, dim)"
    assert found["weight"] == "over_rows(grad * self, dim).reshape(weight.shape)"
    assert found["tangent"] == "self_t * beside(weight, self, dim) + beside(weight_t, self, dim) * self"


def test_a_row_that_may_be_none() -> None:
    """There is a kernel for each case; formulas ask where the cases differ, and nowhere else."""
    made = body("out = self * weight if weight else self", MAYBE)
    assert made.optional == ("weight",) and made.kept == (True,)
    assert (
        write(made.form())
        == "lambda fold, scan, axis, n, self, weight: self * weight if weight is not None else self"
    )
    kernels = [row_of(kernel) for kernel in made.kernels("scaled")]
    assert [k.name for k in made.kernels("scaled")] == ["scaled", "scaled_without_weight"]
    assert [k[3] for k in kernels] == ["out = self * weight", "out = self"]
    found = written(derivative("out = self * weight if weight else self", MAYBE))
    assert found["self"] == "grad * beside(weight, self, dim) if weight is not None else grad"
    assert found["weight"] == "over_rows(grad * self, dim).reshape(weight.shape)"
    found = written(derivative("out = self * 2 + sum(weight) if weight else self * 2", MAYBE))
    assert found["self"] == "2 * grad"


def test_the_fast_path() -> None:
    """Of each case: the kernel is fetched once it is known which operands are given."""
    made = body("out = self * weight if weight else self", SIZED)
    chosen = made.by_presence(lambda absent: Constant(name_without("scaled", absent)))
    kernel = replaced(chosen, {"weight": Name("_weight")})
    rows, shared = (read_expression("self._array"),), (Name("_weight"),)
    results = made.kept, ("own",), "", "", made.asked, made.wide
    where = Name("sizes"), "sizes", made.keepdim, Constant(None)
    call = BodyCall(Name("run"), Name("k"), kernel, made.form(), *results, *where, rows, (), shared, ())
    values = {"_weight": read_expression("None if weight is None else weight._array")}
    code = Code(["self", "sizes", "weight"], ("self", "weight"), values=values)
    code.push(call.written())
    assert BodyCall.read(call.written()) == call
    first, *others = code.text.split("; fetch_kernel ")
    assert first == "array self; store row0; have_rows_of row0 sizes; is_none weight => L1"
    assert others[0].startswith("k.scaled; local row0; array weight; constant -1; constant True; rows 2")
    assert others[1].startswith("k.scaled_without_weight; local row0; constant -1; constant True; rows 1")


def test_the_fast_path_of_integers() -> None:
    """What is all of a body is called by its name where native kernels have not the dtype."""
    results = "((False,), ('own',), 'min', 'min', False, None)"
    call = f"b.run(k, 'low', 'min', {results}, dim, '', keep, None, (x,), (), ())"
    code = Code(["x", "dim", "keep"])
    code.push(read_expression(call))
    kernel, others = code.text.split("; jump -> L2; L1:; ")
    assert kernel.startswith("local x; store row0; are_rows row0 -> L1; fetch_kernel k.low; ")
    called = "fetch b.WHOLE; constant 'min'; item; local row0; local dim; local keep; call 3; L2:"
    assert others == f"are_integers row0; {called}"


def test_rows_over_the_last_dims_by_their_sizes() -> None:
    """They are these dims for formulas; what is one number for each row keeps them."""
    made = body("out = mean(self * weight if weight else self)", SIZED)
    assert made.sizes and write(made.keepdim) == "True"
    found = written(derivative("out = sum(self * self)", SIZED.partition(", Tensor?")[0]))
    assert found["self"] == "2 * (_restore_dims(grad, last_dims(sizes), True, self.dim()) * self)"


def test_rows_without_elements() -> None:
    """What is of no elements may be said; else an extreme of none is an error."""
    made = body("out = max(self) if n else -inf")
    assert not made.nonempty and body("out = max(self)").nonempty
    form = "fold('max', self, axis) if n else -xp.inf"
    assert write(made.form()) == f"lambda fold, scan, axis, n, self: {form}"
    assert row_of(made.kernel("highest"))[3] == "out = max(self)"


def test_of_a_product_none_follows() -> None:
    with pytest.raises(Underivable, match="which may have zeros"):
        derivative("out = self / prod(self)")


def test_what_is_one_reduction_or_one_scan() -> None:
    """It is called by its name; what is more than that, or of other than the operand, is a function."""
    texts = {"out = sum(self)": "sum", "out = max(abs(self))": "", "top = max(self)\nout = top + 1": ""}
    assert {text: body(text).alone for text in texts} == texts
    assert body("out = any(self)", "Tensor self").alone == "any"
    assert body("out = cumsum(self)").alone == "cumsum"
    assert not body("out = cumsum(self, reverse=True)").alone
    assert not body("out = sum(weight) + sum(self)", WEIGHTED).alone
    assert not body("out = sum(self)", TWO).alone
