"""Parse: expressions of the declaration language, which are Python expressions.

Formulas of derivatives, kernels written as expressions, references and samples are all parsed
here.  Nothing is evaluated; names are resolved by ``check``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from .diagnostics import Report
from .model import Formula, Located, Operator, Place, Return

# In a formula of an in-place operator: self before the write.
ORIGINAL_SELF = "original_self"

# What a formula may ask of a tensor without its data: ``self.shape``, ``self.numel()``.
METADATA_ATTRIBUTES = frozenset({"shape", "dtype", "ndim", "device"})
METADATA_METHODS = frozenset({"dim", "is_complex", "is_floating_point", "numel", "storage_offset", "stride"})
#: What a Node keeps for each of them, in a slot that is named after the tensor and this.
METADATA = {
    "shape": "shape",
    "ndim": "shape",
    "dim": "shape",
    "numel": "shape",
    "dtype": "type",
    "device": "type",
    "is_complex": "type",
    "is_floating_point": "type",
    "stride": "stride",
    "storage_offset": "storage_offset",
}


#: The expressions that may stand in each other; those of tengen go to about ten.
MAX_DEPTH = 64


def as_text(value: Located) -> Located:
    """``value`` with its text as a string of one line: line breaks become blanks.

    Offsets into the new text still lead to the right places.
    """
    raw = value.value
    if not isinstance(raw, str):
        return Located(str(raw), value.place, value.key, value.starts)
    text = raw.replace("\n", " ") if "\n" in raw else raw
    stripped = text.strip()
    if stripped == raw:
        return value
    lead = len(text) - len(text.lstrip())
    starts = tuple((max(0, start - lead), place) for start, place in value.starts if start >= lead)
    if lead:
        starts = ((0, value.at(lead)), *starts)
    return Located(stripped, value.place, value.key, starts)


def parse_formula(value: Located, report: Report, what: str = "formula") -> Formula | None:
    """The expression that a YAML value writes; None, and an error reported, if it is none."""
    source = as_text(value)
    if isinstance(value.value, dict | tuple | None) or not source.value:
        message = (
            f"the {what} is empty" if value.value in (None, "") else f"a {what} is an expression, in a string"
        )
        report.error(value.key or value.place, message, expected="an expression")
        return None
    try:
        tree = parse_expression(source.value)
    except SyntaxError as error:
        offset = max(0, (error.offset or 1) - 1)
        place = source.at(min(offset, len(source.value)))
        message = f"the {what} is not an expression: {error.msg}"
        expected = "a closing bracket" if "never closed" in error.msg else "a Python expression"
        report.error(place, message, expected=expected, help=_flow_help(value, report))
        return None
    return Formula(source, tree)


def parse_expression(text: str) -> ast.expr:
    """The tree of an expression. Raises SyntaxError, also where it is nested too deeply."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (RecursionError, MemoryError, ValueError):  # of ValueError: a character that no source can have
        tree = None
    if tree is None or _too_deep(tree):
        raise SyntaxError(f"it is nested too deeply, more than {MAX_DEPTH} expressions in each other")
    return tree


def _too_deep(tree: ast.AST) -> bool:
    """Whether more expressions stand in each other than the stages, which call themselves, are made for."""
    level = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def _flow_help(value: Located, report: Report) -> str:
    """A hint for an expression that YAML cut at a comma because it stands in ``{ }``."""
    line = report.sources.get(value.place.file, [""] * value.place.line)[value.place.line - 1]
    cut = "{" in line[: value.place.column] and not value.starts
    return "inside of { } a comma ends a value: quote the expression" if cut else ""


def place_of(formula: Formula, node: ast.AST) -> Place:
    """Where a node of the formula's tree stands in the declaration file."""
    return formula.source.at(_offset(formula.text, getattr(node, "col_offset", 0)))


def length_of(formula: Formula, node: ast.AST) -> int:
    """How many characters of the formula's text a node takes."""
    start, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", None)
    return 1 if end is None else max(1, _offset(formula.text, end) - _offset(formula.text, start))


def _offset(text: str, column: int) -> int:
    """``ast`` counts bytes of UTF-8; places count characters."""
    return column if text.isascii() else len(text.encode()[:column].decode())


def result_names(returns: tuple[Return, ...]) -> tuple[str, ...]:
    """What formulas call the results: their names, else ``result``, or ``result0``, ``result1`` ..."""
    if len(returns) == 1:
        return (returns[0].name or "result",)
    return tuple(r.name or f"result{number}" for number, r in enumerate(returns))


