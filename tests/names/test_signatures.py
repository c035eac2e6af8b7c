"""That ``inspect.signature`` and ``help`` tell of every public function what it takes."""

from __future__ import annotations

import ast
import inspect
import pickle
import pydoc
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from public_names import PLACES, at, public

import tengen
from tengen.dispatch.signatures import DocumentedSignature, merged

GENERATED = Path(__file__).resolve().parents[2] / "generated"

#: Those that take loose arguments, as PyTorch documents them or, of a method's sizes, its stubs have them.
LOOSE = {
    "compiler": "explain",
    "": """atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod
        chain_matmul einsum empty meshgrid ones rand randn zeros""",
    "Tensor": """broadcast_to expand flip new_empty new_ones new_zeros permute repeat reshape resize_
        new resize sum_to_size tile to view""",
    "distributions.utils": "broadcast_all",
    "func": "linearize vjp",
    "jit": "fork",
    "functional": """atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors
        cartesian_prod chain_matmul einsum meshgrid""",
    "nn.attention.flex_attention": "and_masks or_masks",
    "nn.utils": "skip_init",
    "nn.utils.init": "skip_init",
    "overrides": "handle_tengen_function has_tengen_function_variadic",
    "testing": "make_tensor",
    "utils.checkpoint": "checkpoint get_device_states",
}
#: What takes any keywords: PyTorch documents these so, save the first, which is not PyTorch's.
OPEN = {
    "": "printoptions load",
    "compiler": "explain",
    "Tensor": "new to",
    "nn.utils": "skip_init",
    "nn.utils.init": "skip_init",
    "nn.utils.prune": "global_unstructured",
    "jit": "fork",
    "serialization": "load",
    "overrides": "handle_tengen_function",
    "utils.checkpoint": "checkpoint checkpoint_sequential",
}


def functions(place: str) -> dict[str, FunctionType]:
    """The public functions of a module, or methods of Tensor."""
    home = at(tengen, place)
    found = {name: getattr(home, name) for name in sorted(public(dir(home)))}
    return {name: value for name, value in found.items() if inspect.isfunction(value)}


def generated(place: str) -> dict[str, FunctionType]:
    """Those whose signatures are read from their docstrings."""
    return {name: f for name, f in functions(place).items() if documented(f) is not None}


def documented(function: FunctionType) -> DocumentedSignature | None:
    found = function.__dict__.get("__signature__")
    return found if isinstance(found, DocumentedSignature) else None


def kinds(function: Any) -> set[Any]:
    return {p.kind for p in inspect.signature(function).parameters.values()}


def test_there_are_many() -> None:
    assert len(generated("")) > 300
    assert len(generated("Tensor")) > 300


@pytest.mark.parametrize("place", PLACES)
def test_every_function_has_a_signature(place: str) -> None:
    loose = {name for name, f in functions(place).items() if inspect.Parameter.VAR_POSITIONAL in kinds(f)}
    open_ = {name for name, f in functions(place).items() if inspect.Parameter.VAR_KEYWORD in kinds(f)}
    assert loose - set(LOOSE.get(place, "").split()) == set()
    assert open_ - set(OPEN.get(place, "").split()) == set()


@pytest.mark.parametrize("place", PLACES)
def test_every_function_has_a_docstring(place: str) -> None:
    assert [name for name, f in functions(place).items() if not inspect.getdoc(f)] == []


@pytest.mark.parametrize("place", ["", "Tensor", "fft", "linalg", "special", "nn.functional"])
def test_signatures_take_every_overload(place: str) -> None:
    for name, function in generated(place).items():
        whole = documented(function)
        assert whole is not None
        for one in whole.overloads:
            given = [p for p in one.parameters.values() if p.default is inspect.Parameter.empty]
            loose = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in whole.parameters.values())
            placed = [p for p in given if p.kind is not inspect.Parameter.KEYWORD_ONLY]
            named = {p.name: None for p in given if p.kind is inspect.Parameter.KEYWORD_ONLY}
            whole.bind(*placed, **named)
            keywords = {p.name for p in one.parameters.values()}
            assert loose or keywords <= whole.parameters.keys(), name


@pytest.mark.parametrize("place", ["", "Tensor", "fft", "linalg", "special", "nn.functional"])
def test_what_is_documented_may_be_given(place: str) -> None:
    """The code takes each name of the signature, or takes any."""
    for name, function in generated(place).items():
        code = function.__code__
        if code.co_flags & inspect.CO_VARKEYWORDS:
            continue
        taken = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
        assert inspect.signature(function).parameters.keys() <= taken, name


@pytest.mark.parametrize("place", ["", "fft", "linalg", "special", "nn.functional"])
def test_functions_are_documented_by_the_names_of_their_arguments(place: str) -> None:
    """``self`` is the first argument of methods; functions call it what their signature says."""
    for name, function in generated(place).items():
        texts = " ".join(re.findall(r"``[^`]+``", inspect.getdoc(function) or ""))
        assert "self" in inspect.signature(function).parameters or not re.search(r"\bself\b", texts), name


