"""What follows from the updates of optimisers: the forms over arrays, and what choices leave of an update."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tengen.codegen.check.optimizers import functions_of
from tengen.codegen.model.optimizers import Form, OptimizerUpdate, kernels_of, shared_forms
from tengen.codegen.model.source import Place
from tengen.codegen.specialise.updates import array_form, number_lines, tensor_lines
from tengen.generated import optimizers
from tengen.ir.expressions import Call, Name, rewritten
from tengen.ir.reader import read_assignments, read_expression
from tengen.ir.routines import FUNCTIONS
from tengen.ir.writer import write
from tengen.testing.declared import declarations

PRIMITIVES = declarations().primitives
DECLARED = declarations().optimizers


def statements(text: str) -> tuple[tuple[str, Any], ...]:
    return tuple([(target.id, value) for target, value in read_assignments(text) if isinstance(target, Name)])


def made(update: str, states: str = "", choices: str = "", numbers: str = "") -> OptimizerUpdate:
    """An optimiser of the options a, b and c."""
    read = {name: read_expression(name) for name in choices.split()}
    begins = {name: read_expression("0") for name in states.split()}
    counters = {"step": read_expression("0")}
    options = ("a", "b", "c", *read)
    given = statements(numbers), read, statements(update)
    return OptimizerUpdate("Made", Place("", 1, 1), options, counters, begins, {}, *given)


def form_of(update: OptimizerUpdate) -> Form:
    ((_, form),) = update.forms()
    return form


def computed(form: Form, values: dict[str, Any]) -> list[Any]:
    """What the statements come to, each array new."""
    names = {name: np.array(value) for name, value in values.items()}
    for target, expr in form.statements:
        names[target] = eval(write(rewritten(expr, _numpy)), {"np": np}, names)
    return [names[name] for name in ("param", *form.states)]


def _numpy(expr: Any) -> Any:
    match expr:
        case Call(Name("constant"), (value,)):
            return value
        case Call(Name(name), arguments):
            return Call(Name(f"np.{name}"), arguments)
    return expr


def in_place(form: Form, values: dict[str, Any]) -> list[Any]:
    """What the generated function makes of the arrays, its scratch being full of numbers that are none."""
    written = array_form(form, PRIMITIVES)
    space: dict[str, Any] = {"np": np}
    lines = "\n    ".join(written.lines)
    exec(f"def f({', '.join(written.parameters)}):\n    {lines}", space)
    names = {name: np.array(value) for name, value in values.items()}
    spare = {f"s{i}": np.full_like(values["param"], np.nan) for i in range(written.scratch)}
    space["f"](*[(names | spare)[name] for name in written.parameters])
    np.testing.assert_array_equal(names["grad"], values["grad"])
    return [names[name] for name in ("param", *form.states)]


def values_for(form: Form) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    names = [o.name for o in form.kernel.inputs]
    numbers = {o.name for o in form.kernel.inputs if o.dtype}
    found = {n: np.array(rng.uniform(0.1, 1)) if n in numbers else rng.standard_normal(9) for n in names}
    for name in ("param", "grad", *form.states):
        found[name][:2] = 0.0, np.nan
    return found


FORMS = {form.kernel.name: form for of in shared_forms(DECLARED).values() for _, form in of}


@pytest.mark.parametrize("name", FORMS)
def test_what_is_written_in_place_is_what_is_declared(name: str) -> None:
    form = FORMS[name]
    values = values_for(form)
    with np.errstate(all="ignore"):
        for got, expected in zip(in_place(form, values), computed(form, values), strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    "text",
    [
        "m = grad\nold = param\nparam = param - m * a\nm = old * old + m",
        "d = grad * a\nm = m + d * (d + b)\nparam = param * (param - d) + d",
        "m = where(grad > 0, m * a, where(m == 0, grad, m))\nparam = where(param < m, m, param)",
        "up = grad > 0\nm = where(up, grad, -1)\nparam = param - where(up, 1, m) * a",
        "m = maximum(m * a, abs(grad) + b)\nparam = -param / m - (param + m) * c",
        "e = m\nm = m * a + grad\nparam = param - (e - m) * (e + m)",
        "m = sqrt(abs(m)) + sqrt(abs(m) + grad * grad)\nparam = (param * a - m) * (grad - m * b)",
    ],
)
def test_scratch_holds_what_is_still_needed(text: str) -> None:
    form = form_of(made(text, "m"))
    values = values_for(form)
    with np.errstate(all="ignore"):
        for got, expected in zip(in_place(form, values), computed(form, values), strict=True):
            np.testing.assert_array_equal(got, expected)


def test_choices_are_folded_and_equal_forms_are_one() -> None:
    update = made("d = grad * a if fast else grad\nparam = param - (d if slow else d * b)", "", "fast slow")
    names = {chosen: form.kernel.name for chosen, form in shared_forms([update])["Made"]}
    assert names[False, False] == "made" and names[True, True] == "made_fast_slow"
    assert len(kernels_of([update])) == 4
    alike = made("param = param - (grad if fast else grad) * a", "", "fast")
    assert {form.kernel.name for _, form in shared_forms([alike])["Made"]} == {"made"}
    assert len(kernels_of([alike])) == 1


def test_numbers_are_those_that_a_form_takes() -> None:
    update = made("m = m * a + grad * b\nparam = param - (m * c if far else m)", "m", "far")
    (_, near), (_, far) = update.forms()
    assert update.used == ("a", "b", "c")
    assert (near.takes, far.takes) == ((0, 1), (0, 1, 2))
    assert [str(o) for o in far.kernel.inputs] == ["param", "grad", "m", "a:number", "b:number", "c:number"]


def test_sums_with_numbers_are_one_operator() -> None:
    update = made("m = m * a + grad * grad * b\nparam = param - m / (sqrt(m) + a) * c + maximum(m, a)", "m")
    assert tensor_lines(update, PRIMITIVES) == [
        "m = S.plus_product(m * a, grad, grad, b)",
        "param = S.plus_quotient(param, m, F.sqrt(m) + a, -c) + F.maximum(m, S.as_tensor(a, param))",
    ]


def test_counters_are_rounded_where_they_are_assigned() -> None:
    update = made(
        "param = param - grad * c", numbers="step = step + 1\nc = a / step if step > b else like(a, step)"
    )
    assert number_lines(update) == [
        "step = kept(0, step + 1)",
        "c = S.either(step > b, lambda: a / step, lambda: kept(0, a))",
        "return (), (c,), (step,)",
    ]


def test_generated_code_has_all_forms_of_all_optimisers() -> None:
    for update in DECLARED:
        found = getattr(optimizers, update.name)
        assert [*found.forms] == [chosen for chosen, _ in update.forms()]
        assert found.states == (*update.states,)


def test_functions_of_updates_are_over_arrays_tensors_and_scalars() -> None:
    known = functions_of(PRIMITIVES, {*FUNCTIONS, *declarations().routines})
    assert {"sqrt", "where", "exp", "copysign"} <= known.keys()
    assert not {"fma", "sort", "left_shift"} & known.keys()
