"""What the reference says of each operator, as plain data: what is declared, and what follows from it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from mathml import MathWriter

import tengen
import tengen.testing.declared as declared
from tengen.codegen.gen import declarations_dir
from tengen.codegen.model.annotations import (
    annotation as annotated,
    default,
    parameter_name,
    return_annotation,
)
from tengen.codegen.model.derived import JvpSpec, NodeSpec, Saved, Variant
from tengen.codegen.model.groups import Group, exported_name, groups
from tengen.codegen.model.operators import Batching, Operator
from tengen.codegen.model.source import Place
from tengen.codegen.specialise.rows import structures
from tengen.ir.expressions import Expr

_HOMES = {
    "fft": "tengen.fft",
    "linalg": "tengen.linalg",
    "nn": "tengen.nn.functional",
    "special": "tengen.special",
}


@dataclass(frozen=True)
class FormulaText:
    """A formula: typeset, and as it is written."""

    math: str
    source: str
    note: str = ""


@dataclass(frozen=True)
class DerivativeEntry:
    """How an operator is differentiated."""

    node: str = ""
    place: Place | None = None
    derived: bool = False  # from the kernel's expression
    gradients: tuple[FormulaText, ...] = ()
    saved: tuple[str, ...] = ()
    tangents: tuple[FormulaText, ...] = ()
    tangent_note: str = ""
    note: str = ""  # where there is no derivative


@dataclass(frozen=True)
class OverloadEntry:
    """One operator."""

    name: str  # "mul.Tensor"
    schema: str
    place: Place
    kind: str  # "functional" | "view" | "inplace" | "composite"
    forms: tuple[str, ...]
    tags: tuple[tuple[str, str], ...]
    dtypes: Mapping[str, str]  # by backend, as text
    promotion: str
    result: str
    kernels: tuple[tuple[str, str, str], ...]  # key, text, the function where it is one
    derivative: DerivativeEntry
    batching: str
    symbolic: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class FunctionEntry:
    """One function with its overloads."""

    function: str  # "mul", the generated name
    title: str  # "tengen.mul"
    anchor: str
    doc: str
    signatures: tuple[str, ...]
    overloads: tuple[OverloadEntry, ...]
    public: bool
    place: Place = field(compare=False, default=Place("", 0, 0))


@dataclass(frozen=True)
class Subject:
    """A page: the functions of one declaration file."""

    slug: str  # "binary", "nn-spatial"
    title: str
    intro: str
    file: str
    functions: tuple[FunctionEntry, ...]


@functools.cache
def variants() -> list[Variant]:
    """Every variant there is."""
    return list(declared.derived().variants)


@functools.cache
def all_groups() -> Mapping[str, Group]:
    """The functions and methods, by name."""
    return groups(variants())


@functools.cache
def _structures() -> Mapping[str, str]:
    return structures(variants())


def listed(group: Group) -> list[Variant]:
    """The operators of a function that have an entry of their own: in-place ones where nothing else is."""
    return [v for v in group.variants if v.kind != "inplace" or v.operator.kernels]


def subjects() -> list[Subject]:
    """The pages of the reference, by title."""
    files: dict[str, list[FunctionEntry]] = {}
    for _, group in sorted(all_groups().items()):
        chosen = listed(group)
        if chosen:
            files.setdefault(chosen[0].operator.place.file, []).append(function_entry(group, chosen))
    made = [_subject(file, entries) for file, entries in files.items()]
    return sorted(made, key=lambda s: s.title)


#: Titles of pages that the names of their files do not make.
_TITLES = {
    "binary": "Arithmetic",
    "comparison": "Comparison, logic and bits",
    "complex": "Complex numbers",
    "like": "Creation after a pattern",
    "linalg": "Linear algebra",
    "matmul": "Matrix products",
    "moments": "Means and variances",
    "nn": "Neural networks",
    "nn-pairs": "Neural networks: losses and activations",
    "nn-spatial": "Neural networks: convolutions and pooling",
    "random": "Random numbers",
    "reduction": "Reductions",
    "scan": "Scans",
    "shape": "Shapes and copies",
    "special": "Special functions",
    "sorting": "Sorting and searching",
    "ternary": "Choosing and combining",
    "unary": "Functions of each element",
}


def _subject(file: str, entries: list[FunctionEntry]) -> Subject:
    stem = Path(file).name
    for prefix in ("native_functions.", "nn."):
        stem = stem.removeprefix(prefix) if stem != "nn.yaml" else stem
    stem = stem.removesuffix(".yaml").removesuffix(".cwrap")
    slug = {"nn": "nn-pairs", "spatial": "nn-spatial"}.get(stem, stem)
    if Path(file).name == "native_functions.nn.yaml":
        slug = "nn"
    if file.endswith(".cwrap"):
        slug = f"{stem}-library"
    ordered = tuple(sorted(entries, key=lambda e: (not e.public, e.title.lower())))
    return Subject(slug, _TITLES.get(slug, slug.replace("_", " ").capitalize()), _intro(file), file, ordered)


def _intro(file: str) -> str:
    """The comment at the head of a declaration file."""
    lines: list[str] = []
    for line in (declarations_dir().parent / file).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        text = line.lstrip("# ").rstrip()
        if not text.startswith("yaml-language-server"):
            lines.append(text)
    return " ".join(lines)


# -- a function ------------------------------------------------------------------------------


def title(group: Group) -> str:
    """The name that users write."""
    kinds = frozenset[str]().union(*(o.variants for o in group.operators))
    if "method" in kinds and "function" not in kinds:
        return f"Tensor.{group.function}"
    return f"{_HOMES.get(group.python_module or '', 'tengen')}.{exported_name(group)}"


def available(name: str) -> bool:
    """Whether users can write it."""
    found: object = tengen.Tensor if name.startswith("Tensor.") else tengen
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found is not None and not name.rpartition(".")[2].startswith("_")


def anchor_of(function: str) -> str:
    """The anchor of a function's entry; one with underscores around it is emphasis to Markdown."""
    if not function.startswith("_"):
        return function
    return function.strip("_") + ("-in-place" if function.endswith("_") else "") + "-internal"


