"""The declared operators, and what their declarations say of them.

Everything here follows from the declarations: a check that uses it covers an operator that was
added by an edit of YAML without a line of Python.
"""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import tengen
from tengen.codegen.commands.affected import called_names
from tengen.codegen.derive.derived import Derived, derive
from tengen.codegen.gen import declarations_dir, runtime_dir
from tengen.codegen.loaded import load
from tengen.codegen.model.annotations import default_value
from tengen.codegen.model.derived import NodeSpec, Variant
from tengen.codegen.model.diagnostics import DeclarationErrors
from tengen.codegen.model.operators import Declarations, Derivative, Operator, Sample, ScalarType
from tengen.codegen.model.schema import Argument
from tengen.codegen.model.source import Located
from tengen.codegen.parse.formula import result_names
from tengen.codegen.read.libraries import Library
from tengen.codegen.read.references import reference_files
from tengen.codegen.stored import loads
from tengen.generated.backends import BACKENDS
from tengen.ir import expressions as ir
from tengen.ir.reader import read_expression

from ..core.operands import tensors_in
from ..core.scalar_type import dtype, named
from ..dispatch.operator import operator as find_operator
from .samples import Call, CallMaker, backward_call, plain
from .special import with_complex_numbers

REAL, COMPLEX = tengen.float64, tengen.complex128

#: With this environment variable set only the operators that it names are tested.
ONLY = "TENGEN_TEST_ONLY"


#: What ``use`` was given: a file of pickled Declarations, and the folder of references.
_given: tuple[Path, Path] | None = None


def use(file: Path, references: Path) -> None:
    """Take what is declared from a file, and references from a folder, for the rest of the process."""
    global _given
    _given = file, references
    _forget()


#: What ``use_library`` was given: a library, and the folder of its references.
_library: tuple[Library, Path | None] | None = None


def use_library(library: Library, references: Path | None) -> None:
    """Take a library's declarations on top of tengen's, and references from a folder, from now on."""
    global _library
    _library = library, references
    _forget()


def _forget() -> None:
    for cached in (
        _read,
        derived,
        _derivatives,
        gradient_callers,
        variants,
        _by_base,
        declared_operators,
        operators,
        calls,
        expected_calls,
        reference_functions,
    ):
        cached.cache_clear()


def declarations() -> Declarations:
    """Everything that is declared.

    Raises DeclarationErrors for declarations with mistakes, without reading them again each time.
    """
    found = _read()
    if isinstance(found, DeclarationErrors):
        raise found.with_traceback(None)  # else it would grow with each time
    return found


@functools.cache
def _read() -> Declarations | DeclarationErrors:
    try:
        return _load()
    except DeclarationErrors as errors:
        return errors


def _load() -> Declarations:
    if _given is None:
        return load(declarations_dir(), runtime_dir(), None if _library is None else _library[0])
    found = loads(_given[0].read_bytes(), Declarations)
    assert found is not None, _given[0]
    gc.freeze()  # it lives as long as the process
    return found


@functools.cache
def derived() -> Derived:
    """The variants, Nodes and forward-mode functions."""
    return derive(declarations())


@functools.cache
def variants() -> dict[str, Variant]:
    """Every operator that is generated, by full name."""
    return {str(v.name): v for v in derived().variants}


@functools.cache
def _by_base() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, variant in variants().items():
        found.setdefault(str(variant.base), []).append(name)
    return found


def variants_of(name: str) -> list[str]:
    """The variants that are derived from an operator."""
    return _by_base().get(name, [])


def kind_of(variant: Variant) -> str:
    """The kind of a variant; "inplace" of one that is derived, also where it is the alias of another."""
    alias = variant.name.inplace and str(variant.name) not in declared_operators()
    return "inplace" if alias else variant.kind


def constant_in_place(variant: Variant) -> bool:
    """Whether what an in-place variant writes has no derivative: a leaf may be written to."""
    return variant.operator.result_kind in ("bool", "int64") and str(variant.name) not in derived().nodes


def derivative_of(name: str) -> Derivative | None:
    """The declared derivative of an operator."""
    return _derivatives().get(name)


@functools.cache
def _derivatives() -> dict[str, Derivative]:
    return {str(d.name): d for d in declarations().derivatives}


