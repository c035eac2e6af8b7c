"""``tengen verify``: one wrong word in a declaration or a kernel, and it is shown where it stands."""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scratch import copy_project
from verify_reports import Told, verify

if TYPE_CHECKING:
    from conftest import Scratch

Command = Callable[..., subprocess.CompletedProcess[str]]


@dataclass(frozen=True)
class Mutation:
    """One thing to change in an entry, and what the command must say of it."""

    what: str
    entry: str  # how the entry begins: "- name: sin" or "- func: exp("
    old: str
    new: str
    at: str  # the text that must be pointed at, in the changed entry
    message: str
    operators: str
    also: tuple[str, ...] = ()  # what else must be printed


MUTATIONS = [
    Mutation(
        "a sign",
        "- name: sin\n",
        "grad * self.cos",
        "-grad * self.cos",
        "-grad * self.cos",
        "the gradient of sin for self is wrong",
        "sin",
        ("the sign is the wrong one throughout", "analytical:", "numerical:", "largest error: "),
    ),
    Mutation(
        "one of two gradients",
        "- name: div.Tensor\n",
        "other: -grad * (self",
        "other: -2 * grad * (self",
        "-2 * grad * (self",
        "the gradient of div.Tensor for other is wrong",
        "div.Tensor",
        ("it is 2 times what it should be",),
    ),
    Mutation(
        "a tangent",
        "- name: div.Tensor\n",
        "self_t - other_t",
        "self_t + other_t",
        "(self_t + other_t",
        "the tangent of div.Tensor is wrong, where other moves",
        "div.Tensor",
    ),
    Mutation(
        "a tangent of the wrong kind",
        "- name: tanh\n",
        "result: auto_element_wise",
        "result: auto_linear",
        "auto_linear",
        "the tangent of tanh is wrong",
        "tanh",
    ),
    Mutation(
        "a gradient that is right once",
        "- name: tanh\n",
        "1 - result * result",
        "1 - (result * result).detach()",
        "grad * (1 - (result * result).detach())",
        "the derivative of the gradient of tanh for self is wrong",
        "tanh",
    ),
    Mutation(
        "the gradient of a backward operator",
        "- name: elu(",
        "grad_output: elu_backward(grad, self",
        "grad_output: elu_backward(-grad, self",
        "elu_backward(-grad, self",
        "the gradient of elu_backward for grad_output is wrong",
        "elu",
    ),
    Mutation(
        "a kernel",
        "- func: addcmul(",
        "self + tensor1 * tensor2 if",
        "self - tensor1 * tensor2 if",
        "self - tensor1 * tensor2 if",
        "the kernel of addcmul gives other values than its reference",
        "addcmul",
        ("kernel:", "reference:", "or this is wrong, which it was compared with"),
    ),
    Mutation(
        "a kernel in one dtype",
        "- func: exp(",
        "CPU: xp.exp(self)",
        "CPU: \"xp.exp2(self) if self.dtype == 'complex64' else xp.exp(self)\"",
        "xp.exp2(self) if",
        "the kernel of exp is wrong in complex64",
        "exp",
        ("complex64:", "complex128:"),
    ),
    Mutation(
        "a Meta kernel",
        "- func: tril_indices(",
        "tril_indices_shape(row, col, offset)",
        "tril_indices_shape(row, col, 0)",
        "meta_shape(tril_indices_shape(row, col, 0), dtype)",
        "the Meta kernel of tril_indices gives another shape",
        "tril_indices",
        ("Meta: shape (", "tril_indices_shape is written here"),
    ),
    Mutation(
        "a dtype that is claimed",
        "- func: bitwise_not(",
        "dtypes: bool, integral",
        "dtypes: bool, integral, floating",
        "floating",
        "bitwise_not",
        "bitwise_not",
    ),
    Mutation(
        "an in-place operator",
        "- func: relu6_(",
        "hardtanh_(self, 0, 6)",
        "hardtanh_(self, 0, 0.5)",
        "hardtanh_(self, 0, 0.5)",
        "relu6_ does not write relu6's result",
        "relu6_",
    ),
    Mutation(
        "a batching rule that mixes slices",
        "- func: cumsum(",
        "batching: {dims: dim}",
        "batching: leading",
        "leading",
        "vmap of cumsum is not cumsum in a loop over the batch",
        "cumsum",
        ("one by one:",),
    ),
    Mutation(
        "a reference",
        "- func: exp(",
        "reference: np.power(math.e, self)",
        "reference: np.power(math.e, self) + self",
        "np.power(math.e, self) + self",
        "the reference of exp gives other values than its kernel",
        "exp",
    ),
    Mutation(
        "a copy that is called a view",
        "- func: trace(",
        "(Tensor self) -> Tensor",
        "(Tensor(a) self) -> Tensor(a)",
        "Tensor(a)\n",
        "trace declares its result an alias, and copies",
        "trace",
    ),
    Mutation(
        "a view that is not called one",
        "- func: _unsafe_view(",
        "tags: shares_silently",
        "tags: core",
        "Tensor\n",
        "_unsafe_view gives a view, and does not declare it",
        "_unsafe_view",
    ),
    Mutation(
        "an error",
        "- func: cumsum(",
        "[3, 4], 2: IndexError",
        "[3, 4], 2: TypeError",
        "[3, 4], 2: TypeError",
        "cumsum does not raise TypeError",
        "cumsum",
    ),
    Mutation(
        "a symbolic",
        "- func: sigmoid(",
        "symbolic: onnx.Sigmoid(self)",
        "symbolic: onnx.Tanh(self)",
        "onnx.Tanh(self)",
        "the symbolic of sigmoid gives other values",
        "sigmoid",
        ("onnxruntime:", "tengen:"),
    ),
]

