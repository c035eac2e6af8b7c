"""The test of the tests: one wrong word in a declaration, and they must fail.

Each mutation is made in a scratch copy of the project, which is generated anew; then the named
test of the mutated operator runs there, and must fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from tengen.codegen.emit.write import write
from tengen.codegen.gen import generate
from tengen.testing.declared import ONLY

if TYPE_CHECKING:
    from conftest import Scratch


@dataclass(frozen=True)
class Mutation:
    """One thing to change in the entry of an operator, and the test that must notice."""

    what: str
    entry: str  # how the entry begins: "- name: sin" or "- func: exp("
    old: str
    new: str
    test: str  # "test_derivatives.py::test_gradient[sin]"
    operator: str = ""  # where the tested operator is another one than the test's name says

    @property
    def tested(self) -> str:
        """The operators that the test needs."""
        return self.operator or self.test.partition("[")[2].rstrip("]").partition("-")[0]


MUTATIONS = [
    Mutation(
        "a gradient with the other argument",
        "- name: mul.Tensor\n",
        "grad * other.conj()",
        "grad * self.conj()",
        "test_derivatives.py::test_gradient[mul.Tensor]",
    ),
    Mutation(
        "a gradient without conj",
        "- name: mul.Tensor\n",
        "other: grad * self.conj()",
        "other: grad * self",
        "test_derivatives.py::test_gradient[mul.Tensor]",
    ),
    Mutation(
        "a sign",
        "- name: sin\n",
        "grad * self.cos",
        "-grad * self.cos",
        "test_derivatives.py::test_gradient[sin]",
    ),
    Mutation(
        "a gradient that is right once",
        "- name: tanh\n",
        "1 - result * result",
        "1 - (result * result).detach()",
        "test_derivatives.py::test_second_gradient[tanh]",
    ),
    Mutation(
        "a tangent",
        "- name: atan2\n",
        "self_t * other_p - other_t",
        "self_t * other_p + other_t",
        "test_forward_mode.py::test_tangent[atan2]",
    ),
    Mutation(
        "a tangent of the wrong kind",
        "- name: tanh\n",
        "result: auto_element_wise",
        "result: auto_linear",
        "test_forward_mode.py::test_tangent[tanh]",
    ),
    Mutation(
        "an argument without its gradient",
        "- name: where.self\n",
        "other: where(condition, 0, grad)\n  result: where(condition, self_t, other_t)",
        "other: non_differentiable",
        "test_torch_gradients.py::test_same_gradients[where.self]",
    ),
    Mutation(
        "the gradient of a backward operator",
        "- name: leaky_relu(",
        "grad_output: leaky_relu_backward(grad, self",
        "grad_output: leaky_relu_backward(-grad, self",
        "test_derivatives.py::test_second_gradient[leaky_relu]",
    ),
    Mutation(
        "a dtype too many",
        "- func: bitwise_not(",
        "dtypes: bool, integral",
        "dtypes: bool, integral, floating",
        "test_values.py::test_every_claimed_dtype_computes[bitwise_not]",
    ),
    Mutation(
        "a dtype too few",
        "- func: exp(",
        "dtypes: floating, reduced, complex",
        "dtypes: floating, complex",
        "test_torch.py::test_same_results[exp]",
    ),
    Mutation(
        "another promotion",
        "- func: div.Tensor(",
        "promote: int_to_float",
        "promote: default",
        "test_torch_promotion.py::test_two_tensors[div.Tensor]",
    ),
    Mutation(
        "another dtype of the result",
        "- func: abs(",
        "promote: complex_to_float",
        "promote: default",
        "test_values.py::test_value_is_the_references[abs]",
    ),
    Mutation(
        "another dtype of what is created",
        "- func: ones(",
        "factory: {dtype: default}",
        "factory: {dtype: int64}",
        "test_values.py::test_value_is_the_references[ones]",
    ),
    Mutation(
        "a view that does not say so",
        "- func: clone(",
        "CPU: to_copy(self, None, memory_format)",
        "CPU: self.reshape(self.shape)",
        "test_variants.py::test_results_have_their_own_memory[clone]",
    ),
    Mutation(
        "a copy that is called a view",
        "- func: tril(",
        "(Tensor self, SymInt diagonal=0) -> Tensor",
        "(Tensor(a) self, SymInt diagonal=0) -> Tensor(a)",
        "test_variants.py::test_views_share_memory[tril]",
    ),
    Mutation(
        "a kernel",
        "- func: addcmul(",
        "self + tensor1 * tensor2 if",
        "self - tensor1 * tensor2 if",
        "test_values.py::test_value_is_the_references[addcmul]",
    ),
    Mutation(
        "another function of the library",
        "  name: erfc(",
        "scipy.special:erfc",
        "scipy.special:erf",
        "test_values.py::test_value_is_the_references[erfc]",
    ),
    Mutation(
        "no operator in place",
        "- func: sigmoid(",
        "autogen: sigmoid_, sigmoid.out",
        "autogen: sigmoid.out",
        "test_torch_bindings.py::test_in_place_forms",
        "sigmoid",
    ),
    Mutation(
        "an operator in place that writes something else",
        "- func: relu6_(",
        "hardtanh_(self, 0, 6)",
        "hardtanh_(self, 0, 5)",
        "test_variants.py::test_in_place_is_the_functional_result[relu6_-relu6]",
        "relu6,relu6_",
    ),
    Mutation(
        "a Meta kernel",
        "- func: diag_embed(",
        "Meta: meta_diag_embed",
        "Meta: meta_diag_embed(self, 0, dim1, dim2)",
        "test_meta.py::test_shape_dtype_and_strides[diag_embed]",
    ),
    Mutation(
        "the order of a reflected operator",
        "- func: remainder.Tensor(",
        '__rmod__: "other, self"',
        '__rmod__: "self, other"',
        "test_special_methods.py::test_reflected[__rmod__]",
        "remainder.Scalar_Tensor",
    ),
]


ENTRY = re.compile(r"^(?:- |\[\[)", re.MULTILINE)


def mutate(scratch: Scratch, mutation: Mutation) -> None:
    """Make the change: in one place, once."""
    files = sorted((scratch.root / "declarations").iterdir())
    for path in (f for f in files if f.suffix in (".yaml", ".cwrap")):
        text = path.read_text(encoding="utf-8")
        start = text.find(mutation.entry)
        if start < 0:
            continue
        end = ENTRY.search(text, start + 1)
        entry = text[start : end.start() if end else None]
        assert entry.count(mutation.old) == 1, f"{mutation.old!r} is not once in {mutation.entry!r}"
        changed = text[:start] + entry.replace(mutation.old, mutation.new) + text[start + len(entry) :]
        path.write_text(changed, encoding="utf-8")
        return
    raise AssertionError(f"no declaration begins with {mutation.entry!r}")


def regenerate(scratch: Scratch) -> None:
    """Bring the copy's generated files up to its declarations."""
    write(generate(scratch.root / "declarations"), scratch.root / "generated")