def function_entry(group: Group, chosen: list[Variant]) -> FunctionEntry:
    name = group.function
    overloads = tuple(overload_entry(v, group) for v in chosen)
    lines = [signature(v, title(group)) for v in chosen]
    public = available(title(group)) and not name.endswith(("_backward", "_forward"))
    return FunctionEntry(
        name,
        title(group),
        anchor_of(name),
        group.doc,
        tuple(dict.fromkeys(lines)),
        overloads,
        public,
        chosen[0].operator.place,
    )


def signature(variant: Variant, name: str) -> str:
    """The call in Python, with annotations and defaults; over several lines when it is long."""
    operator = variant.operator
    method = name.startswith("Tensor.")
    parts: list[str] = []
    for a in operator.schema.arguments:
        if method and a.name == "self":
            continue
        if a.kwarg_only and "*" not in parts:
            parts.append("*")
        text = default(a)
        word = "input" if a.name == "self" else parameter_name(a.name)
        annotation = annotated(a.type, caller=True).replace("DType", "dtype")
        parts.append(f"{word}: {annotation}" + ("" if text is None else f" = {text}"))
    returns = return_annotation(operator.schema.returns, _structures().get(str(operator.name)))
    flat = f"{name}({', '.join(parts)}) -> {returns}"
    if len(flat) <= 78:
        return flat
    return f"{name}(\n" + "".join(f"    {p},\n" for p in parts) + f") -> {returns}"


# -- an operator -----------------------------------------------------------------------------