@functools.cache
def gradient_callers() -> dict[str, list[str]]:
    """The operators with samples whose gradients' formulas call a function, by that."""
    found: dict[str, list[str]] = {}
    for name, entry in _derivatives().items():
        if name in operators():
            for function in {f for formula in entry.gradients.values() for f in called_names(formula.tree)}:
                found.setdefault(function, []).append(name)
    return found


@functools.cache
def declared_operators() -> dict[str, Operator]:
    """The operators that have entries (or all that the environment asks for), by full name."""
    only = os.environ.get(ONLY)
    chosen = None if only is None else set(only.split(","))
    return {str(o.name): o for o in declarations().operators if chosen is None or str(o.name) in chosen}


@functools.cache
def operators() -> dict[str, Operator]:
    """Those of them that have good samples, or are made beside one that has."""
    found = {name: o for name, o in declared_operators().items() if good_samples(o)}
    made = {n: o for n, o in declared_operators().items() if made_beside(o) in found and n not in found}
    return found | made


# -- what is said of an operator -------------------------------------------------------------


@functools.cache
def main_backend() -> str:
    """The backend that is checked: the first one whose tensors have data."""
    return next(name for name, backend in BACKENDS.items() if backend["data"])


def dtypes_of(operator: Operator) -> list[dtype]:
    """The scalar types, of those that ``all`` means, that an operator computes in; none for a composite."""
    listed = operator.dtypes.get(main_backend())
    return [named(s.dtype) for s in scalar_types() if listed is not None and s.name in listed]


def limited_dtypes_of(operator: Operator) -> list[dtype]:
    """The scalar types that ``all`` does not mean and an operator computes in."""
    listed = operator.dtypes.get(main_backend(), frozenset())
    return [named(s.dtype) for s in declarations().scalar_types if s.is_limited and s.name in listed]


def scalar_types() -> list[ScalarType]:
    """The scalar types that ``all`` means. The others are of no use to most operators."""
    return [s for s in declarations().scalar_types if not s.is_limited]


def complex_dtypes(call: Call) -> list[dtype]:
    """The complex scalar types that a call is for; of a composite, COMPLEX, if it computes in that."""
    if not call.operator.is_composite:
        return [d for d in dtypes_of(call.operator) if d.is_complex and call.takes(d)]
    try:
        run(str(call.operator.name), call.tensors(COMPLEX))
    except Exception:
        return []
    return [COMPLEX]


def working_dtypes(call: Call) -> list[dtype]:
    """float64 and complex128 where the sample is for them, else what there is."""
    has = [d for d in dtypes_of(call.operator) or [REAL, *(call.only or ())] if call.takes(d)]
    return [d for d in (REAL, COMPLEX) if d in has] or [d for d in has if d.category != "reduced"][-1:]


def writes(operator: Operator) -> bool:
    """Whether an argument is written to."""
    return any(a.alias is not None and a.alias.write for a in operator.schema.arguments)


def aliases(operator: Operator) -> bool:
    """Whether the schema says that the result shares an argument's memory."""
    return any(r.alias is not None and not r.alias.write for r in operator.schema.returns)


def deterministic(operator: Operator) -> bool:
    """Whether the same arguments give the same result."""
    return "nondeterministic_seeded" not in operator.tags


def has_values(operator: Operator) -> bool:
    """Whether the result's elements mean anything (those of ``empty`` do not)."""
    return "uninitialized" not in operator.tags


def runs_on_meta(operator: Operator) -> bool:
    """Whether the result's shape follows from the arguments' shapes."""
    return not operator.tags & {"dynamic_output_shape", "data_dependent_output", "reads_data"}


def default(argument: Argument) -> Any:
    """The default of an argument, as the library takes it."""
    return plain(argument, default_value(argument))


def implemented(spec: NodeSpec) -> set[str]:
    """The differentiable arguments whose formula is one."""
    return {spec.inputs[i].name for g in spec.gradients if g.formula.implemented for i in g.inputs}


# -- samples -------------------------------------------------------------------------------

#: What pointwise operators are tried on when they declare no samples.
_UNARY = ("[3, 4]", "[]", "[0, 3]")
_BINARY = ("[3, 4], [3, 4]", "[3, 1], [1, 4]", "[], [2, 3]", "[3], [2, 3]", "[0, 3], [3]")