def stubs(file: str) -> Iterator[tuple[str, set[str]]]:
    """The functions of a stub file, and the names of each one's arguments."""
    for node in ast.walk(ast.parse((GENERATED / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            a = node.args
            yield node.name, {x.arg for x in [*a.args, *a.kwonlyargs, *([a.vararg] if a.vararg else [])]}


@pytest.mark.parametrize(("file", "place"), [("functions.pyi", ""), ("tensor_methods.pyi", "Tensor")])
def test_stubs_agree(file: str, place: str) -> None:
    """They have the same names, and NumPy's words."""
    found: dict[str, set[str]] = {}
    for name, names in stubs(file):
        found.setdefault(name, set()).update(names)
    for name, function in generated(place).items():
        own = set(inspect.signature(function).parameters)
        assert found[function.__name__] - own <= {"axis", "keepdims"}, name
        assert own <= found[function.__name__], name


def test_help_lists_the_overloads() -> None:
    text = pydoc.render_doc(tengen.max, renderer=pydoc.plaintext)
    assert "max(input, dim=<missing>, keepdim=False, *, other=<missing>, out=None)" in text
    for line in (
        "max(input: Tensor, *, out: Tensor | None = None) -> Tensor",
        "max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor",
        "max(input: Tensor, dim: int, keepdim: bool = False, *, out: Sequence[Tensor] | None = None)",
    ):
        assert line in text
    text = pydoc.render_doc(tengen.Tensor.sub_, renderer=pydoc.plaintext)
    assert "sub_(self, other, *, alpha=1)" in text
    assert "RuntimeError for bool" in text
    assert "The shapes broadcast." in text
    text = pydoc.render_doc(tengen.linalg.inv, renderer=pydoc.plaintext)
    assert "linalg.inv(A: Tensor, *, out: Tensor | None = None) -> Tensor" in text


def test_signatures_of_bound_methods() -> None:
    x = tengen.ones(2, 3)
    assert str(inspect.signature(x.sum)) == "(dim=<missing>, keepdim=False, *, dtype=None)"
    assert str(inspect.signature(x.view)) == "(*size, dtype=<missing>)"
    assert str(inspect.signature(tengen.add)) == "(input, other, *, alpha=1, out=None)"
    assert str(inspect.signature(tengen.ones).replace(parameters=())) == "()"
    signature = inspect.signature(tengen.mul)
    assert signature.bind(x, other=x).arguments == {"input": x, "other": x}
    assert pickle.loads(pickle.dumps(signature)) == signature


def test_overloads_are_merged() -> None:
    def signature(text: str) -> inspect.Signature:
        scope: dict[str, Any] = {}
        exec(f"def f({text}): ...", scope)
        return inspect.signature(scope["f"])

    def together(*texts: str) -> str:
        return str(merged(map(signature, texts)))

    assert together("a, b=1") == "(a, b=1)"
    assert together("a", "a, b") == "(a, b=<missing>)"
    assert together("a", "a, c", "a, b, k=False, *, out=None") == (
        "(a, b=<missing>, k=False, *, c=<missing>, out=None)"
    )
    assert together("a, b, *, s=1", "a, b, s=1") == "(a, b, *, s=1)"
    assert together("a, n", "a, *n", "a, d") == "(a, *n, d=<missing>)"


def in_a_process(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_nothing_is_read_before_it_is_asked_for() -> None:
    program = "import tengen; s = tengen.add.__signature__; print(s._read, len(s.parameters), s._read)"
    assert in_a_process("-c", program) == "None 4 (input, other, *, alpha=1, out=None)"


def test_without_docstrings() -> None:
    program = "from inspect import signature as s; import tengen as t; print(s(t.add), s(t.Tensor.tanh))"
    assert in_a_process("-OO", "-c", program) == "(*args, **keywords) (self)"


@pytest.mark.oracle
def test_names_are_pytorchs(torch: Any) -> None:
    """Those of its schemas, where ``self`` is ``input``; words of Python's language get a ``_``."""
    theirs: dict[str, set[str]] = {}
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        if namespace == "aten":
            theirs.setdefault(name, set()).update(a.name for a in schema.arguments)
    theirs["nonzero"].add("as_tuple")  # of its Python binding alone
    wrong = []
    compared = 0
    for place in ("", "Tensor", "fft", "linalg", "special", "nn.functional"):
        for name, function in generated(place).items():
            known = {"input" if n == "self" else n for n in theirs.get(function.__name__, ())}
            own = {n.removesuffix("_") for n in inspect.signature(function).parameters}
            own -= {"requires_grad", "out"} | ({"self"} if place == "Tensor" else set())
            compared += bool(known)
            if known and not own <= known:
                wrong.append((place, name, own - known))
    assert compared > 700
    assert wrong == []