def run(scratch: Scratch, operators: str, *tests: str) -> tuple[int, str]:
    """Run tests of these operators in the copy: pytest's exit status, and what it printed."""
    quickly = {ONLY: operators, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    chosen = replace(scratch, environment={**scratch.environment, **quickly})
    options = ("-q", "-p", "no:cacheprovider", "--tb=short", "-rA")
    done = chosen.python("-m", "pytest", *options, *(f"tests/operators/{t}" for t in tests))
    return done.returncode, done.stdout


def needs_torch(mutation: Mutation) -> bool:
    """Whether only torch can tell: that a dtype is missing is in no declaration."""
    return mutation.test.startswith("test_torch")


def runnable(mutation: Mutation) -> bool:
    """Whether what the test needs is installed."""
    return not needs_torch(mutation) or find_spec("torch") is not None


def test_without_a_mutation_they_pass(scratch: Scratch) -> None:
    """The tests of these operators fail for nothing but the mutation."""
    regenerate(scratch)
    mutations = [m for m in MUTATIONS if runnable(m)]
    operators = ",".join(dict.fromkeys(m.tested for m in mutations))
    files = dict.fromkeys(m.test.partition("::")[0] for m in mutations)
    status, printed = run(scratch, operators, *files)
    assert status == 0, printed


PARAMETERS = [
    pytest.param(m, id=m.what.replace(" ", "-"), marks=[pytest.mark.oracle] if needs_torch(m) else [])
    for m in MUTATIONS
]


@pytest.mark.parametrize("mutation", PARAMETERS)
def test_the_mutation_is_noticed(mutation: Mutation, scratch: Scratch) -> None:
    if not runnable(mutation):
        pytest.skip("only torch can tell")
    mutate(scratch, mutation)
    regenerate(scratch)
    _, printed = run(scratch, mutation.tested, mutation.test)
    assert f"FAILED tests/operators/{mutation.test}" in printed, printed