ENTRY = re.compile(r"^(?:- |\[\[)", re.MULTILINE)


def mutate(scratch: Scratch, mutation: Mutation) -> str:
    """Make the change, in one place, once; returns the place of what must be pointed at."""
    for path in sorted((scratch.root / "declarations").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        start = text.find(mutation.entry)
        if start < 0:
            continue
        end = ENTRY.search(text, start + 1)
        entry = text[start : end.start() if end else None]
        assert entry.count(mutation.old) == 1, f"{mutation.old!r} is not once in {mutation.entry!r}"
        changed = entry.replace(mutation.old, mutation.new)
        path.write_text(text[:start] + changed + text[start + len(entry) :], encoding="utf-8")
        at = start + changed.index(mutation.at)
        before = (text[:start] + changed)[:at]
        return f"declarations/{path.name}:{before.count(chr(10)) + 1}:{at - before.rfind(chr(10))}"
    raise AssertionError(f"no declaration begins with {mutation.entry!r}")


def batches(mutations: Sequence[Mutation]) -> list[list[Mutation]]:
    """The mutations in few groups, in each of which no two are of one operator."""
    found: list[list[Mutation]] = []
    for mutation in mutations:
        free = (b for b in found if mutation.entry not in [m.entry for m in b])
        batch = next((b for b in free if mutation.operators not in [m.operators for m in b]), None)
        if batch is None:
            found.append([mutation])
        else:
            batch.append(mutation)
    return found


CHOSEN = [m for m in MUTATIONS if "symbolic" not in m.what or find_spec("onnxruntime") is not None]
BATCHES = batches(CHOSEN)
LAST = len(BATCHES) - 1


#: Backward kernels of each kind: the module, what computes the gradient, the operator that it is of.
BACKWARD_KERNELS = [
    ("nn/activation.py", "glu_backward", "glu"),  # of an entry that makes both
    ("nn/cross_entropy.py", "fused_cross_entropy_backward", "_fused_cross_entropy"),  # called by a formula
]


def double(scratch: Scratch, file: str, kernel: str) -> str:
    """Make a kernel compute twice what it did; returns the place of its definition."""
    path = scratch.root / "runtime" / "kernels" / file
    lines = path.read_text(encoding="utf-8").split("\n")
    first = next(i for i, line in enumerate(lines) if re.match(rf"(def )?{kernel}\b", line))
    right = f"_right_{kernel}"
    lines[first] = lines[first].replace(kernel, right)
    behind = [i for i in range(first + 1, len(lines)) if lines[i] and not lines[i].startswith((" ", ")"))]
    end = min(behind, default=len(lines))
    wrong = f"""def {kernel}(*arguments):
    found = {right}(*arguments)
    return tuple(g if g is None else 2 * g for g in found) if isinstance(found, tuple) else 2 * found
"""
    lines[end:end] = ["", *wrong.split("\n"), ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    return f"runtime/kernels/{file}:{end + 2}:1"


@dataclass(frozen=True)
class Run:
    """A copy in which mistakes were made, and what was told of them; of wrong kernels, where each is."""

    scratch: Scratch
    told: Told
    kernels: Mapping[str, str]


@pytest.fixture(scope="module")
def run_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Run]:
    """The run of a batch, by its number: all of its mutations are made in one copy, and verified at once.

    With the last batch, which is small, are the wrong backward kernels.
    """

    @functools.cache
    def run(number: int) -> Run:
        scratch = copy_project(tmp_path_factory.mktemp("mutations"))
        places = {m.what: mutate(scratch, m) for m in BATCHES[number]}
        doubled = BACKWARD_KERNELS if number == LAST else []
        kernels = {kernel: double(scratch, file, kernel) for file, kernel, _ in doubled}
        operators = *(m.operators for m in BATCHES[number]), *(operator for _, _, operator in doubled)
        return Run(scratch, verify(scratch, places, *operators), kernels)

    return run


@pytest.mark.parametrize("mutation", CHOSEN, ids=lambda m: m.what.replace(" ", "-"))
def test_what_is_wrong_is_shown_where_it_stands(mutation: Mutation, run_of: Callable[[int], Run]) -> None:
    told = run_of(next(n for n, batch in enumerate(BATCHES) if mutation in batch)).told
    error = told.at(mutation.what, mutation.message)
    assert all(text in error for text in mutation.also), error


@pytest.mark.parametrize("number", range(len(BATCHES)))
def test_each_mistake_is_one_error_and_nothing_is_written(number: int, run_of: Callable[[int], Run]) -> None:
    """A wrong backward kernel may be seen in its operator, too, though it is told once."""
    run, mistakes = run_of(number), len(BATCHES[number])
    told, count = run.told, mistakes + len(run.kernels)
    assert told.status == 1 and len(told.errors) == count and told.untouched, told.output
    seen = re.search(rf"\n{count} errors in (\d+) operators; ", told.output)
    assert seen is not None and count <= int(seen[1]) <= mistakes + 2 * len(run.kernels), told.output


def test_the_files_of_wrong_backward_kernels(run_of: Callable[[int], Run]) -> None:
    places, told = run_of(LAST).kernels, run_of(LAST).told
    written = [f"{place}: {kernel} is written here" for kernel, place in places.items()]
    shown = [[text for text in written if text in error] for error in told.errors]
    assert sorted(texts[0] for texts in shown if texts) == sorted(written), told.output  # each is shown once
    assert all(len(texts) <= 1 for texts in shown), told.output  # and each error shows one kernel


def test_the_line_that_is_given_shows_it_again(run_of: Callable[[int], Run]) -> None:
    mutation = MUTATIONS[0]
    run = run_of(next(n for n, batch in enumerate(BATCHES) if mutation in batch))
    again = re.search(r"again: (tengen\..*)", run.told.at(mutation.what, mutation.message))
    assert again is not None
    assert run.scratch.python("-m", "tengen.codegen.gen").returncode == 0
    shown = run.scratch.python("-c", f"import tengen; {again.group(1)}")
    assert shown.returncode == 1 and mutation.message in shown.stdout, shown.stdout


def test_what_is_right_passes(tengen: Command) -> None:
    done = tengen("verify", "sin", "addcmul", "max_pool2d", "-v")
    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d+ operators verified by \d+ calls in", done.stdout, re.MULTILINE), done.stdout
    assert "not verified: the declared errors, for it declares no errors: " in done.stdout


#: Operators whose authors did nothing wrong: one has no kernel of Meta's, of the other the generator's own
#: tangent is not finite where the gradient is.
INNOCENT = """
- func: flat_hypot(Tensor self, Tensor other, *, float eps=1e-12) -> Tensor
  tags: [pointwise]
  dtypes: floating
  dispatch: {CPU: "xp.sqrt(self * self + other * other + eps)"}
  samples: ["[3, 4], [3, 4]"]
  reference: np.sqrt(self * self + other * other + eps)

- func: here_alone(Tensor self) -> Tensor
  dtypes: floating
  dispatch: {CPU: "xp.cumsum(self, axis=None).reshape(self.shape)"}
  samples: ["[3]"]
  reference: np.cumsum(self).reshape(self.shape)
"""


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, subprocess.CompletedProcess[str]]:
    """The table of primitives with four mistakes, and what is told of it, of those above, and of two scans.

    One scan ends the process that calls it.
    """
    scratch = copy_project(tmp_path_factory.mktemp("verified"))
    folder = scratch.root / "declarations"
    (folder / "native_functions.innocent.yaml").write_text(INNOCENT, encoding="utf-8")
    head = "    return _accumulate(np.add, self, dim, dtype)\n"
    for path, old, new in (
        (folder / "primitives.yaml", '["cos(x)"]', '["-cos(x)"]'),
        (folder / "primitives.yaml", "onnx.Cosh(", "onnx.Coshh("),
        (folder / "primitives.yaml", '["-bessel_y1(x)"]', '["bessel_y1(x)"]'),
        (folder / "primitives.yaml", "scipy.special:k1e", "scipy.special:k1f"),
        (scratch.root / "runtime" / "kernels" / "scans.py", head, "    import os; os._exit(7)\n"),
    ):
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, old
        path.write_text(text.replace(old, new), encoding="utf-8")
    operators = ("flat_hypot", "here_alone", "cumsum", "cumprod")
    done = scratch.python("-m", "tengen.codegen.cli", "verify", *operators, "-j", "1")
    return (folder / "primitives.yaml").read_text(encoding="utf-8"), done


