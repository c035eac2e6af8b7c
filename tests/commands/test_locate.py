"""``tengen verify`` of new operators shows the sample, the dtypes or the backward kernel where that is wrong.

And only that: one mistake is one report, however many checks it makes fail.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scratch import commit_all, copy_project
from verify_reports import Told, verify

if TYPE_CHECKING:
    from conftest import Scratch

Command = Callable[..., subprocess.CompletedProcess[str]]

OPERATORS = "declarations/native_functions.mine.yaml"
FORMULAS = "declarations/derivatives.mine.yaml"
KERNELS = "runtime/kernels/running.py"
REFERENCES = "tests/references_mine.py"

FILES = {
    OPERATORS: """\
- func: running(Tensor self, float weight=0.5, int dim=-1) -> Tensor
  dispatch:
    CPU: running
    Meta: meta_like(self)
  dtypes: floating
  batching: {dims: dim}
  samples: ["[5]", "[3, 4], 0.25, 0", "[2, 3], 0.3"]
  reference: running_by_matrices(self, weight, dim)

- func: running_backward(Tensor grad_output, float weight, int dim) -> Tensor
  dispatch:
    CPU: running_backward
    Meta: meta_like(grad_output)
  dtypes: floating
  batching: {dims: dim}
  samples: ["[5], 0.5, 0", "[3, 4], 0.25, -1"]

- func: cube(Tensor self, Scalar a) -> Tensor
  tags: [pointwise]
  dtypes: floating, complex
  dispatch: {CPU: self * self * self + a}
  samples: ["[3, 4], 2.0", "[], 1.0"]
  reference: self**3 + a
""",
    FORMULAS: """\
- name: running
  self: running_backward(grad, weight, dim)
  result: auto_linear

- name: running_backward
  grad_output: running(grad, weight, dim)
  result: auto_linear

- name: cube
  self: grad * 3 * (self * self).conj()
  result: auto_element_wise
