"""Names that generated code uses: no argument can have one; every other works in every kind of operator."""

from __future__ import annotations

import ast
import builtins
import keyword
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from surroundings import SURROUNDINGS

from tengen.codegen.check.reserved import RESERVED, argument_problem, function_problem, is_reserved
from tengen.codegen.model.annotations import parameter_name
from tengen.codegen.model.diagnostics import DeclarationErrors
from tengen.codegen.parse.schema import parse_schema
from tengen.codegen.pipeline import load
from tengen.codegen.specialise.bindings import NUMPY_WORDS
from tengen.ir.expressions import names_in
from tengen.ir.factories import Factory
from tengen.testing.declared import declarations

if TYPE_CHECKING:
    from conftest import Scratch

GENERATED = Path(__file__).parents[2] / "generated"
#: Names with numbers, beginnings and ends that generated code makes.
MADE = ("grad0", "grad12", "result0", "out1", "_r0", "g2", "k1", "t0", "s3", "part0", "grad_part1", "_array",
        "_self", "__class__", "self_t", "self_p", "self_version")  # fmt: skip
DECLARED = declarations()


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Every function and method of an operator, with its file; modules of layers and optimisers have none."""
    others = {*GENERATED.glob("*_modules.py"), GENERATED / "optimizers.py"}
    for path in sorted(set(GENERATED.glob("*.py")) - others):
        for top in ast.parse(path.read_text()).body:
            for node in [top] if isinstance(top, ast.FunctionDef) else getattr(top, "body", []):
                if isinstance(node, ast.FunctionDef) and node.name != "__getattr__":  # a module's
                    yield path.name, node


def test_every_name_that_generated_code_uses_is_reserved() -> None:
    """But for those of arguments and results, and of the function itself."""
    schemas = [o.schema for o in DECLARED.operators]
    own = {parameter_name(a.name) for s in schemas for a in (*s.arguments, *s.out)}
    own |= set(NUMPY_WORDS.values())  # given up for arguments of these names
    own |= {f"{a.name}_t" for s in schemas for a in s.arguments}
    bodies = [o.body for o in DECLARED.operators if o.body is not None]
    own |= {name for body in bodies for name, _ in (*body.computed, *body.statements)}  # of lambdas
    moves = [o.move for o in DECLARED.operators if o.move is not None]
    own |= {name for move in moves for name in (*move.sizes, *move.places, *move.numbers)}
    factories = [o.said for o in DECLARED.operators if isinstance(o.said, Factory)]
    own |= {name for f in factories for target, _ in f.lines for name in names_in(target)}
    own |= {place for f in factories for place in f.places}
    for schema in schemas:
        results = [r.name or f"result{i}" for i, r in enumerate(schema.returns)]
        own |= {*results, *(f"grad_{name}" for name in results)}
    missing = {}
    for file, function in functions():
        names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
        names |= {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)}
        names |= {h.name for h in ast.walk(function) if isinstance(h, ast.ExceptHandler) and h.name}
        for name in names - own:
            itself = file in ("functions.py", "internal_functions.py") and name == function.name
            if not itself and not is_reserved(name):
                missing[name] = f"{file}: {function.name}"
    assert not missing


def test_no_operator_of_ours_has_one() -> None:
    for operator in DECLARED.operators:
        for argument in operator.schema.arguments:
            assert not argument_problem(argument.name, operator.schema), operator.name
        assert not function_problem(operator.name.function)


def test_each_is_an_error_at_its_place(tmp_path: Path) -> None:
    """One run says it of all of them."""
    text, wanted = "", []
    for i, name in enumerate(sorted({*RESERVED, *MADE})):
        written = f"op{i}(Tensor self, Tensor {name}) -> Tensor"
        wanted.append((f"declarations/native_functions.names.yaml:{len(wanted) * 3 + 1}:", name, written))
        text += f'- func: {written}\n  dispatch: {{CPU: scaled_names}}\n  samples: ["[3], [3]"]\n'
    declarations = tmp_path / "declarations"
    shutil.copytree(SURROUNDINGS / "declarations", declarations)
    (declarations / "native_functions.names.yaml").write_text(text)
    with pytest.raises(DeclarationErrors) as caught:
        load(declarations, SURROUNDINGS / "runtime")
    said = {str(d.place): d for d in caught.value.diagnostics}
    for place, name, written in wanted:
        at = f"{place}{9 + written.index(f' {name})') + 1}"
        assert said[at].message == f'an argument cannot be named "{name}"', at
        assert said[at].help


# -- every other name, in every kind of operator ----------------------------------------------------------

#: Python's words, its builtins, and what the declared operators call their arguments.
OTHERS = sorted(
    {*keyword.kwlist, *(n for n in dir(builtins) if n.islower() and n[0] != "_"), "axis", "keepdims", "dim",
     "keepdim", "condition", "dtype", "device", "generator", "index", "indices", "output", "shape", "size",
     "storage_offset", "values", "x", "a", "b", "g", "k", "n", "r", "r0", "r_", "s", "cls",
     "kernel", "tensors", "grad_output", "self_shape",
     "self_stride", "self_type", "sqrt", "mul", "sum_", "resultant", "np", "math"} - RESERVED
)  # fmt: skip

KERNELS = """
def n_scaled(self, factor, number):
    return self * factor * number