def overload_entry(variant: Variant, group: Group) -> OverloadEntry:
    operator = variant.operator
    return OverloadEntry(
        str(operator.name),
        str(operator.schema),
        operator.place,
        variant.kind,
        tuple(forms(variant, group)),
        tuple((t, declared.declarations().tags.get(t, "")) for t in sorted(operator.tags)),
        {b: dtypes_text(names) for b, names in sorted(operator.dtypes.items())},
        promotion_text(operator),
        RESULTS.get(operator.result_kind, "") if variant.kind != "composite" else "",
        tuple((key, k.formula.text, k.function or "") for key, k in sorted(operator.kernels.items())),
        derivative_entry(variant),
        batching_text(operator.batching, variant),
        symbolic_text(variant),
        tuple(notes(operator)),
    )


RESULTS = {"same": "that of the operands", "bool": "bool", "int64": "int64", "real": "the real one of it"}


def forms(variant: Variant, group: Group) -> Iterable[str]:
    """Under which names and in which ways it is called, as HTML."""
    operator = variant.operator
    if "function" in operator.variants:
        yield f"function <code>{title(group)}</code>"
    if "method" in operator.variants:
        yield f"method <code>Tensor.{group.function}</code>"
    if operator.operators:
        yield f"Python's {', '.join(f'<code>{n}</code>' for n in sorted(operator.operators))}"
    inplace = all_groups().get(group.function + "_")
    if inplace is not None and any(v.base == variant.name for v in inplace.variants):
        yield f"in place <code>Tensor.{group.function}_</code>"
    if any(v.base == variant.name for v in group.outs):
        yield "<code>out=</code>"
    if variant.kind == "view":
        yield "the result is a view of <code>self</code>"
    written = [a.name for a in operator.schema.arguments if a.alias is not None and a.alias.write]
    if written:
        yield f"writes to {', '.join(f'<code>{n}</code>' for n in written)}"


def dtypes_text(names: Iterable[str]) -> str:
    """The scalar types, whole categories by their names."""
    chosen = set(names)
    parts: list[str] = []
    by_category: dict[str, list[tuple[str, str]]] = {}
    for s in declared.declarations().scalar_types:
        by_category.setdefault(s.category, []).append((s.name, s.dtype))
    if all(name in chosen for members in by_category.values() for name, _ in members):
        return "all"
    for members in by_category.values():
        parts += [dtype for name, dtype in members if name in chosen]
    return ", ".join(parts) or "none"


def promotion_text(operator: Operator) -> str:
    """Whose types are brought to a common one."""
    if operator.promote is None:
        same = f"none; {' and '.join(operator.same_dtype)} have one dtype" if operator.same_dtype else ""
        return same
    return f"{operator.promote} of {', '.join(operator.promoted)}"


def notes(operator: Operator) -> Iterable[str]:
    """Differences from PyTorch, refusals, domains."""
    for where, reason in operator.differs.items():
        yield f"Differs from PyTorch ({where}): {reason}"
    for category, text in operator.refuse.items():
        yield f"Refuses {category} operands: {text}"


# -- derivatives -----------------------------------------------------------------------------


def derivative_entry(variant: Variant) -> DerivativeEntry:
    derived = declared.derived()
    operator = variant.operator
    if variant.kind == "composite":
        return DerivativeEntry(note="That of the operators it is made of.")
    name = str(operator.name)
    functional = name if name in derived.nodes or name in derived.jvps else str(variant.base or name)
    node, jvp = derived.nodes.get(functional), derived.jvps.get(functional)
    if node is None and jvp is None:
        if functional in derived.missing:
            return DerivativeEntry(note="Not implemented: a backward pass that comes to it is an error.")
        return DerivativeEntry(note="None: there is nothing to differentiate.")
    written = {str(d.name) for d in declared.declarations().derivatives}
    spec = node or jvp
    assert spec is not None
    return DerivativeEntry(
        node.shown or node.name if node is not None else "",
        spec.place,
        str(spec.operator.name) not in written,
        tuple(_gradients(node)) if node is not None else (),
        tuple(_saved(s) for s in node.saved) if node is not None else (),
        tuple(_tangents(jvp)) if jvp is not None else (),
        _tangent_note(jvp),
    )


