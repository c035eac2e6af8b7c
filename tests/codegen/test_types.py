"""Types of values: text of the IR in, types out."""

from __future__ import annotations

import pytest

from tengen.codegen.model.operators import Declarations, Operator
from tengen.codegen.parse.formula import ORIGINAL_SELF, result_numbers
from tengen.codegen.specialise.blocks import CostModel
from tengen.codegen.specialise.environments import (
    formula_environment,
    kernel_environment,
    names_of_formula,
    of_operators,
    return_types,
    type_of,
)
from tengen.ir.expressions import Expr, Name
from tengen.ir.reader import read_expression
from tengen.ir.types import (
    ARRAY,
    ARRAYS,
    BOOL,
    FLOAT,
    INT,
    LIST,
    MASK,
    NUMBER,
    OWN,
    PLAIN,
    RESULT,
    SIZE,
    UNKNOWN,
    WEAK,
    Kind,
    Types,
    ValueType,
    join,
)
from tengen.testing.declared import declarations

NAMES: dict[str, ValueType] = {
    "a": OWN,
    "b": OWN,
    "other": ARRAY,
    "mask": MASK,
    "tensors": ARRAYS,
    "alpha": NUMBER,
    "n": WEAK,
    "i": INT,
    "p": FLOAT,
    "flag": BOOL,
    "dims": SIZE,
    "words": LIST,
    "mode": PLAIN,
}
VALUES: dict[Expr, ValueType] = {Name(name): type_ for name, type_ in NAMES.items()}
KERNEL = kernel_environment(VALUES, closed={"exp", "maximum"}, numbers={"bound"})
FORMULA = formula_environment(VALUES, of_operators({"exp": ARRAY, "split": ARRAYS}, {"helper"}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", "own array"),
        ("a * b + n", "own array"),
        ("-a / 2", "own array"),
        ("2.5 * a", "own array"),
        ("a * other", "array"),  # of which dtype, is not known
        ("a * alpha", "array"),  # a number which the dtype may not hold
        ("a ** 2", "array"),
        ("a > 0", "bool array"),
        ("mask & mask", "bool array"),
        ("0 < a < 1", "bool array"),
        ("a is None", "bool"),
        ("i in dims", "bool"),
        ("not flag", "bool"),
        ("xp.exp(a)", "own array"),
        ("xp.maximum(a, 0)", "own array"),
        ("xp.maximum(a, other)", "array"),
        ("xp.exp(n)", "unknown"),
        ("xp.isnan(a)", "array"),
        ("kernel(a, 2)", "array"),
        ("kernel((a, b))", "array"),
        ("kernel(i, k=a)", "array"),
        ("kernel(i)", "unknown"),
        ("bound(i)", "number"),
        ("module.bound(alpha, mode)", "number"),
        ("bound(i, a)", "array"),  # it may look at the dtype, which is known where arrays are
        ("a.shape", "size"),
        ("a.shape[0]", "int"),
        ("a.shape[1:]", "size"),
        ("a.ndim + 1", "int"),
        ("a.size / 2", "float"),
        ("a.T", "mixed"),  # of an attribute that nothing is said of
        ("a.reshape(dims)", "array"),
        ("a[0]", "own array"),
        ("tensors[0]", "array"),
        ("tensors[1:]", "arrays"),
        ("words[a]", "mixed"),
        ("1", "weak int"),
        ("-1.5", "weak float"),
        ("True", "bool"),
        ("2j", "number"),
        ("'s'", "plain"),
        ("None", "plain"),
        ("i + 1", "int"),
        ("i / 2", "float"),
        ("i ** 2", "float"),  # of a negative power
        ("p ** 0.5", "number"),  # of a negative number it is complex
        ("flag + flag", "int"),
        ("n * 2", "weak number"),
        ("i + alpha", "number"),
        ("unheard + 1", "unknown"),
        ("(i, 2)", "size"),
        ("[p, 2]", "list"),
        ("()", "list"),
        ("dims * 2", "size"),
        ("dims + words", "list"),
        ("(a, b)", "arrays"),
        ("a if flag else b", "own array"),
        ("a if flag else other", "array"),
        ("a if flag else 0", "mixed"),
        ("a if flag else tensors", "result"),
        ("1 if flag else 2.5", "weak float"),
        ("dims or words", "list"),
        ("mode if flag else i", "plain"),
        ("[t.shape for t in tensors]", "list"),
        ("[t * 2 for t in tensors]", "arrays"),
        ("[d + 1 for d in dims]", "size"),
        ("[a for a in dims]", "size"),  # which is not the array of that name
        ("[x for x, (y, z) in words]", "list"),
        ("(t := a * b)", "own array"),
        ("lambda x: x + i", "unknown"),
        ("lambda x: x + a", "mixed"),
    ],
)
def test_over_arrays(text: str, expected: str) -> None:
    assert str(Types(KERNEL).of(read_expression(text))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.exp()", "array"),
        ("exp(a)", "array"),
        ("split(a, dims)[0]", "array"),
        ("a.split(dims)", "arrays"),
        ("a.conj()", "array"),
        ("helper(a)", "result"),  # one gradient, or those of a list
        ("helper(i)", "unknown"),
        ("-helper(a)", "array"),
        ("a.numel()", "int"),
        ("a.dim()", "int"),
        ("a.stride()", "size"),
        ("a.is_complex()", "bool"),
        ("a.dtype", "dtype"),
        ("a.device", "plain"),
        ("[t.numel() for t in tensors]", "size"),
        ("unheard(a)", "mixed"),
        ("unheard(i)", "unknown"),
    ],
)
def test_over_tensors(text: str, expected: str) -> None:
    assert str(Types(FORMULA).of(read_expression(text))) == expected