def test_the_table_of_primitives_and_those_who_did_nothing(
    verified: tuple[str, subprocess.CompletedProcess[str]],
) -> None:
    """Of primitives derivatives and ONNX's names are verified, though operators may not show them."""
    lines, done = verified[0].split("\n"), verified[1]
    sine = next(i for i, line in enumerate(lines, 1) if '["-cos(x)"]' in line)
    at = f"declarations/primitives.yaml:{sine}:{lines[sine - 1].index('-cos') + 1}"
    assert f"{at}: error: the derivative of sin by x is wrong at x=" in done.stdout, done.stdout
    has_onnx = find_spec("onnx") is not None
    assert ('error: ONNX has no operator "Coshh"' in done.stdout) == has_onnx, done.stdout
    assert "error: the derivative of bessel_y0 by x is wrong at x=" in done.stdout, done.stdout
    assert "error: there is no function scipy.special:k1f: module 'scipy.special' has no" in done.stdout
    of_scans = done.stdout.count(": error: cum")
    assert done.stdout.count(": error: ") == 3 + has_onnx + of_scans, done.stdout
    assert done.returncode == 1


def test_a_process_that_ends_is_a_failure(verified: tuple[str, subprocess.CompletedProcess[str]]) -> None:
    """An operator that takes the process with it is one that is wrong; the others are verified."""
    done = verified[1]
    assert done.returncode == 1, done.stdout
    assert "error: cumsum could not be checked: the process ended with status 7" in done.stdout
    assert done.stdout.count(": error: cum") == 1, done.stdout
    assert "4 operators verified" in done.stdout