def result_numbers(returns: tuple[Return, ...]) -> dict[str, int]:
    """Every name by which formulas may call a result, with its number.

    An operator with one result calls it ``result`` whether it is named or not, and ``resultN``
    is always understood.
    """
    numbers = {f"result{number}": number for number in range(len(returns))}
    numbers |= {name: number for number, name in enumerate(result_names(returns))}
    if len(returns) == 1:
        numbers["result"] = 0
    return numbers


# --------------------------------------------------------------------------------------
# What a formula uses


@dataclass(frozen=True, slots=True)
class Saved:
    """What a Node must keep for a formula, in the order of the schema.

    A name stands in one of ``tensors``, ``metadata`` and ``conditional`` only: metadata of a
    tensor whose data is kept anyway is not listed.
    """

    tensors: tuple[str, ...] = ()  # Tensor and Tensor[] arguments whose data is needed
    conditional: tuple[tuple[str, str], ...] = ()  # wrap_opt_if(NAME, CONDITION): the condition's text
    results: tuple[int, ...] = ()  # numbers of the results whose data is needed
    metadata: tuple[tuple[str, str], ...] = ()  # ("self", "shape"); of a list, one for each tensor
    result_metadata: tuple[tuple[int, str], ...] = ()
    values: tuple[str, ...] = ()  # Python values: Scalar, int, int[], bool, str, dtype ...
    gradients: frozenset[int] = frozenset()  # numbers of the results whose gradients are used
    all_gradients: bool = False  # bare ``grads``, which keeps its Nones
    input_mask: bool = False  # grad_input_mask
    retain_variables: bool = False


def metadata_use(node: ast.AST) -> tuple[str, str] | None:
    """``("self", "shape")`` for ``self.shape``, ``self.numel()`` and the like.

    For a list of tensors the form is ``[t.shape for t in tensors]``, which gives the metadata
    of each.  None for any other node.
    """
    if isinstance(node, ast.ListComp | ast.GeneratorExp) and len(node.generators) == 1:
        generator = node.generators[0]
        element = metadata_use(node.elt)
        if (
            element is not None
            and isinstance(generator.target, ast.Name)
            and isinstance(generator.iter, ast.Name)
            and not generator.ifs
            and element[0] == generator.target.id
        ):
            return generator.iter.id, element[1]
        return None
    called = isinstance(node, ast.Call) and not node.args and not node.keywords
    attribute = node.func if isinstance(node, ast.Call) and called else node
    if not isinstance(attribute, ast.Attribute) or not isinstance(attribute.value, ast.Name):
        return None
    known = METADATA_METHODS if called else METADATA_ATTRIBUTES
    return (attribute.value.id, attribute.attr) if attribute.attr in known else None


def saved(formula: Formula | Iterable[Formula], operator: Operator) -> Saved:
    """What a Node of ``operator`` keeps so that the formula, or all the formulas, can be run later."""
    uses = _Uses(operator)
    for each in (formula,) if isinstance(formula, Formula) else formula:
        uses.visit(each.tree, frozenset())
    return uses.result()