""",
    KERNELS: '''\
"""Running means."""

import numpy as np

Array = np.ndarray


def running(self, weight, dim):
    """The running mean."""
    moved = np.moveaxis(np.atleast_1d(self), dim, -1)
    out = np.empty_like(moved)
    state = 0
    for i in range(moved.shape[-1]):
        state = weight * moved[..., i] + (1 - weight) * state
        out[..., i] = state
    return np.ascontiguousarray(np.moveaxis(out, -1, dim)).reshape(self.shape)


def running_backward(grad_output, weight, dim):
    """Its gradient."""
    turned: Array = np.flip(np.atleast_1d(grad_output), dim)
    return np.flip(running(turned, weight, dim), dim).reshape(grad_output.shape).copy()
''',
    REFERENCES: '''\
"""Running means, by matrices."""

import numpy as np


def running_by_matrices(array, weight, dim):
    moved = np.moveaxis(array, dim, 0)
    ages = np.subtract.outer(np.arange(len(moved)), np.arange(len(moved)))
    weights = np.where(ages >= 0, weight * (1.0 - weight) ** np.maximum(ages, 0), 0)
    return np.moveaxis(np.tensordot(weights, moved, 1), 0, dim)
''',
}


@pytest.fixture
def mine(scratch: Scratch) -> Path:
    """A scratch copy with the operators above, which are right."""
    for name, text in FILES.items():
        (scratch.root / name).write_text(text, encoding="utf-8")
    return scratch.root


@dataclass(frozen=True)
class Mistake:
    """What is changed, and what must be pointed at, and said of it."""

    what: str
    file: str
    old: str
    new: str
    verified: str
    at: tuple[str, str]  # a file, and the first text in it that is pointed at
    message: str
    also: tuple[str, ...] = ()  # what else is printed
    more: tuple[tuple[str, str, str], ...] = ()  # more changes


LONGEST = 'samples: ["[5]", "[3, 4], 0.25, 0", "[2, 3], 0.3"]'
NO_REFERENCE = (OPERATORS, "  reference: running_by_matrices(self, weight, dim)\n", "")

MISTAKES = [
    Mistake(
        "a sample that kernel and reference refuse",
        OPERATORS,
        '"[2, 3], 0.3"',
        '"[2, 3], 0.3, 2"',
        "running",
        (OPERATORS, "[2, 3], 0.3, 2"),
        "running does not take its own sample: IndexError: ",
        ("or its kernel is wrong",),
    ),
    Mistake(
        "a sample that the kernel refuses, and nothing judges",
        OPERATORS,
        '"[2, 3], 0.3"',
        '"[2, 3], 0.3, 2"',
        "running",
        (OPERATORS, "[2, 3], 0.3, 2"),
        "running does not take its own sample: IndexError: ",
        more=(NO_REFERENCE,),
    ),
    Mistake(
        "a sample of another dtype",
        OPERATORS,
        '"[2, 3], 0.3"',
        '"ints([2, 3], 0, 4), 0.3"',
        "running",
        (OPERATORS, "ints([2, 3], 0, 4), 0.3"),
        "this sample of running has tensors of int64, which its dtypes do not claim",
        ("or the dtypes that it claims are",),
    ),
    Mistake(
        "a sample that the reference refuses",
        REFERENCES,
        "    moved = np",
        "    assert array.ndim < 2 or dim == 0\n    moved = np",
        "running",
        (OPERATORS, "[2, 3], 0.3"),
        "the reference of running cannot be computed of this sample, as it can of others: AssertionError",
        ("or its reference is wrong",),
    ),
    Mistake(
        "a kernel that fails for one sample, of which the reference can be computed",
        KERNELS,
        "    state = 0\n",
        "    state = 0 if self.ndim < 2 or dim == 0 else unknown\n",
        "running",
        (OPERATORS, "running\n    Meta"),
        "running fails: NameError: running: name 'unknown' is not defined",
        (f"{KERNELS}:12:1: it is raised here",),
    ),
    Mistake(
        "a kernel that fails, which two operators have",
        KERNELS,
        "    state = 0\n",
        "    state = unknown\n",
        "running running_backward",
        (OPERATORS, "running\n    Meta"),
        "running fails: NameError: running: name 'unknown' is not defined",
        ("also seen in: running_backward: that samples are taken",),
    ),
    Mistake(
        "a dtype in which the kernel raises",
        KERNELS,
        "    state = 0\n",
        "    state = 0 if self.dtype.kind == 'f' else unknown\n",
        "running",
        (OPERATORS, "integral"),
        "running does not compute in uint8, which its dtypes claim: NameError: ",
        ("or its kernel is wrong",),
        more=(
            (
                OPERATORS,
                "floating\n  batching: {dims: dim}\n" + f"  {LONGEST}",
                "floating, integral\n  batching: {dims: dim}\n" + f"  {LONGEST}",
            ),
        ),
    ),
    Mistake(
        "a dtype in which the kernel gives other values than the reference",
        OPERATORS,
        f"floating\n  batching: {{dims: dim}}\n  {LONGEST}",
        f"floating, integral\n  batching: {{dims: dim}}\n  {LONGEST}",
        "running",
        (OPERATORS, "integral"),
        "the kernel of running gives other values for integers than its reference in int64, which its dtypes "
        "claim; it is right in float64",
        ("or its kernel is wrong", "kernel:", "reference:"),
    ),
    Mistake(
        "a kernel that is not for complex numbers",
        OPERATORS,
        "CPU: self * self * self + a",
        "CPU: xp.real(self) * self * self + a",
        "cube",
        (OPERATORS, "complex"),
        "the kernel of cube gives other values than its reference in complex128, which its dtypes claim; it "
        "is right in float64",
        ("or its kernel is wrong", "also seen in: gradients, tangents"),
    ),
    Mistake(
        "a backward kernel",
        KERNELS,
        "    return np.flip(running(turned, weight, dim), dim).reshape(grad_output.shape).copy()",
        "    return running(grad_output, weight, dim)",
        "running",
        (OPERATORS, "running_backward\n    Meta"),
        "the kernel of running_backward does not give the gradient of running for self",
        (f"{KERNELS}:19:1: running_backward is written here", "analytical:", "numerical:"),
    ),
    Mistake(
        "a backward kernel, whose own derivative is not its any more",
        KERNELS,
        "    return np.flip(running(turned, weight, dim), dim).reshape(grad_output.shape).copy()",
        "    return 2 * np.flip(running(turned, weight, dim), dim).reshape(grad_output.shape)",
        "running running_backward",
        (OPERATORS, "running_backward\n    Meta"),
        "the kernel of running_backward does not give the gradient of running for self",
        ("it is 2 times what it should be", "running_backward: gradients"),
    ),
    Mistake(
        "a backward kernel that fails",
        KERNELS,
        "    turned: Array = np.flip(np.atleast_1d(grad_output), dim)",
        "    turned: Array = np.flip(np.atleast_1d(grad_output), dim) * unknown",
        "running",
        (OPERATORS, "running_backward\n    Meta"),
        "running_backward fails: NameError: running_backward: name 'unknown' is not defined",
        ("also seen in: running: gradients, ",),
    ),
    Mistake(
        "a backward kernel of an entry that makes both",
        "runtime/kernels/nn/activation.py",
        '    kernel = kernel_of_floats("gated_backward", self.dtype)\n',
        '    kernel, grad_output = kernel_of_floats("gated_backward", self.dtype), 2 * grad_output\n',
        "glu",
        ("declarations/nn.yaml", "glu\n  gradients"),
        "the kernel of glu_backward does not give the gradient of glu for self",
        ("glu_backward is written here",),
    ),
    Mistake(
        "what a formula gives its backward operator",
        FORMULAS,
        "running_backward(grad, weight, dim)",
        "running_backward(grad, weight, 0)",
        "running",
        (FORMULAS, "running_backward(grad, weight, 0)"),
        "the gradient of running for self is wrong",
    ),
    Mistake(
        "the formula of a backward operator",
        FORMULAS,
        "grad_output: running(grad",
        "grad_output: -running(grad",
        "running running_backward",
        (FORMULAS, "-running(grad"),
        "the gradient of running_backward for grad_output is wrong",
        ("also seen in: running: gradients of gradients",),
    ),
    Mistake(
        "a kernel whose derivative says nothing of the mistake",
        OPERATORS,
        "self * self * self + a",
        "self * self * self - a",
        "cube",
        (OPERATORS, "self * self * self - a"),
        "the kernel of cube gives other values than its reference",
        ("or this is wrong, which it was compared with",),
    ),
    Mistake(
        "a kernel that its backward kernel calls",
        KERNELS,
        "(1 - weight) * state",
        "(2 - weight) * state",
        "running running_backward",
        (OPERATORS, "running\n    Meta"),
        "the kernel of running gives other values than its reference",
    ),
    Mistake(
        "a kernel that changes its input",
        KERNELS,
        "    moved = np.moveaxis(np.atleast_1d(self), dim, -1)",
        "    self *= 1.5\n    moved = np.moveaxis(np.atleast_1d(self), dim, -1)",
        "running",
        (OPERATORS, "running\n    Meta"),
        "the kernel of running changes its inputs",
        ("values against the reference",),
    ),
]


def place(root: Path, file: str, text: str) -> str:
    """Where a text stands first."""
    before = (root / file).read_text(encoding="utf-8").partition(text)[0]
    return f"{file}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def change(root: Path, file: str, old: str, new: str) -> None:
    """Make a change, in one place."""
    text = (root / file).read_text(encoding="utf-8")
    assert text.count(old) == 1, (file, old)
    (root / file).write_text(text.replace(old, new), encoding="utf-8")


def numbered(text: str, number: int) -> str:
    """A text about the operators above, of copies of them that bear a number."""
    return re.sub(r"(?<![a-z])(mine|running|cube)(?![a-z])", rf"\g<1>{number}", text)


def make(root: Path, mistake: Mistake, number: int) -> str:
    """Make a mistake in copies of the operators; returns the place where it must be shown."""
    for file, text in FILES.items():
        (root / numbered(file, number)).write_text(numbered(text, number), encoding="utf-8")
    for texts in ((mistake.file, mistake.old, mistake.new), *mistake.more):
        change(root, *(numbered(t, number) for t in texts))
    return place(root, *(numbered(t, number) for t in mistake.at))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """What one run tells of all mistakes, each of which is made in operators of its own."""
    scratch = copy_project(tmp_path_factory.mktemp("mistakes"))
    places = {m.what: make(scratch.root, m, n) for n, m in enumerate(MISTAKES)}
    return verify(
        scratch, places, *(numbered(w, n) for n, m in enumerate(MISTAKES) for w in m.verified.split())
    )


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.what.replace(" ", "-"))
def test_a_mistake_is_told_where_it_is(mistake: Mistake, told: Told) -> None:
    number = MISTAKES.index(mistake)
    error = told.at(mistake.what, numbered(mistake.message, number))
    assert all(numbered(text, number) in error for text in mistake.also), error


def test_each_mistake_is_told_once(told: Told) -> None:
    assert told.status == 1 and len(told.errors) == len(MISTAKES), told.output


# -- without a reference ------------------------------------------------------------------------------


def test_what_has_no_reference_is_not_called_verified(mine: Path, tengen: Command) -> None:
    change(mine, OPERATORS, "  reference: self**3 + a\n", "")
    done = tengen("verify", "cube", "running", "running_backward", "-j", "1")
    assert done.returncode == 0, done.stdout
    where = place(mine, OPERATORS, "cube(Tensor")
    assert f"{where}: warning: no value of cube was compared: it declares no reference" in done.stdout
    assert "no value of running" not in done.stdout, done.stdout  # one by its own, one as its gradient
    last = done.stdout.strip().splitlines()[-1]
    assert re.match(r"2 operators verified, 1 NOT COMPARED \(no reference\) by \d+ calls in", last), last
    assert tengen("verify", "cube", "--strict").returncode == 1
    assert tengen("verify", "running", "--strict").returncode == 0


def test_two_that_judge_each_other_are_not_compared(mine: Path, tengen: Command) -> None:
    """A backward operator's values are a gradient that is compared: of values that nothing says are right."""
    change(mine, *NO_REFERENCE)
    done = tengen("verify", "running", "running_backward", "-j", "1")
    assert done.returncode == 0 and "0 operators verified, 2 NOT COMPARED" in done.stdout, done.stdout


def test_random_results_are_not_compared_and_want_no_reference(tengen: Command) -> None:
    done = tengen("verify", "normal_", "--strict")
    assert done.returncode == 0 and "warning" not in done.stdout, done.stdout
    assert re.match(r"0 operators verified, \d+ NOT COMPARED \(results are random\) by", done.stdout), (
        done.stdout
    )


# -- what is new ----------------------------------------------------------------------------------------


def test_a_new_module_selects_what_is_made_of_it(mine: Path, tengen: Command) -> None:
    """Though it names things as other modules do: ``np``, ``Array``, and a kernel by another name."""
    untouched = {name: (mine / name).read_text() for name in FILES}
    for name in FILES:
        (mine / name).unlink()
    commit_all(mine)
    for name, text in untouched.items():
        (mine / name).write_text(text)
    change(
        mine,
        KERNELS,
        "Array = np.ndarray\n",
        "from .scans import cumsum as flip\n\nArray = np.ndarray\ncast = flip\n",
    )
    done = tengen("verify", "-j", "1")
    assert done.returncode == 0, done.stdout
    assert "3 operators verified by" in done.stdout, done.stdout
