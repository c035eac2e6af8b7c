"""Check: entries of derivatives.yaml to Derivatives."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ...ir.expressions import Attribute, Call, Constant, Elements, Expr, Name, Subscript, scoped_parts, walk
from ..model.autogen import inplace_variant
from ..model.diagnostics import Report, one_of, suggestion
from ..model.metadata import METADATA
from ..model.names import COMPOSITES, ELEMENTS_GRADIENT
from ..model.operators import Derivative, Formula, Operator
from ..model.schema import OperatorName, Schema
from ..model.source import Entry, Located, Place
from ..parse.formula import (
    ORIGINAL_SELF,
    as_text,
    length_of,
    metadata_use,
    parse_formula,
    place_of,
    result_names,
    result_numbers,
)
from ..parse.schema import SchemaError, parse_name
from ..read.fields import check_keys, known_word, length_of_scalar, words
from ..read.keys import DERIVATIVE_KEYS
from .elements import gradient_of_elements
from .expand import parse_located_schema
from .kernels import Sources
from .names import Problem, TensorVocabulary, check_names

NON_DIFFERENTIABLE = "non_differentiable"
AUTOMATIC = ("auto_linear", "auto_element_wise")
# PyTorch's backends. Formulas for one are accepted; they have no effect unless it is declared here.
TORCH_BACKENDS = (
    "NestedTensor", "CPU", "CUDA", "HIP", "XLA", "MTIA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "Meta",
    "PrivateUse1", "PrivateUse2", "PrivateUse3",
)  # fmt: skip

#: What formulas of gradients are given beside arguments and results.
_GIVEN = ("grad", "grads", "grad_input_mask", "retain_variables")


@dataclass(slots=True)
class _Body:
    """The formulas of an entry, or of one of its alternatives, while they are collected."""

    gradients: dict[tuple[str, ...], Formula] = field(default_factory=dict)
    jvps: dict[str, Formula] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)
    flags: tuple[bool, ...] | None = None

    @property
    def differentiable(self) -> frozenset[str]:
        """The arguments that have a gradient."""
        return frozenset(name for names in self.gradients for name in names)


class DerivativeChecker:
    """Makes Derivatives of entries."""

    def __init__(self, operators: Mapping[OperatorName, Operator], sources: Sources, report: Report) -> None:
        self.operators, self.sources, self.report = operators, sources, report
        # As entries write them.
        self.derived = {replace(v, namespace=""): o.name for o in operators.values() for v in o.autogen}

    def derivative(self, entry: Entry) -> Derivative | None:
        """The derivative of an entry; None when it belongs to no operator."""
        located = entry.fields.get("name")
        if located is None:
            self.without_name(entry)
            return None
        operator = self.operator(located)
        if operator is None:
            return None
        if COMPOSITES[0] in operator.kernels:
            self.report.error(
                located.place,
                f"{operator.name} is made of other operators, whose derivatives it has",
                length=len(str(operator.name)),
                expected="no entry, or the dispatch key CompositeExplicitAutograd",
            )
            return None
        if operator.saves_result:
            self.report.error(
                located.place,
                f"{operator.name} has this entry, and the key saves_result",
                length=len(str(operator.name)),
                expected="one of them: the formulas of an entry say what is saved",
            )
        return self.entry(entry, operator)

    def without_name(self, entry: Entry) -> None:
        """Reports an entry of no operator; its key may be misspelt."""
        for key, value in entry.fields.items():
            if suggestion(key, ["name"]):
                help = 'did you mean "name"?'
                message = f'unknown key "{key}" in an entry without the key "name"'
                self.report.error(value.key or value.place, message, length=len(key), help=help)
                return
        self.report.error(entry.place, 'an entry without the key "name"', expected="name: an operator")

    def operator(self, located: Located) -> Operator | None:
        """The operator that ``name`` names, by its name or by its whole schema."""
        source = as_text(located)
        text = source.value
        schema: Schema | None = None
        if "(" in text:
            parsed = parse_located_schema(located, self.report)
            if parsed is None:
                return None
            schema = parsed[0]
            name = schema.name
        else:
            try:
                name = parse_name(text)
            except SchemaError as error:
                self.report.error(
                    source.at(error.offset), error.message, length=error.length, expected=error.expected
                )
                return None
        own = replace(name, namespace=self.sources.library)
        operator = self.operators.get(own) or self.operators.get(name) or self.in_place(name)
        if operator is None and str(name) not in self.report.unread:
            helped = suggestion(str(name), map(str, self.operators))
            if name in self.derived:
                helped = f"{name} has the derivative of {self.derived[name]}, from which it is derived"
            self.report.error(
                source.place,
                f'the derivative of an unknown operator "{name}"',
                length=len(str(name)),
                expected="the name of a declared operator",
                help=helped,
            )
        elif operator is not None and schema is not None and str(schema) != str(operator.schema):
            theirs = str(operator.schema)
            offset = next(
                (i for i, (a, b) in enumerate(zip(text, theirs, strict=False)) if a != b), len(theirs)
            )
            self.report.error(
                source.at(min(offset, len(text))),
                f"the schema of {name} is another one",
                expected=theirs,
                related=((operator.place, "it is declared here"),),
            )
        return operator

    def in_place(self, name: OperatorName) -> Operator | None:
        """The in-place variant of this name, where the operator that it is derived from has no derivative."""
        base = self.operators.get(self.derived.get(name, name))
        if base is None or not name.inplace or base.result_kind not in ("bool", "int64"):
            return None
        return inplace_variant(base, name).operator

    def entry(self, entry: Entry, operator: Operator) -> Derivative:
        """An entry's formulas, or those of the keys of its dispatch."""
        fields = dict(entry.fields)
        fields.pop("name", None)
        dispatch = fields.pop("dispatch", None)
        if dispatch is None or not isinstance(dispatch.value, dict):
            if dispatch is not None:
                self.report.error(
                    dispatch.place, '"dispatch" is no mapping', expected="Default: and the keys of backends"
                )
            return self.body(fields, entry.place, operator)
        for name, value in fields.items():
            if name not in ("output_differentiability", "node"):
                self.report.error(
                    value.key or value.place,
                    "a formula beside dispatch",
                    length=len(name),
                    expected="the formula below Default",
                )
        known = ["Default", *(f"Autograd{n}" for n in (*self.sources.tables.backends, *TORCH_BACKENDS))]
        shared = {k: v for k, v in fields.items() if k in ("output_differentiability", "node")}
        bodies: dict[str, Derivative] = {}
        for key, value in dispatch.value.items():
            known_word(key, value.key or value.place, known, "dispatch key", self.report)
            if isinstance(value.value, dict):
                bodies[key] = self.body({**shared, **value.value}, value.key or value.place, operator)
            else:
                self.report.error(
                    value.place,
                    "a dispatch key has no formulas",
                    expected="a mapping of arguments to formulas",
                )
        main = bodies.pop("Default", None) or self.body(shared, entry.place, operator)
        backends = self.sources.tables.backends
        others = {
            k.removeprefix("Autograd"): d for k, d in bodies.items() if k.removeprefix("Autograd") in backends
        }
        return replace(main, place=entry.place, dispatch=others)

    def body(self, fields: Mapping[str, Located], place: Place, operator: Operator) -> Derivative:
        """The formulas of one mapping of arguments and results to formulas."""
        fixed = {k: v for k, v in fields.items() if k in DERIVATIVE_KEYS}
        good = check_keys(fixed, DERIVATIVE_KEYS, "an entry of derivatives.yaml", self.report)
        body = _Body()
        seen: dict[str, Place] = {}
        for key, value in fields.items():
            if key not in DERIVATIVE_KEYS:
                self.formula(key, value, operator, body, seen)
        if "output_differentiability" in good:
            body.flags = self.differentiability(good["output_differentiability"], operator)
        check = _FormulaCheck(operator, body, self.sources, self.report)
        for names, formula in body.gradients.items():
            check.gradient(names, formula)
        check.one_spelling()
        for formula in body.jvps.values():
            check.jvp(formula)
        used = {names: f for names, f in body.gradients.items() if ELEMENTS_GRADIENT in f.names()}
        users = tuple(itertools.chain(*used))
        shared = [gradient_of_elements(operator, users, f.source) for f in list(used.values())[:1]]
        formulas = *body.gradients.values(), *body.jvps.values(), *[s.formula for s in shared]
        return Derivative(
            name=operator.name,
            place=place,
            gradients=body.gradients,
            jvps=body.jvps,
            non_differentiable=frozenset(body.excluded),
            output_differentiability=body.flags,
            node=good["node"].value if "node" in good else None,
            helpers=self.helpers(formulas, operator),
            shared=tuple(shared),
        )

    def formula(
        self, key: str, value: Located, operator: Operator, body: _Body, seen: dict[str, Place]
    ) -> None:
        """One key: an argument or a result, or several jointly."""
        named = key_names(key, value, operator.schema, self.report)
        if named is None:
            return
        kind, names = named
        for name, place in names:
            if name in seen:
                related = ((seen[name], "the first is here"),)
                self.report.error(place, f'"{name}" has two formulas', length=len(name), related=related)
                return
            seen[name] = place
        if kind == "arguments" and value.value == NON_DIFFERENTIABLE:
            body.excluded.update(name for name, _ in names)
            return
        formula = parse_formula(value, self.report)
        if formula is None:
            return
        if kind == "arguments":
            body.gradients[tuple(name for name, _ in names)] = formula
        elif len(names) == 1:
            body.jvps[names[0][0]] = formula
        else:
            # "Q, R: f(...)" returns the tangents of both.
            for number, (name, _) in enumerate(names):
                part = Subscript(formula.tree, Constant(number), span=formula.tree.span)
                body.jvps[name] = Formula(formula.source, part)

    def differentiability(self, located: Located, operator: Operator) -> tuple[bool, ...] | None:
        flags = []
        for item in located.value:
            if not isinstance(item.value, bool):
                self.report.error(
                    item.place, "not true or false", length=length_of_scalar(item), expected="true or false"
                )
                return None
            flags.append(item.value)
        count = len(operator.schema.returns)
        if len(flags) != count:
            self.report.error(
                located.place,
                f"output_differentiability has {len(flags)} value{'s' if len(flags) != 1 else ''},"
                f" but {operator.name} returns {count} result{'s' if count != 1 else ''}",
                expected=f"{count} times true or false",
            )
            return None
        return tuple(flags)

    def helpers(self, formulas: Iterable[Formula], operator: Operator) -> dict[str, str]:
        """The functions of runtime/formulas/ that the formulas name, with their modules."""
        arguments = {a.name for a in operator.schema.arguments}
        result: dict[str, str] = {}
        for formula in formulas:
            result |= self.sources.formulas.qualified(formula.names() - arguments)
        return result