class _Uses:
    """Walks formulas and notes every use of an argument, a result or a gradient."""

    def __init__(self, operator: Operator) -> None:
        self.schema = operator.schema
        self.arguments = {a.name: a for a in operator.schema.arguments}
        self.results = result_numbers(operator.schema.returns)
        self.data: set[str] = set()
        self.result_data: set[int] = set()
        self.metadata: set[tuple[str, str]] = set()
        self.conditions: dict[str, set[str]] = {}
        self.values: set[str] = set()
        self.gradients: set[int] = set()
        self.flags: set[str] = set()

    def visit(self, node: ast.AST, bound: frozenset[str]) -> None:
        use = metadata_use(node)
        if use is not None and use[0] not in bound and self.is_tensor(use[0]):
            self.metadata.add(use)
            return
        if isinstance(node, ast.Name):
            if node.id not in bound:
                self.name(node.id)
            return
        if _is_wrap_opt_if(node):
            assert isinstance(node, ast.Call)
            tensor, condition = node.args
            assert isinstance(tensor, ast.Name)
            self.conditions.setdefault(tensor.id, set()).add(ast.unparse(condition))
            return
        number = gradient_number(node)
        if number is not None:
            self.gradients.add(number)
            return
        for child, inner in children(node, bound):
            self.visit(child, inner)

    def is_tensor(self, name: str) -> bool:
        argument = self.arguments.get(name)
        return argument.is_tensor_like if argument is not None else name in self.results

    def name(self, name: str) -> None:
        if name == ORIGINAL_SELF:
            name = "self"
        if name in self.arguments:
            (self.data if self.arguments[name].is_tensor_like else self.values).add(name)
        elif name in self.results:
            self.result_data.add(self.results[name])
        elif name == "grad":
            self.gradients.add(0)
        elif name.startswith("grad_") and name.removeprefix("grad_") in self.results:
            self.gradients.add(self.results[name.removeprefix("grad_")])
        elif name in ("grads", "grad_input_mask", "retain_variables"):
            self.flags.add(name)

    def result(self) -> Saved:
        order = list(self.arguments)
        conditional = [
            (name, " or ".join(f"({c})" for c in sorted(texts)) if len(texts) > 1 else next(iter(texts)))
            for name, texts in self.conditions.items()
            if name in self.arguments and name not in self.data
        ]
        kept = self.data | {name for name, _ in conditional}
        of_results = {(self.results[n], a) for n, a in self.metadata if n not in self.arguments}
        return Saved(
            tensors=tuple(sorted(self.data, key=order.index)),
            conditional=tuple(sorted(conditional, key=lambda item: order.index(item[0]))),
            results=tuple(sorted(self.result_data)),
            metadata=tuple(
                sorted(
                    (item for item in self.metadata if item[0] in self.arguments and item[0] not in kept),
                    key=lambda item: (order.index(item[0]), item[1]),
                )
            ),
            result_metadata=tuple(sorted(item for item in of_results if item[0] not in self.result_data)),
            values=tuple(sorted(self.values, key=order.index)),
            gradients=frozenset(self.gradients),
            all_gradients="grads" in self.flags,
            input_mask="grad_input_mask" in self.flags,
            retain_variables="retain_variables" in self.flags,
        )


def gradient_number(node: ast.AST) -> int | None:
    """``i`` for ``grads[i]``."""
    match node:
        case ast.Subscript(value=ast.Name(id="grads"), slice=ast.Constant(value=int(number))):
            return number
    return None


def _is_wrap_opt_if(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "wrap_opt_if"
        and len(node.args) == 2
        and isinstance(node.args[0], ast.Name)
    )


def free_names(tree: ast.AST) -> Iterable[ast.Name]:
    """The names of an expression that no comprehension or lambda of it binds."""
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(tree, frozenset())]
    while waiting:
        node, bound = waiting.pop()
        if isinstance(node, ast.Name):
            if node.id not in bound:
                yield node
        else:
            waiting += children(node, bound)


_PARTS = (ast.expr, ast.keyword, ast.comprehension)


def bound_by(node: ast.AST) -> frozenset[str]:
    """The names that a comprehension or a lambda binds."""
    if isinstance(node, ast.Lambda):
        return frozenset(a.arg for a in parameters_of(node))
    targets = [g.target for g in getattr(node, "generators", ())]
    return frozenset(n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name))


def parameters_of(node: ast.Lambda) -> list[ast.arg]:
    """The parameters of a lambda, of every kind."""
    given = node.args
    every = (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg)
    return [a for a in every if a is not None]


def children(node: ast.AST, bound: frozenset[str]) -> Iterable[tuple[ast.AST, frozenset[str]]]:
    """The parts of a node, each with the names that are bound inside of it by the node.

    Comprehensions and lambdas bind names; they hide arguments of the same name.
    """
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        inner = bound
        for generator in node.generators:
            yield generator.iter, inner
            inner = inner | {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
            for test in generator.ifs:
                yield test, inner
        for element in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            yield element, inner
        return
    if isinstance(node, ast.Lambda):
        yield node.body, bound | bound_by(node)
        for value in (*node.args.defaults, *node.args.kw_defaults):
            if value is not None:
                yield value, bound
        return
    # As ast.iter_child_nodes, without the operators and contexts, which say nothing here.
    for name in node._fields:
        value = getattr(node, name)
        if isinstance(value, list):
            for item in value:
                if isinstance(item, _PARTS):
                    yield item, bound
        elif isinstance(value, _PARTS):
            yield value, bound