def test_unknown_operators_are_told(tengen: Command) -> None:
    done = tengen("verify", "atan3")
    assert done.returncode == 2
    assert 'no operator is named "atan3": did you mean "atan' in done.stdout


# -- what an edit touches ---------------------------------------------------------------------------


def names_verified(done: subprocess.CompletedProcess[str]) -> int:
    found = re.search(r"(\d+) operators? verified by", done.stdout)
    assert found is not None, done.stdout
    return int(found.group(1))


def test_only_what_an_edit_touches(repository: Scratch, tengen: Command) -> None:
    clean = tengen("verify")
    assert clean.returncode == 0 and "nothing that is declared differs from HEAD" in clean.stdout

    kernels = repository.root / "runtime" / "kernels" / "shape.py"
    text = kernels.read_text(encoding="utf-8")
    right = "return np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats)"
    assert text.count(right) == 1
    kernels.write_text(text.replace(right, f"{right} + 1"))
    done = tengen("verify")
    assert done.returncode == 1, done.stdout
    assert "error: the kernel of repeat_interleave.Tensor gives other values than its ref" in done.stdout
    assert "repeat_interleave_indices is written here" in done.stdout
    assert names_verified(done) < 12

    # A function that a body calls concerns the operators that have it.
    head = "def repeated_dims(shape: Shape, repeats: Shape) -> Shape:\n"
    assert text.count(head) == 1
    kernels.write_text(text.replace(head, f"{head}    repeats = tuple(repeats)\n"))
    assert 1 <= names_verified(tengen("verify")) < 6

    kernels.write_text(f"# a comment\n{text}", encoding="utf-8")
    assert "nothing that is declared differs" in tengen("verify").stdout