def key_names(
    key: str, value: Located, schema: Schema, report: Report
) -> tuple[Literal["arguments", "results"], list[tuple[str, Place]]] | None:
    """The arguments or the results that a key of an entry names, each with its place.

    Results are given by the names that ``result_names`` gives them.  None, and an error
    reported, when a name is no Tensor argument and no result.  (That it is not differentiable
    may be said of any argument.)
    """
    arguments = {a.name: a for a in schema.arguments}
    numbers = result_numbers(schema.returns)
    results = result_names(schema.returns)
    names = words(Located(key, value.key or value.place), report)
    if all(name in numbers and name not in arguments for name, _ in names):
        return "results", [(results[numbers[name]], place) for name, place in names]
    tensors = [a.name for a in arguments.values() if a.is_tensor_like]
    for name, place in names:
        if name not in arguments:
            what = "neither an argument nor a result" if len(names) == 1 else "no argument"
            report.error(
                place,
                f'"{name}" is {what} of {schema.name}',
                length=len(name),
                expected=one_of([*tensors, *results]),
                help=suggestion(name, [*tensors, *results]),
            )
            return None
        if not arguments[name].is_tensor_like and value.value != NON_DIFFERENTIABLE:
            message = f'"{name}" has the type {arguments[name].type}, which has no gradient'
            report.error(place, message, length=len(name), expected=one_of(tensors))
            return None
    return "arguments", names


