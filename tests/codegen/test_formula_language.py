"""Everything that a derivative may say, declared in a scratch copy, generated and run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from scratch import tree

PROJECT = Path(__file__).parents[2]

OPERATORS = """
- func: two(Tensor self, Tensor other) -> (Tensor first, Tensor second)
  dtypes: floating
  dispatch: {CPU: "(self * other, self * 10 + other * 100)", Meta: "(meta_like(self), meta_like(self))"}
  samples: ["[3], [3]"]
- func: first_only(Tensor self) -> (Tensor a, Tensor b)
  dtypes: floating
  dispatch: {CPU: "(self * 2, self * 3)", Meta: "(meta_like(self), meta_like(self))"}
  samples: ["[3]"]
- func: jointly(Tensor self, Tensor other) -> Tensor
  dtypes: floating
  dispatch: {CPU: self * other, Meta: meta_like(self)}
  samples: ["[3], [3]"]
- func: wrapped(Tensor self, Tensor other, bool keep) -> Tensor
  dtypes: floating
  dispatch: {CPU: self * 2, Meta: meta_like(self)}
  samples: ["[3], [3], True"]
- func: masked(Tensor self, Tensor other) -> Tensor
  dtypes: floating
  dispatch: {CPU: self * other, Meta: meta_like(self)}
  samples: ["[3], [3]"]
- func: not_yet(Tensor self, Tensor other) -> Tensor
  dtypes: floating
  dispatch: {CPU: self * other, Meta: meta_like(self)}
  samples: ["[3], [3]"]
- func: summed(Tensor[] tensors) -> Tensor
  dtypes: floating
  dispatch: {CPU: "tensors[0] + tensors[1]", Meta: "meta_like(tensors[0])"}
  samples: ["[[3], [3]]"]
- func: squared_times_(Tensor(a!) self, Tensor other) -> Tensor(a!)
  variants: method
  dtypes: floating
  dispatch: {CPU: self * self * other, Meta: meta_like(self)}
  samples: ["[3], [3]"]
- func: retaining(Tensor self) -> Tensor
  dtypes: floating
  dispatch: {CPU: self * 1, Meta: meta_like(self)}
  samples: ["[3]"]
- func: by_key(Tensor self) -> Tensor
  dtypes: floating
  dispatch: {CPU: self * 5, Meta: meta_like(self)}
  samples: ["[3]"]
"""
DERIVATIVES = """
- name: two
  self: grad_first * other + grad_second * 10
  other: grad_first * self + grad_second * 100
- name: first_only
  output_differentiability: [true, false]
  self: grads[0] * 2
- name: jointly
  self, other: both(grad, self, other, grad_input_mask)
- name: wrapped
  self: grad * (wrap_opt_if(other, keep) if keep else 2)
  other: non_differentiable
- name: masked
  self, other: either(grad, wrap_opt_if(self, grad_input_mask[1]), wrap_opt_if(other, grad_input_mask[0]))
- name: not_yet
  self: grad * other
  other: not_implemented("not_yet of other")
- name: summed
  tensors: "[grad.expand(s) for s in [t.shape for t in tensors]]"
- name: squared_times_
  self: grad * 2 * original_self * other
  other: grad * original_self * original_self
  result: 2 * original_self_p * original_self_t * other_p + original_self_p * original_self_p * other_t
- name: retaining
  self: "grad * (3 if retain_variables else 7)"
- name: by_key
  dispatch:
    Default: {self: grad * 5}
    AutogradMeta: {self: grad * 6 + missing_on_cpu(grad)}
"""
HELPERS = """
def both(grad, self, other, mask):
    return (grad * other if mask[0] else None), (grad * self if mask[1] else None)


def either(grad, self, other):
    return (None if other is None else grad * other), (None if self is None else grad * self)


def missing_on_cpu(grad):
    assert grad.device.type == "meta"
    return grad
"""


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to set PYTHONPATH to, with a tengen that has the operators above."""
    project = tmp_path_factory.mktemp("project")
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("codegen", "declarations", "ir", "runtime", "templates"):
        shutil.copytree(PROJECT / name, project / name, ignore=ignored)
    (project / "declarations" / "native_functions.more.yaml").write_text(OPERATORS)
    (project / "declarations" / "derivatives.more.yaml").write_text(DERIVATIVES)
    (project / "runtime" / "formulas" / "more.py").write_text(HELPERS)
    (project / "generated").mkdir()
    folder = tree(project)
    python(folder, "-m", "tengen.codegen.gen")
    return folder


def python(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            """
            first, second = tengen.two(a, b)
            assert grads(first, a, b) == (3, 2) and grads(second, a, b) == (10, 100)
            """,
            id="grad_NAME",
        ),
        pytest.param(
            """
            first, second = tengen.first_only(a)
            assert first.requires_grad and not second.requires_grad and grads(first, a) == (2,)
            """,
            id="output_differentiability",
        ),
        pytest.param(
            """
            assert grads(tengen.jointly(a, b), a, b) == (3, 2)
            assert grads(tengen.jointly(a, b.detach()), a) == (3,)
            """,
            id="joint key",
        ),
        pytest.param(
            """
            kept, dropped = tengen.wrapped(a, b, True), tengen.wrapped(a, b, False)
            assert kept.grad_fn._other is not None and dropped.grad_fn._other is None
            assert grads(kept, a) == (3,) and grads(dropped, a) == (2,)
            """,
            id="wrap_opt_if an argument",
        ),
        pytest.param(
            """
            assert grads(tengen.masked(a, b), a, b) == (3, 2)
            one = tengen.masked(a, b.detach())
            assert one.grad_fn._self is None and grads(one, a) == (3,)
            assert grads(tengen.masked(a.detach(), b), b) == (2,)
            """,
            id="wrap_opt_if grad_input_mask",
        ),
        pytest.param(
            """
            assert grads(tengen.not_yet(a, b.detach()), a) == (3,)
            try:
                grads(tengen.not_yet(a, b), b)
            except RuntimeError as error:
                assert "not_yet of other" in str(error)
            else:
                raise AssertionError
            """,
            id="not_implemented",
        ),
        pytest.param(
            """
            result = tengen.summed([a, b])
            assert not hasattr(result.grad_fn, "_tensors") and grads(result, a, b) == (1, 1)
            """,
            id="shapes of a list",
        ),
        pytest.param(
            """
            c = a * 1
            c.squared_times_(b)
            assert c.item() == 12 and grads(c, a, b) == (12, 4)
            """,
            id="original_self",
        ),
        pytest.param(
            """
            result = tengen.retaining(a)
            assert grads(result, a, keep=True) == (3,) and grads(result, a, keep=False) == (7,)
            """,
            id="retain_variables",
        ),
        pytest.param(
            """
            assert grads(tengen.by_key(a), a) == (5,)
            meta = tengen.ones(2, device="meta", requires_grad=True)
            assert tengen.autograd.grad(tengen.by_key(meta).sum(), meta)[0].shape == (2,)
            """,
            id="dispatch",
        ),
    ],
)
def test_formula(scratch: Path, program: str) -> None:
    prelude = """
        import tengen
        a = tengen.tensor(2.0, requires_grad=True)
        b = tengen.tensor(3.0, requires_grad=True)
        def grads(result, *inputs, keep=True):
            return tuple(g.item() for g in tengen.autograd.grad(result, inputs, retain_graph=keep))
    """
    python(scratch, "-c", textwrap.dedent(prelude) + textwrap.dedent(program))