def _gradients(node: NodeSpec) -> Iterable[FormulaText]:
    for g in node.gradients:
        inputs = [node.inputs[i].name for i in g.inputs]
        text = g.formula.text
        if text.startswith("not_implemented"):
            yield FormulaText("", text, f"The gradient for {', '.join(inputs)} is not implemented.")
            continue
        left = [g.target] if g.target is not None else [f"grad_{n}" for n in inputs]
        yield FormulaText(_math(left, g.formula.tree, text), text)


def _tangents(jvp: JvpSpec) -> Iterable[FormulaText]:
    returns = jvp.operator.schema.returns
    for shared in jvp.shared:
        yield FormulaText(_math([shared.name], shared.formula.tree, shared.formula.text), shared.formula.text)
    for number, formula in jvp.formulas:
        name = returns[number].name or ("result" if len(returns) == 1 else f"result{number}")
        yield FormulaText(_math([f"{name}_t"], formula.tree, formula.text), formula.text)


def _math(left: list[str], tree: Expr, source: str) -> str:
    written = MathWriter().formula(tree, left)
    return f'<div class="formula" title="{escape(source, quote=True)}">{written}</div>'


def _tangent_note(jvp: JvpSpec | None) -> str:
    if jvp is None:
        return "Not implemented."
    return {
        "auto_linear": "It is linear: the operator itself, of the tangents.",
        "auto_element_wise": "Element by element, from the gradient's formula.",
    }.get(jvp.kind, "")


def _saved(saved: Saved) -> str:
    name = saved.source
    text = {
        "tensor": f"<code>{name}</code>",
        "tensors": f"the tensors <code>{name}</code>",
        "result": f"result {saved.index}" if saved.index else "the result",
        "value": f"<code>{name}</code>",
        "type": f"the dtype and device of <code>{name}</code>",
    }.get(saved.what, f"the {saved.what.replace('_', ' ')} of <code>{name}</code>")
    return f"{text} if <code>{escape(saved.condition)}</code>" if saved.condition else text


# -- batching and symbolics ------------------------------------------------------------------

_BATCHING = {
    "pointwise": "element by element; operands meet from their last dimensions",
    "broadcast": "operands meet from their last dimensions",
    "reduction": "the reduced dimensions move by one",
    "leading": "the operator itself, with the examples in front",
    "loss": "losses of elements, reduced for each example",
    "random": "numbers are drawn for all examples, as <code>randomness</code> says",
}


def batching_text(rule: Batching | None, variant: Variant) -> str:
    """What vmap does, as HTML."""
    if rule is None:
        return "by the operators it is made of" if variant.kind == "composite" else "example by example"
    if rule.kind == "cases":
        found = []
        for names, inner in rule.cases:
            told = "else" if names is None else f"{', '.join(names)} batched"
            found.append(f"{told}: {batching_text(inner, variant)}")
        return "; ".join(found)
    if rule.kind == "refuse":
        return f"refused: {escape(rule.text)}"
    if rule.kind == "fold":
        return f"the examples and all but the last {rule.rank} dimensions are folded into one"
    if rule.formula is not None:
        return f"{_RULES[rule.kind]} <code>{escape(rule.formula.text)}</code>"
    return _BATCHING.get(rule.kind, rule.kind)


_RULES = {"values": "of the values:", "decompose": "as", "become": "<code>self</code> becomes"}


def symbolic_text(variant: Variant) -> str:
    """How it is written as ONNX, as HTML."""
    rule = variant.operator.symbolic
    if rule is not None:
        return f"<code>{escape(rule.formula.text)}</code>"
    return "by the operators it is made of" if variant.kind == "composite" else "cannot be exported"