def good_samples(operator: Operator) -> list[Sample]:
    """The declared good samples; for a pointwise operator without any, the usual shapes."""
    found = [s for s in operator.samples if s.raises is None]
    if found or "pointwise" not in operator.tags or operator.name.inplace:
        return found
    required = [a for a in operator.schema.arguments if a.default is None]
    if any(not a.is_tensor for a in required):
        return []
    texts = {1: _UNARY, 2: _BINARY}.get(len(required), (", ".join(["[3, 4]"] * len(required)),))
    return [_sample(text, operator) for text in texts]


def _sample(text: str, operator: Operator) -> Sample:
    call = read_expression(f"f({text})")
    assert isinstance(call, ir.Call)
    return Sample(Located(text, operator.place), call)


@functools.cache
def _maker() -> CallMaker:
    return CallMaker(declarations().scalar_types)


@functools.cache
def calls(name: str) -> list[Call]:
    """The good samples of an operator with their inputs."""
    operator = operators()[name]
    if good_samples(operator):
        given = [_maker().call(operator, s) for s in good_samples(operator)]
        refused = [call for call, _ in bad_calls(operator)]
        return given + with_complex_numbers(given, refused, complex_dtypes)
    found = calls(made_beside(operator))
    if operator.name.base.endswith("_forward"):
        has = frozenset(dtypes_of(operators()[made_beside(operator)]) or dtypes_of(operator))
        return [replace(c, operator=operator, only=frozenset(filter(c.takes, has))) for c in found]
    return [_backward_call(operator, c) for c in found]


@functools.cache
def expected_calls(name: str) -> list[Call]:
    """The samples of which an operator declares the values."""
    operator = declared_operators()[name]
    return [_maker().call(operator, e.sample) for e in operator.expected]


def made_beside(operator: Operator) -> str:
    """The operator whose entry in nn.yaml made this one, if one did; else ""."""
    base, _, role = str(operator.name).rpartition("_")
    return base if operator.mechanism == "nn" and role in ("forward", "backward") else ""


def _backward_call(operator: Operator, call: Call) -> Call:
    name = str(call.operator.name)
    forward = declared_operators().get(f"{name}_forward", call.operator)

    @functools.cache
    def compute(kind: dtype, number: int) -> Any:
        return flat(run(str(forward.name), call.tensors(kind)))[number].detach().numpy()

    names = [r.name or "output" for r in forward.schema.returns]
    return backward_call(operator, dtypes_of(operator), call, names, compute)


def bad_calls(operator: Operator) -> list[tuple[Call, str]]:
    """The bad samples, and the name of the error of each."""
    return [(_maker().call(operator, s), s.raises) for s in operator.samples if s.raises is not None]


# -- running -------------------------------------------------------------------------------


def run(name: str, values: Iterable[Any]) -> Any:
    """The result of an operator on complete arguments."""
    return find_operator(name)(*[tuple(v) if isinstance(v, list) else v for v in values])


def runs(name: str, values: Callable[[], Iterable[Any]]) -> bool:
    """Whether an operator takes what ``values`` makes."""
    try:
        run(name, values())
    except Exception:
        return False
    return True


def flat(result: Any) -> list[Any]:
    """The tensors of a result: one, a tuple, or a list."""
    return tensors_in((result,))


def determined(operator: Operator, result: Any) -> list[Any]:
    """What of the results is unique, as their declaration says: by default the results."""
    tensors = flat(result)
    if not operator.determined:
        return tensors
    scope = dict(zip(result_names(operator.schema.returns), tensors, strict=True))
    return [eval(f.text, {"__builtins__": {}}, scope) for f in operator.determined]


@functools.cache
def reference_functions() -> dict[str, Any]:
    """The functions of the tests' references, beside the declarations."""
    folder = declarations_dir().parent / "tests" if _given is None else _given[1]
    found = _functions_in(folder)
    if _library is not None and _library[1] is not None:  # what it has goes before what tengen has
        found |= _functions_in(_library[1])
    return found


def _functions_in(folder: Path) -> dict[str, Any]:
    """The functions of a folder's references. ValueError for a name that two of its modules have."""
    found: dict[str, Any] = {}
    places: dict[str, str] = {}
    for path in reference_files(folder):
        spec = spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        place = path.relative_to(folder).as_posix()
        for name, function in vars(module).items():
            if getattr(function, "__module__", "") == path.stem:
                if name in places:
                    raise ValueError(f"the reference {name} is in {places[name]} and in {place}")
                found[name], places[name] = function, place
    return found