def n_doubled(self, factor):
    return self * 2 if factor is None else self * factor

def n_two(self, factor):
    return self * factor, self + factor

def n_sum(tensors):
    return sum(t * 1 for t in tensors)

def n_ones(count, dtype):
    return np.full((count,), 1, dtype)

def n_meta(self, *rest):
    return empty(self.shape, self.dtype)
"""

#: Of each kind of operator an entry, of what it is called and of the argument's name; then its derivative.
OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
KINDS = {
    "expression": ("""
- func: {f}(Tensor self, Tensor {a}, Scalar number=2) -> Tensor
  autogen: {f}_, {f}.out
  tags: [pointwise]
  dispatch: {{CPU: xp.exp(self) * {a} + number * {a}}}
  dtypes: floating
""", ""),
    "number": ("""
- func: {f}(Tensor self, Scalar {a}) -> Tensor
  autogen: {f}_, {f}.out
  tags: [pointwise]
  dispatch: {{CPU: self * {a}}}
  dtypes: floating
""", ""),
    "function": ("""
- func: {f}(Tensor self, Tensor {a}, float number=2.0) -> Tensor
  autogen: {f}.out
  dispatch: {{CPU: n_scaled}}
  dtypes: floating
  samples: ["[3], [3]"]
""", """
- name: {f}
  self: grad * {a} * number
  {a}: grad * self * number
  result: (self_t * {a}_p + self_p * {a}_t) * number
"""),
    "optional": ("""
- func: {f}(Tensor self, Tensor? {a}=None) -> Tensor
  dispatch: {{CPU: n_doubled}}
  dtypes: floating
  samples: ["[3], [3]"]
""", """
- name: {f}
  self: grad * 2 if {a} is None else grad * {a}
  {a}: grad * self
"""),
    "two": ("""
- func: {f}(Tensor self, Tensor {a}) -> (Tensor first, Tensor second)
  autogen: {f}.out
  dispatch: {{CPU: n_two}}
  dtypes: floating
  samples: ["[3], [3]"]
""", """
- name: {f}
  self: grads[0] * {a} + grads[1]
  {a}: grad_NAMES
"""),
    "list": ("""
- func: {f}(Tensor[] {a}) -> Tensor
  dispatch: {{CPU: n_sum}}
  dtypes: floating
  samples: ["[[3], [3]]"]
""", """
- name: {f}
  {a}: "[grad * 1 for each in {a}]"
"""),
    "composite": ("""
- func: {f}(Tensor self, Tensor {a}) -> Tensor
  dispatch: {{CompositeImplicitAutograd: self.mul({a})}}
  samples: ["[3], [3]"]
""", ""),
    "recorded": ("""
- func: {f}(Tensor self, Tensor {a}) -> Tensor
  dispatch: {{CompositeExplicitAutograd: self.mul({a})}}
  samples: ["[3], [3]"]
""", ""),
    "factory": ("""
- func: {f}(int {a}, *, OPTIONS) -> Tensor
  dispatch: {{CPU: n_ones}}
  factory: {{dtype: default}}
  samples: ["3"]
""", ""),
}  # fmt: skip

PROGRAM = """
import tengen as torch
import math
from tengen.func import grad, jvp, vmap

def close(a, b):
    assert (a - b).abs().max() < 1e-12, (a, b)