def test_of_two_that_disagree_the_one_that_changed_is_wrong(repository: Scratch, tengen: Command) -> None:
    mutation = Mutation(
        "a reference that nothing else can judge",
        "- func: flip(",
        "reference: np.flip(self, dims) if self.ndim else self",
        "reference: np.flip(self, dims) + 1 if self.ndim else self",
        "np.flip(self, dims) + 1",
        "the reference of flip gives other values than its kernel",
        "flip",
    )
    place = mutate(repository, mutation)
    done = tengen("verify")
    assert done.returncode == 1 and f"{place}: error: {mutation.message}" in done.stdout, done.stdout


def test_without_git_there_is_nothing_to_compare_with(
    scratch: Scratch, tengen: Command, tmp_path: Path
) -> None:
    done = tengen("verify")
    assert done.returncode == 2 and "git" in done.stdout


# -- libraries ----------------------------------------------------------------------------------------


def test_a_library_is_verified_in_its_folder(scratch: Scratch) -> None:
    made = scratch.python("-m", "tengen.codegen.cli", "init", "mylib")
    assert made.returncode == 0, made.stdout
    root = scratch.root / "mylib"
    right = scratch.python("-m", "tengen.codegen.cli", "verify", "--all", "--library", str(root))
    assert right.returncode == 0 and "3 operators verified" in right.stdout, right.stdout

    declared = root / "mylib" / "declarations" / "derivatives.yaml"
    text = declared.read_text(encoding="utf-8")
    assert text.count("self: moving_average_backward(grad") == 1
    declared.write_text(
        text.replace("self: moving_average_backward(grad", "self: moving_average_backward(-grad")
    )
    done = scratch.python("-m", "tengen.codegen.cli", "verify", "moving_average", "--library", str(root))
    assert done.returncode == 1, done.stdout
    place = "mylib/declarations/derivatives.yaml:2:9"
    assert f"{place}: error: the gradient of mylib::moving_average for self is wrong" in done.stdout, (
        done.stdout
    )
    assert "moving_average_backward(-grad, weight, dim)" in done.stdout
