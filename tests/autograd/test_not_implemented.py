"""Operators that have no derivative: an error of the backward pass, not before, and only where it matters."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tengen
from tengen.autograd.forward.forward_grad import ForwardLevel
from tengen.autograd.node_support import not_implemented, record_not_implemented, run_not_implemented
from tengen.codegen.derive.derived import derive
from tengen.codegen.pipeline import load
from tengen.testing import declared
from tengen.testing.declared import calls, declarations, run
from tengen.testing.differentiable import nodes


def without(spec: Any) -> set[str]:
    """The arguments whose formula says that there is none."""
    return {a.name for a in spec.inputs} - declared.implemented(spec)


Operation = Callable[[Any, Any], Any]

FLOAT: dict[str, Operation] = {
    "floor_divide": lambda m, x: m.floor_divide(x, 2),
    "floor_divide of tensors": lambda m, x: m.floor_divide(x, x),
    "//": lambda m, x: x // 3,
    "heaviside": lambda m, x: m.heaviside(x, x),
    "scatter": lambda m, x: x.scatter(0, m.tensor([0]), 2.0, reduce="add"),
}


@pytest.mark.parametrize("name", FLOAT)
def test_the_backward_pass_fails_and_names_the_operator(m: Any, name: str) -> None:
    x = m.tensor([1.5, 2.5], requires_grad=True)
    y = FLOAT[name](m, x * 1)
    assert y.requires_grad and not y.is_leaf
    assert y.grad_fn.name().rpartition("::")[2] == "NotImplemented"
    assert [f.name().rpartition("::")[2] for f, _ in y.grad_fn.next_functions if f][:1] == ["MulBackward0"]
    function = {"//": "floor_divide"}.get(name, name).partition(" ")[0]
    for _ in range(2):  # nothing was saved, and so nothing is freed
        with pytest.raises(RuntimeError, match=f"derivative for .*{function} is not implemented"):
            y.sum().backward()
    assert x.grad is None
    with pytest.raises(RuntimeError, match=f"derivative for .*{function} is not implemented"):
        m.autograd.grad(y.sum(), x, create_graph=True)


@pytest.mark.parametrize("name", FLOAT)
def test_what_does_not_need_the_gradient_does_not_mind(m: Any, name: str) -> None:
    x = m.tensor([1.5, 2.5], requires_grad=True)
    y = FLOAT[name](m, x)
    (y.detach() * x).sum().backward()
    assert x.grad.tolist() == y.tolist()
    plain = FLOAT[name](m, x.detach())
    assert not plain.requires_grad and plain.grad_fn is None
    with m.no_grad():
        assert not FLOAT[name](m, x).requires_grad


def test_another_branch_of_the_graph_is_differentiated(m: Any) -> None:
    x = m.tensor([1.5, 2.5], requires_grad=True)
    w = m.tensor([1.0, 1.0], requires_grad=True)
    loss = ((x // 2) * w).sum()
    (gradient,) = m.autograd.grad(loss, w)
    assert gradient.tolist() == [0.0, 1.0]


def test_integer_results_have_no_history(m: Any) -> None:
    x = m.tensor([1.5, 2.5], requires_grad=True)
    for y in (m.argmax(x), x > 1, m.nonzero(x), m.isnan(x), m.bucketize(x, m.tensor([1.0])), x.long() // 2):
        assert not y.requires_grad and y.grad_fn is None


def test_factories_have_no_history(m: Any) -> None:
    x = m.tensor([1.5, 2.5], requires_grad=True)
    made = [m.zeros_like(x), m.ones_like(x), m.rand_like(x), m.randn_like(x), m.empty_like(x)]
    made += [m.full_like(x, 2.0), m.randint_like(x, 5), x.new_zeros(2), x.new_ones(2), x.new_full((2,), 1.0)]
    assert not any(y.requires_grad or y.grad_fn is not None for y in made)


def test_in_place(m: Any) -> None:
    x = m.tensor([1.5, 2.5], requires_grad=True)
    y = x * 1
    assert y.floor_divide_(2) is y
    assert y.grad_fn.name().rpartition("::")[2] == "NotImplemented" and y.tolist() == [0.0, 1.0]
    with pytest.raises(RuntimeError, match=r"derivative for .*floor_divide_ is not implemented"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.floor_divide_(2)
    assert x.tolist() == [1.5, 2.5]


def test_in_place_on_a_view(m: Any) -> None:
    x = m.tensor([1.5, 2.5], requires_grad=True)
    base = x * 1
    base[:1].floor_divide_(2)
    assert base.tolist() == [0.0, 2.5]
    assert base.grad_fn.name().rpartition("::")[2] == "CopySlices"
    with pytest.raises(RuntimeError, match=r"derivative for .*floor_divide_ is not implemented"):
        base.sum().backward()


def test_in_place_where_the_operand_requires_gradients(m: Any) -> None:
    x = m.tensor([1.5, 2.5], requires_grad=True)
    y = m.ones(2)
    y.heaviside_(x)
    assert y.requires_grad
    with pytest.raises(RuntimeError, match=r"derivative for .*heaviside_ is not implemented"):
        y.sum().backward()


def test_an_in_place_operator_without_gradient_passes_none_on(m: Any) -> None:
    x = m.tensor([1.5, 2.5], requires_grad=True)
    y = x * 2
    y.eq_(3.0)
    assert y.requires_grad and y.grad_fn.name() == "EqBackward0"
    y.sum().backward()
    assert x.grad is None or x.grad.tolist() == [0.0, 0.0]


def test_an_argument_without_gradient_may_not_require_one(m: Any) -> None:
    x = m.tensor([0.25, 0.5])
    weight = m.ones(2, requires_grad=True)
    loss = m.nn.functional.binary_cross_entropy
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'weight'"):
        loss(x, x, weight)
    with m.no_grad():
        assert loss(x, x, weight).item() > 0
    mean = m.zeros(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'running_mean'"):
        m.nn.functional.batch_norm(m.ones(3, 2), mean, m.ones(2))


# -- how it comes about ----------------------------------------------------------------------


def test_results_of_several_kinds() -> None:
    """Only those that can have gradients are recorded."""
    x = tengen.ones(2, requires_grad=True)
    edge = tengen.autograd.gradient_edge(x)
    results = (tengen.ones(3), tengen.tensor([1, 2]), None, tengen.ones((), dtype=tengen.complex64))
    record_not_implemented("split_up.dim", (edge,), results)
    assert [r is not None and r.requires_grad for r in results] == [True, False, False, True]
    with pytest.raises(RuntimeError, match="derivative for split_up is not implemented"):
        results[0].sum().backward()
    with pytest.raises(RuntimeError, match="derivative for split_up is not implemented"):
        results[3].abs().backward()


def test_composites_without_a_derivative_are_not_recorded_in_parts() -> None:
    x = tengen.ones(2, requires_grad=True)

    def edges() -> Any:
        return (tengen.autograd.gradient_edge(x),)

    y = run_not_implemented("threefold", lambda: x * 3, edges)
    assert y.grad_fn.name() == "NotImplemented"
    with tengen.no_grad():
        assert not run_not_implemented("threefold", lambda: x * 3, edges).requires_grad
    with pytest.raises(ValueError, match="no way"):
        run_not_implemented("threefold", lambda: _raise(ValueError("no way")), edges)
    assert tengen.is_grad_enabled()


def _raise(error: Exception) -> None:
    raise error


def test_a_formula_that_is_not_implemented() -> None:
    with pytest.raises(NotImplementedError, match="the derivative for 'igamma: input' is not implemented"):
        not_implemented("igamma: input")


PARTLY = [n for n in declared.derived().jvps if n in nodes() and without(nodes()[n])]


def test_some_have_a_tangent_for_other_arguments() -> None:
    assert {"igamma", "special_zeta"} <= set(PARTLY)


@pytest.mark.parametrize("name", PARTLY)
def test_a_tangent_of_an_argument_that_has_no_derivative_is_an_error(name: str) -> None:
    """Not a tangent of the result that leaves it out."""
    call = calls(name)[0]
    values = call.tensors(tengen.float64)
    for place, argument in enumerate(call.arguments):
        if argument.name not in without(nodes()[name]):
            continue
        with ForwardLevel() as level:
            given = list(values)
            given[place] = level.make_dual(values[place], tengen.ones_like(values[place]))
            with pytest.raises(NotImplementedError, match=r"the derivative for .* is not implemented"):
                run(name, given)


DECLARED = """
- func: triple(Tensor self) -> Tensor
  dispatch: {CPU: "triple"}
  dtypes: all
  samples: ["[3]"]