@pytest.mark.parametrize(
    ("text", "real"),
    [
        ("a > 0", True),
        ("i", True),
        ("mode", True),
        ("a.shape", True),
        ("i * p", True),
        ("alpha", False),
        ("a", False),
        ("2j", False),
        ("p ** 0.5", False),
        ("unheard", False),
    ],
)
def test_what_is_never_complex(text: str, real: bool) -> None:
    assert Types(FORMULA).of(read_expression(text)).is_real is real


EVERY = [*map(ValueType, Kind), OWN, MASK, WEAK]


def test_joins() -> None:
    """The join of two types is that of either order, and of a type with itself it is the type."""
    for a in EVERY:
        assert join([a]) == join([a, a]) == a
        for b in EVERY:
            assert join([a, b]) == join([b, a])
            assert join([a, b]).may_be_array == (a.may_be_array or b.may_be_array)
            assert not join([a, b]).is_real or (a.is_real and b.is_real)


def test_joins_do_not_depend_on_the_order() -> None:
    for a in EVERY:
        for b in EVERY:
            for c in EVERY:
                assert join([join([a, b]), c]) == join([a, join([b, c])]), (a, b, c)


def test_more_names_are_known_there_alone() -> None:
    types = Types(KERNEL)
    expr = read_expression("t0 + 1")
    assert types.having({Name("t0"): OWN}).of(expr) == OWN
    assert types.of(expr) == UNKNOWN


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return declarations()


def test_every_pointwise_expression_is_an_array(declared: Declarations) -> None:
    closed = CostModel(declared.primitives).closed()
    found = 0
    for operator in declared.operators:
        values: dict[Expr, ValueType] = {Name(a.name): type_of(a.type) for a in operator.schema.arguments}
        if "pointwise" not in operator.tags or not any(t.may_be_array for t in values.values()):
            continue
        types = Types(kernel_environment(values, closed))
        for kernel in operator.kernels.values():
            if kernel.function is None:
                found += 1
                assert types.of(kernel.formula.tree).is_array, operator.name
    assert found > 150


def test_every_gradient_is_an_array_or_some(declared: Declarations) -> None:
    """Never a number; but for what refuses to be differentiated."""
    functions: dict[str, list[Operator]] = {}
    for o in declared.operators:
        functions.setdefault(o.name.function, []).append(o)
    returns = return_types(functions)
    operators = {o.name: o for o in declared.operators}
    found = []
    for derivative in declared.derivatives:
        operator = operators.get(derivative.name)
        if operator is None:  # an in-place variant's own
            continue
        gradients = [f"grad_{n}" for n in result_numbers(operator.schema.returns)]
        gradients += ["grad", ORIGINAL_SELF]
        values = names_of_formula(operator) | {Name(n): ARRAY for n in gradients} | {Name("grads"): ARRAYS}
        types = Types(formula_environment(values, of_operators(returns, derivative.helpers)))
        found += [(types.of(f.tree), f.text) for f in derivative.gradients.values()]
    assert len(found) > 400
    for type_, text in found:
        refused = type_ == UNKNOWN and text.startswith("not_implemented(")
        assert refused or type_.kind in (Kind.ARRAY, Kind.ARRAYS, Kind.RESULT), (text, str(type_))


def test_what_operators_give(declared: Declarations) -> None:
    names = ("exp", "split", "max", "svd", "equal", "where")
    found = return_types({n: [o for o in declared.operators if o.name.function == n] for n in names})
    assert found["exp"] == found["max"] == ARRAY  # max.dim gives two, but max one
    assert found["split"] == found["svd"] == ARRAYS
    assert found["equal"] == BOOL
    assert found["where"] == RESULT  # of a condition alone, the indices along each dimension