class _Gradients(TensorVocabulary):
    """What a gradient's formula may name."""

    def unknown(self, name: str) -> Problem:
        problem = super().unknown(name)
        if name.endswith(("_t", "_p")) and name[:-2] in self.values:
            expected = "no tangent here: only the formulas of results have NAME_t and NAME_p"
        else:
            expected = "an argument, a result, grad, grads[i], or a function"
        return replace(problem, expected=expected)


class _Tangents(TensorVocabulary):
    """What a result's formula may name."""

    def unknown(self, name: str) -> Problem:
        problem = super().unknown(name)
        if name.startswith("grad"):
            expected = "no gradient here: a result's formula has NAME_t (tangents) and NAME_p (values)"
        else:
            expected = "NAME_t or NAME_p of an argument with a gradient, an argument, a result, or a function"
        return replace(problem, expected=expected)


class _FormulaCheck:
    """The names of one derivative's formulas."""

    def __init__(self, operator: Operator, body: _Body, sources: Sources, report: Report) -> None:
        self.operator, self.body, self.sources, self.report = operator, body, sources, report
        schema = operator.schema
        self.arguments = {a.name: a for a in schema.arguments}
        self.numbers = result_numbers(schema.returns)
        self.named = {
            f"grad_{n}": i for n, i in self.numbers.items() if n not in ("result",) or len(self.numbers) > 1
        }
        self.spellings: dict[str, tuple[Formula, Expr]] = {}
        self.original = {ORIGINAL_SELF} if operator.name.inplace else set()

    def error(self, formula: Formula, expr: Expr, message: str, expected: str = "", help: str = "") -> None:
        self.report.error(
            place_of(formula, expr), message, length=length_of(formula, expr), expected=expected, help=help
        )

    # -- gradients

    def gradient(self, names: tuple[str, ...], formula: Formula) -> None:
        """A formula of one gradient, or of several jointly."""
        tree = formula.tree
        if isinstance(tree, Name) and tree.id in AUTOMATIC:
            self.error(formula, tree, f"{tree.id} is a formula of results, not of arguments", "an expression")
            return
        if isinstance(tree, Elements) and tree.kind == "tuple":
            if len(names) == 1 and not self.arguments[names[0]].is_tensor_list:
                self.error(
                    formula,
                    tree,
                    "a tuple where one gradient is expected",
                    "no comma",
                    help="is there a trailing comma?" if len(tree.elements) == 1 else "",
                )
            elif len(names) > 1 and len(tree.elements) != len(names):
                count = len(tree.elements)
                message = f"{count} gradient{'s' if count != 1 else ''} for {len(names)} arguments"
                self.error(formula, tree, message, f"{len(names)} expressions, or a call")
        elements = {ELEMENTS_GRADIENT} if self.operator.is_loss else set()
        values = {*self.arguments, *self.numbers, *_GIVEN, *self.named, *self.original, *elements}
        vocabulary = _Gradients("formula", values, self.sources.operators, self.sources.formulas)
        before = len(self.report.diagnostics)
        check_names(formula, vocabulary, self.report)
        self.special(formula)
        for node in walk(tree):
            self.spelling(formula, node, len(names))
        if len(self.report.diagnostics) == before:
            self.slots(formula)
            wanted = {"grad", "grads", "not_implemented", *self.named, *elements}
            self.follows(
                formula, wanted, "a gradient that does not follow from the result's", "grad in the formula"
            )

    def slots(self, formula: Formula) -> None:
        """What a Node keeps of a tensor without its data has a name that an argument may have."""
        for node in walk(formula.tree):
            name, attribute = metadata_use(node) or ("", "")
            slot = f"{name}_{METADATA[attribute].slot}" if name else ""
            if name in self.arguments and slot in self.arguments:
                message = f'a Node keeps the {attribute} of "{name}" as "{slot}", which is an argument'
                self.error(formula, node, message, "another name for the argument, in the schema")

    def follows(self, formula: Formula, wanted: Collection[str], message: str, expected: str) -> None:
        """A derivative is linear in what it is given; one that does not use it at all is zero, or wrong."""
        if not formula.names() & set(wanted) and not _is_zero(formula.tree):
            self.error(formula, formula.tree, message, f"{expected}, or zeros_like(...)")

    def spelling(self, formula: Formula, node: Expr, count: int) -> None:
        """Notes how a node refers to the gradients of results, and checks the number in ``grads[i]``."""
        if isinstance(node, Name) and node.id not in self.arguments:
            if node.id in ("grad", "grads"):
                self.spellings.setdefault(node.id, (formula, node))
            elif node.id in self.named:
                self.spellings.setdefault("grad_NAME", (formula, node))
                self.has_gradient(formula, node, self.named[node.id])
        match node:
            case Subscript(Name(name), Constant(int(number))):
                self.number(formula, node, name, number, count)

    def number(self, formula: Formula, node: Expr, name: str, number: int, count: int) -> None:
        """``grads[i]`` and ``grad_input_mask[i]`` are of a result and of an input that there is."""
        if name == "grads":
            total = len(self.operator.schema.returns)
            lists = any(r.type.is_tensor_list for r in self.operator.schema.returns)
            if not lists and not 0 <= number < total:
                plural = "s" if total != 1 else ""
                self.error(
                    formula,
                    node,
                    f"grads[{number}], but {self.operator.name} returns {total} result{plural}",
                    f"grads[0]{f' to grads[{total - 1}]' if total > 1 else ''}",
                )
            else:
                self.has_gradient(formula, node, number)
        elif name == "grad_input_mask" and not 0 <= number < count:
            self.error(
                formula,
                node,
                f"grad_input_mask has {count} value{'s' if count != 1 else ''} here",
                "the number of one of the key's arguments",
            )

    def has_gradient(self, formula: Formula, node: Expr, number: int) -> None:
        flags = self.body.flags
        if flags is not None and number < len(flags) and not flags[number]:
            self.error(
                formula,
                node,
                f"result {number} has no gradient, says output_differentiability",
                "the gradient of another result",
            )

    def one_spelling(self) -> None:
        """grad, grads and grad_NAME are not mixed in one derivative."""
        if len(self.spellings) > 1:
            order = [s for s in ("grad", "grads", "grad_NAME") if s in self.spellings]
            formula, node = self.spellings[order[1]]
            first, first_node = self.spellings[order[0]]
            self.report.error(
                place_of(formula, node),
                f"{order[0]} and {order[1]} in one derivative",
                length=length_of(formula, node),
                expected="one of grad, grads[i] and grad_NAME throughout",
                related=((place_of(first, first_node), f"{order[0]} is used here"),),
            )

    def special(self, formula: Formula) -> None:
        """The arguments of not_implemented and wrap_opt_if."""
        for node in walk(formula.tree) if "not_impl" in formula.text or "wrap_opt" in formula.text else ():
            if not isinstance(node, Call) or not isinstance(node.function, Name):
                continue
            given = node.arguments
            if node.function.id == "not_implemented":
                good = len(given) == 1 and not node.keywords and isinstance(given[0], Constant)
                if not good or node is not formula.tree:
                    self.error(
                        formula,
                        node,
                        "not_implemented stands alone and takes the operator's name",
                        'not_implemented("NAME")',
                    )
            elif node.function.id == "wrap_opt_if":
                first = given[0] if given else None
                tensor = (
                    isinstance(first, Name)
                    and first.id in self.arguments
                    and self.arguments[first.id].is_tensor
                )
                if len(given) != 2 or node.keywords or not tensor:
                    self.error(
                        formula,
                        node,
                        "wrap_opt_if takes a Tensor argument and a condition",
                        "wrap_opt_if(NAME, grad_input_mask[i])",
                    )

    # -- forward mode

    def jvp(self, formula: Formula) -> None:
        """The formula of a result's tangent."""
        tree = formula.tree
        if isinstance(tree, Name) and tree.id in AUTOMATIC:
            count = sum(len(names) for names, f in self.body.gradients.items() if f.implemented)
            if tree.id == "auto_element_wise" and count != 1:
                self.error(
                    formula,
                    tree,
                    f"auto_element_wise needs one argument with a gradient, not {count}",
                    "a formula with NAME_t and NAME_p, or auto_linear",
                )
            return
        if isinstance(tree, Name) and tree.id.startswith("auto_"):
            self.error(
                formula,
                tree,
                f'unknown name "{tree.id}" in the formula',
                one_of(AUTOMATIC),
                suggestion(tree.id, AUTOMATIC),
            )
            return
        tensors = [
            a.name for a in self.arguments.values() if a.is_tensor_like and a.name not in self.body.excluded
        ]
        duals = (*tensors, *self.original)
        dual = {f"{name}_{part}" for name in duals for part in ("t", "p")}  # the tangent, the value
        values = {*self.arguments, *self.numbers, *dual}
        vocabulary = _Tangents("formula", values, self.sources.operators, self.sources.formulas)
        before = len(self.report.diagnostics)
        check_names(formula, vocabulary, self.report)
        self.special(formula)
        self.bare(formula, tree, frozenset(), self.body.differentiable)
        if len(self.report.diagnostics) == before:
            wanted = {"not_implemented", *(name for name in dual if name.endswith("_t"))}
            self.follows(
                formula, wanted, "a tangent that does not follow from an argument's", "NAME_t in the formula"
            )

    def bare(
        self, formula: Formula, node: Expr, bound: frozenset[str], differentiable: Collection[str]
    ) -> None:
        """A tensor with a tangent is not used by its plain name, save for its metadata."""
        if metadata_use(node) is not None:
            return
        tangent = isinstance(node, Name) and node.id in differentiable and node.id not in bound
        if isinstance(node, Name) and tangent and self.arguments[node.id].is_tensor:
            name = node.id
            expected = f"{name}_p for its value, {name}_t for its tangent"
            self.error(formula, node, f'"{name}" has a tangent here', expected)
        for part, inner in scoped_parts(node, bound):
            self.bare(formula, part, inner, differentiable)


def _is_zero(tree: Expr) -> bool:
    """Whether it is ``zeros_like(...)``, or makes zeros in another way."""
    match tree:
        case Call(Name(name) | Attribute(_, name)):
            return name.startswith(("zeros", "new_zeros"))
    return False