def check(kind, name, word, op, write, out):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    if kind == "factory":
        assert op(3).tolist() == op(**{word: 3}).tolist() == [1.0, 1.0, 1.0]
        return
    if kind == "list":
        close(op([x, y]), x + y)
        if word != name:
            return  # no formula can mention it
        op([x, y]).sum().backward()
        op(**{word: [x, y]}).sum().backward()
        close(x.grad, torch.tensor([2.0, 2.0]))
        return
    number = kind == "number"
    second = 3.0 if number else y
    wanted = {"expression": lambda x, y: x.exp() * y + 2 * y, "function": lambda x, y: x * y * 2}.get(
        kind, lambda x, y: x * y)
    for given in (lambda x, y: op(x, y), lambda x, y: op(x, **{word: y})):
        def first(x, y):
            found = given(x, y)
            return found[0] if kind == "two" else found
        close(first(x, second), wanted(x, second))
        inputs = [x] if number or kind == "two" else [x, y]
        if word != name and kind in ("function", "optional", "two"):
            continue
        for a, b in zip(torch.autograd.grad(first(x, second).sum(), inputs),
                        torch.autograd.grad(wanted(x, second).sum(), inputs)):
            close(a, b)
        again = torch.autograd.grad(first(x, second).sum(), x, create_graph=True)[0].sum()
        if kind not in ("number", "two"):
            again.backward()
        if kind not in ("optional", "two"):
            for a, b in zip(jvp(lambda x: first(x, second), (x.detach(),), (y.detach(),)),
                            jvp(lambda x: wanted(x, second), (x.detach(),), (y.detach(),))):
                close(a, b)
        close(vmap(lambda x: first(x, 3.0 if number else y.detach()[0]))(x.detach()),
              wanted(x.detach(), 3.0 if number else y.detach()[0]))
    plain, other = x.detach(), 3.0 if number else y.detach()
    for float32 in (False, True):
        if float32:
            plain, other = plain.float(), other if number else other.float()
        if out:
            into = torch.empty(2, dtype=plain.dtype)
            if kind == "two":
                op(plain, other, out=(into, torch.empty(2, dtype=plain.dtype)))
            else:
                op(plain, other, out=into)
            assert (into - wanted(plain, other)).abs().max() < 1e-5
        if write is not None:
            written = plain.clone()
            write(written, other)
            assert (written - wanted(plain, other)).abs().max() < 1e-5
    if kind == "function" and word == name:
        big = torch.ones(300_000, dtype=torch.float64, requires_grad=True)
        op(big, torch.full((300_000,), 3.0, dtype=torch.float64)).sum().backward()
    if kind == "optional":
        close(op(x), x * 2)
"""


@dataclass(frozen=True, slots=True)
class Project:
    """Operators of every kind with an argument of every name, and a program that runs them."""

    declarations: str
    derivatives: str
    program: str


def project(names: list[str], namespace: str, write: str) -> Project:
    """``namespace`` is where the operators are functions."""
    declarations, derivatives, lines = "", "", []
    for number, name in enumerate(names):
        for kind, (entry, derivative) in KINDS.items():
            function = f"{kind}_{number}"
            text = entry.format(f=function, a=name).replace("OPTIONS", OPTIONS)
            if keyword.iskeyword(name) and name in text.partition("dispatch")[2]:
                continue  # no expression can mention it
            schema = parse_schema(text.split("func: ")[1].split("\n")[0])
            if argument_problem(name, schema) or [a.name for a in schema.arguments].count(name) > 1:
                continue
            declarations += text
            if derivative and not keyword.iskeyword(name):
                gradient = "grads[0] * self + grads[1]"
                derivatives += derivative.format(f=function, a=name).replace("grad_NAMES", gradient)
            written = write.format(f=function) if f"{function}_" in text else "None"
            op = f"{namespace}.{function}"
            lines.append(
                f'check("{kind}", "{name}", "{parameter_name(name)}", {op}, {written}, {".out" in text})'
            )
    return Project(declarations, derivatives, PROGRAM + "\n".join(lines) + f"\nprint({len(lines)})\n")


def arranged(made: Project, root: Path, declarations: Path, native: Path) -> None:
    """Writes the files of the project."""
    for folder in (declarations, native):
        folder.mkdir(parents=True, exist_ok=True)
    (declarations / "native_functions.names.yaml").write_text(made.declarations)
    (declarations / "derivatives.names.yaml").write_text(made.derivatives)
    imports = "import numpy as np\n\nfrom tengen.kernels.meta.backend import empty\n"
    (native / "names_kernels.py").write_text(f'"""Kernels of a test."""\n\n{imports}{KERNELS}')
    (root / "names_program.py").write_text(made.program)


def test_a_project_in_which_every_name_is_used(scratch: Scratch) -> None:
    made = project(OTHERS, "torch", "torch.{f}_")
    arranged(made, scratch.root, scratch.root / "declarations", scratch.root / "runtime/kernels")
    done = scratch.python("-m", "tengen.codegen.gen")
    assert done.returncode == 0, done.stdout
    done = scratch.python("-W", "ignore", "names_program.py")
    assert done.returncode == 0, done.stdout
    assert int(done.stdout) > len(OTHERS) * (len(KINDS) - 2)


def test_a_library_in_which_many_are(scratch: Scratch) -> None:
    """The operators of a library are written by the same code, but in other modules, with other imports."""
    names = [*OTHERS[::16], "lambda", "max", "dtype", "s"]
    made = project(names, "torch.ops.named", "torch.ops.named.{f}_")
    package = scratch.root / "named"
    arranged(made, scratch.root, package / "declarations", package / "kernels")
    (package / "__init__.py").write_text("from tengen.library import load\n\nload(__name__)\n")
    (scratch.root / "pyproject.toml").write_text('[tool.tengen]\nlibrary = "named"\n')
    done = scratch.python("-m", "tengen.codegen.cli", "gen", "--library", ".")
    assert done.returncode == 0, done.stdout
    done = scratch.python("-W", "ignore", "-c", "import named, names_program")
    assert done.returncode == 0, done.stdout
    assert int(done.stdout) > len(names) * (len(KINDS) - 2)