- func: same_sign(Tensor self, Tensor other) -> Tensor
  dispatch: {CPU: "triple"}
  dtypes: floating
  result: bool
  samples: ["[3], [3]"]
- func: count(Tensor self) -> Tensor
  dispatch: {CPU: "triple"}
  dtypes: all, -floating, -complex, -reduced
  samples: ["[3] for int64"]
- func: shuffled(Tensor self) -> Tensor
  dispatch: {CPU: "triple"}
  dtypes: all
  samples: ["[3]"]
- func: counted(Tensor self) -> Tensor
  dispatch: {CPU: "triple"}
  dtypes: all
  samples: ["[3]"]
"""
DERIVATIVES = """
- name: shuffled
- name: counted
  output_differentiability: [false]
"""


def test_which_operators_it_is_for(tmp_path: Path) -> None:
    """Those that could be differentiated, and of which nobody said that there is nothing to differentiate."""
    surroundings = Path(__file__).parents[1] / "bad_declarations" / "surroundings"
    folder = tmp_path / "all"
    shutil.copytree(surroundings, folder)
    kernels = folder / "runtime" / "kernels" / "kernels.py"
    kernels.write_text(kernels.read_text() + "\n\ndef triple(*arrays):\n    return arrays[0]\n")
    (folder / "declarations" / "native_functions.more.yaml").write_text(DECLARED)
    (folder / "declarations" / "derivatives.more.yaml").write_text(DERIVATIVES)
    found = derive(load(folder / "declarations", folder / "runtime")).missing
    named = {"triple", "same_sign", "count", "shuffled", "counted"}
    assert found & named == {"triple", "shuffled"}


def test_operators_with_a_derivative_do_not_ask() -> None:
    """The recording methods of what has a derivative are as they were: nothing of this is in them."""
    derived = derive(declarations())
    assert not derived.missing & set(derived.nodes)
