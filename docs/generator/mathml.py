"""Formulas of declarations as MathML, made from their trees; browsers render it without scripts.

What has a notation of its own is in the tables below. Everything else is a call with an upright name, and
what is no formula at all (a comprehension, a string) stands there as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape

from tengen.ir.expressions import (
    BINARY,
    COMPARISONS,
    UNARY,
    Attribute,
    Call,
    Chain,
    Conditional,
    Constant,
    Elements,
    Expr,
    Keyword,
    Logical,
    Name,
    Operation,
    Slice,
    Starred,
    Subscript,
)
from tengen.ir.writer import write as as_code

# How tightly a piece of a formula holds together: it needs parentheses inside of something tighter.
CHOICE, OR, AND, NOT, RELATION, SUM, PRODUCT, POWER, ATOM = range(9)

_BINARY: Mapping[str, tuple[str, int]] = {
    "+": ("+", SUM),
    "-": ("−", SUM),
    "*": ("⋅", PRODUCT),
    "@": ("@", PRODUCT),
    "%": ("mod", PRODUCT),
    "&": ("∧", AND),
    "|": ("∨", OR),
    "^": ("⊕", OR),
    "<<": ("≪", PRODUCT),
    ">>": ("≫", PRODUCT),
}
_RELATIONS: Mapping[str, str] = {
    "==": "=", "!=": "≠", "<": "<", "<=": "≤", ">": ">", ">=": "≥",
    "in": "∈", "not in": "∉", "is": "is", "is not": "is not",
}  # fmt: skip
_RELATION_CALLS = {"eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}
_SYMBOLS = {"pi": "π", "inf": "∞", "grad": "g", "grads": "g"}
_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "lambd": "λ", "rho": "ρ", "sigma": "σ",
    "mu": "μ", "theta": "θ", "tau": "τ",
}  # fmt: skip
#: Functions that are written otherwise than their names.
_NAMES = {
    "log": "ln", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arsinh", "acosh": "arcosh",
    "atanh": "artanh", "lgamma": "lnΓ", "digamma": "ψ", "sgn": "sgn", "real": "Re", "imag": "Im",
}  # fmt: skip
#: Methods that change nothing of a value.
_TRANSPARENT = frozenset({"contiguous", "clone", "detach"})


class MathWriter:
    """Writes formulas; ``text`` is the source of the one at hand, for what stays code."""

    def formula(self, tree: Expr, left: Sequence[str] = ()) -> str:
        """A displayed formula: ``left`` = the tree's value."""
        names = [self._name(n) if not n.startswith("<") else n for n in left]
        shown = "<mo>,</mo>".join(names)
        if len(names) > 1:
            shown = f"<mo>(</mo>{shown}<mo>)</mo>"
        equals = f"{shown}<mo>=</mo>" if names else ""
        return f'<math display="block"><mrow>{equals}{self.write(tree)}</mrow></math>'

    def write(self, tree: Expr, within: int = CHOICE) -> str:
        """A piece of a formula, in parentheses if it holds together less tightly than what it is in."""
        text, strength = self._write(tree)
        return f"<mrow><mo>(</mo>{text}<mo>)</mo></mrow>" if strength < within else text

    def _write(self, tree: Expr) -> tuple[str, int]:
        match tree:
            case Name(name):
                return self._name(name), ATOM
            case Constant(value):
                return self._constant(value)
            case Operation(symbol, (left, right)) if symbol in BINARY:
                return self._binary(left, symbol, right)
            case Operation(symbol, (operand,)) if symbol in UNARY:
                return self._unary(symbol, operand)
            case Operation(symbol, operands) if symbol in COMPARISONS:
                return self._relations((symbol,), operands)
            case Chain(symbols, operands):
                return self._relations(symbols, operands)
            case Logical(symbol, operands):
                sign, strength = ("∧", AND) if symbol == "and" else ("∨", OR)
                return _row(_operator(sign).join(self.write(o, strength + 1) for o in operands)), strength
            case Conditional():
                return self._cases(tree), ATOM
            case Attribute(value, attribute):
                return self._attribute(value, attribute)
            case Call():
                return self._call(tree)
            case Subscript(value, index):
                inner = index.elements if isinstance(index, Elements) and index.kind == "tuple" else [index]
                places = _operator(",").join(map(self._index, inner))
                return f"<msub>{self.write(value, ATOM)}{_row(places)}</msub>", ATOM
            case Elements(kind, elements):
                marks = "()" if kind == "tuple" else "[]"
                return _row(_operator(marks[0]), self._list(elements), _operator(marks[1])), ATOM
            case Starred(value):
                return self._write(value)
        return _code(as_code(tree)), ATOM

    # -- names and numbers

    def _name(self, name: str) -> str:
        if name.startswith("grad_") and name not in ("grad_output", "grad_input_mask"):
            return f"<msub><mi>g</mi>{_identifier(name.removeprefix('grad_'))}</msub>"
        if name.endswith("_t"):
            return f"<mover class='dotted'>{self._name(name[:-2])}<mo stretchy='false'>•</mo></mover>"
        if name.endswith("_p"):
            return self._name(name[:-2])
        return _identifier(name)

    def _constant(self, value: object) -> tuple[str, int]:
        if isinstance(value, bool) or value is None:
            return f"<mi>{value}</mi>", ATOM
        if isinstance(value, int | float):
            return f"<mn>{value:g}</mn>" if abs(value) < 1e15 else f"<mn>{value}</mn>", ATOM
        if isinstance(value, complex):
            return f"<mrow><mn>{value.imag:g}</mn><mi>i</mi></mrow>", ATOM
        return _code(repr(value)), ATOM

    def _index(self, tree: Expr) -> str:
        return _code(as_code(tree)) if isinstance(tree, Slice) else self.write(tree)

    # -- operators

    def _relations(self, symbols: Sequence[str], operands: Sequence[Expr]) -> tuple[str, int]:
        pieces = [self.write(operands[0], SUM)]
        for symbol, right in zip(symbols, operands[1:], strict=True):
            pieces += [_operator(_RELATIONS[symbol]), self.write(right, SUM)]
        return _row(*pieces), RELATION

    def _binary(self, left: Expr, symbol: str, right: Expr) -> tuple[str, int]:
        if symbol == "/":
            return f"<mfrac>{_one(self.write(left))}{_one(self.write(right))}</mfrac>", POWER
        if symbol == "//":
            fraction = f"<mfrac>{_one(self.write(left))}{_one(self.write(right))}</mfrac>"
            return _row(_operator("⌊"), fraction, _operator("⌋")), ATOM
        if symbol == "**":
            return self._power(left, right)
        sign, strength = _BINARY[symbol]
        # a - (b - c), but a + b + c and a * b * c
        chained = symbol in ("+", "*", "&", "|")
        second = self.write(right, strength if chained else strength + 1)
        if _begins_negative(right) and not second.startswith("<mrow><mo>(</mo>"):
            second = _row(_operator("("), second, _operator(")"))
        return _row(self.write(left, strength), _operator(sign), second), strength

    def _power(self, base: Expr, exponent: Expr) -> tuple[str, int]:
        if exponent == Constant(0.5):
            return f"<msqrt>{self.write(base)}</msqrt>", ATOM
        # A fraction or another power as the base is in parentheses: they would not be told apart.
        return f"<msup>{_one(self.write(base, ATOM))}{_one(self.write(exponent))}</msup>", POWER

    def _unary(self, symbol: str, operand: Expr) -> tuple[str, int]:
        if symbol == "-x":
            return _row(_operator("−"), self.write(operand, PRODUCT)), PRODUCT
        if symbol == "+x":
            return self._write(operand)
        return _row(_operator("¬"), self.write(operand, POWER)), NOT

    def _cases(self, tree: Expr) -> str:
        rows = []
        while isinstance(tree, Conditional):
            rows.append((tree.then, tree.condition))
            tree = tree.otherwise
        return self._case_table(rows, tree)

    def _case_table(self, rows: Sequence[tuple[Expr, Expr]], otherwise: Expr) -> str:
        lines = [
            f"<mtr><mtd>{self.write(value)}</mtd><mtd><mtext>if&nbsp;</mtext>{self.write(test)}</mtd></mtr>"
            for value, test in rows
        ]
        lines.append(f"<mtr><mtd>{self.write(otherwise)}</mtd><mtd><mtext>otherwise</mtext></mtd></mtr>")
        # The brace is a border: without a font for mathematics browsers do not stretch one.
        return f"<mtable class='cases' columnalign='left left'>{''.join(lines)}</mtable>"

    # -- attributes and calls

    def _attribute(self, value: Expr, name: str) -> tuple[str, int]:
        if isinstance(value, Name) and value.id in ("math", "xp", "np") and name in _SYMBOLS:
            return f"<mi>{_SYMBOLS[name]}</mi>", ATOM
        if name in ("T", "mT", "H", "mH"):
            sign = "⊤" if name.endswith("T") else "H"
            return f"<msup>{_one(self.write(value, ATOM))}<mi>{sign}</mi></msup>", POWER
        if name in ("real", "imag"):
            return self._applied(name, [value], [])
        return _row(self.write(value, ATOM), _operator("."), f"<mtext>{escape(name)}</mtext>"), ATOM

    def _call(self, tree: Call) -> tuple[str, int]:
        arguments = list(tree.arguments)
        match tree.function:
            case Name(name):
                pass
            case Attribute(Name("xp" | "math" | "F"), name):
                pass
            case Attribute(value, name):
                arguments.insert(0, value)
            case _:
                return _code(as_code(tree)), ATOM
        special = _SPECIAL.get((name, len(arguments)))
        if special is not None and not tree.keywords:
            return special(self, arguments)
        if name in _RELATION_CALLS and len(arguments) == 2 and not tree.keywords:
            sides = [self.write(a, SUM) for a in arguments]
            return _row(_operator(_RELATION_CALLS[name]).join(sides)), RELATION
        if name in _TRANSPARENT and arguments and not tree.keywords:
            return self._write(arguments[0])
        return self._applied(name, arguments, tree.keywords)

    def _applied(self, name: str, arguments: Sequence[Expr], keywords: Sequence[Keyword]) -> tuple[str, int]:
        """``sin(x)``, upright."""
        given = [self._list(arguments)] if arguments else []
        for keyword in keywords:
            word = f"<mtext>{escape(keyword.name or '**')}</mtext>"
            given.append(_row(word, _operator("="), self.write(keyword.value)))
        inner = _operator(",").join(given)
        shown = escape(_NAMES.get(name, name))
        return (
            f"<mrow><mi mathvariant='normal'>{shown}</mi><mo>&#8289;</mo><mo>(</mo>{inner}<mo>)</mo></mrow>",
            ATOM,
        )

    def _list(self, elements: Sequence[Expr]) -> str:
        return _operator(",").join(self.write(e) for e in elements)


Special = Callable[[MathWriter, list[Expr]], tuple[str, int]]


def _over(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
    return f"<mrow class='conjugate'>{writer.write(arguments[0])}</mrow>", ATOM


def _root(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
    return f"<msqrt>{writer.write(arguments[0])}</msqrt>", ATOM


def _inverse_root(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
    return f"<mfrac><mn>1</mn><msqrt>{writer.write(arguments[0])}</msqrt></mfrac>", POWER


def _reciprocal(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
    return f"<mfrac><mn>1</mn>{_one(writer.write(arguments[0]))}</mfrac>", POWER


def _squared(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
    return f"<msup>{_one(writer.write(arguments[0], ATOM))}<mn>2</mn></msup>", POWER


def _powered(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
    return writer._power(*arguments)


def _exponential(base: str) -> Special:
    def write(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
        return f"<msup>{base}{_one(writer.write(arguments[0]))}</msup>", POWER

    return write


def _between(left: str, right: str) -> Special:
    def write(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
        return _row(_operator(left), writer.write(arguments[0]), _operator(right)), ATOM

    return write


def _raised(sign: str) -> Special:
    def write(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
        return f"<msup>{_one(writer.write(arguments[0], ATOM))}<mi>{sign}</mi></msup>", POWER

    return write


def _where(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
    test, body, otherwise = arguments
    rows = [(body, test)]
    while isinstance(otherwise, Call) and _called(otherwise) == "where" and len(otherwise.arguments) == 3:
        inner, then, otherwise = otherwise.arguments
        rows.append((then, inner))
    return writer._case_table(rows, otherwise), ATOM


def _masked(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
    value, mask, filled = arguments
    return writer._case_table([(filled, mask)], value), ATOM


def _joined(sign: str, strength: int) -> Special:
    def write(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
        return _row(_operator(sign).join(writer.write(a, strength) for a in arguments)), strength

    return write


def _negated(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
    return writer._unary("-x", arguments[0])


def _not(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
    return writer._unary("not x", arguments[0])


def _divided(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
    return writer._binary(arguments[0], "/", arguments[1])


def _nothing(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
    return "<mn>0</mn>", ATOM


def _ones(writer: MathWriter, arguments: list[Expr]) -> tuple[str, int]:
    return "<mn>1</mn>", ATOM


#: Functions and methods with a notation, by name and number of arguments.
_SPECIAL: Mapping[tuple[str, int], Special] = {
    ("conj", 1): _over,
    ("conjugate", 1): _over,
    ("sqrt", 1): _root,
    ("rsqrt", 1): _inverse_root,
    ("reciprocal", 1): _reciprocal,
    ("square", 1): _squared,
    ("pow", 2): _powered,
    ("power", 2): _powered,
    ("exp", 1): _exponential("<mi>e</mi>"),
    ("exp2", 1): _exponential("<mn>2</mn>"),
    ("abs", 1): _between("|", "|"),
    ("absolute", 1): _between("|", "|"),
    ("floor", 1): _between("⌊", "⌋"),
    ("ceil", 1): _between("⌈", "⌉"),
    ("t", 1): _raised("⊤"),
    ("adjoint", 1): _raised("H"),
    ("where", 3): _where,
    ("masked_fill", 3): _masked,
    ("mul", 2): _joined("⋅", PRODUCT),
    ("add", 2): _joined("+", SUM),
    ("mm", 2): _joined("@", PRODUCT),
    ("bmm", 2): _joined("@", PRODUCT),
    ("mv", 2): _joined("@", PRODUCT),
    ("matmul", 2): _joined("@", PRODUCT),
    ("div", 2): _divided,
    ("logical_and", 2): _joined("∧", AND),
    ("logical_or", 2): _joined("∨", OR),
    ("logical_not", 1): _not,
    ("neg", 1): _negated,
    ("zeros_like", 1): _nothing,
    ("ones_like", 1): _ones,
}


def _begins_negative(tree: Expr) -> bool:
    """Whether the text of a piece begins with a sign."""
    while isinstance(tree, Operation) and tree.symbol in _BINARY:
        tree = tree.operands[0]
    return isinstance(tree, Operation) and tree.symbol == "-x"


def _called(call: Call) -> str:
    match call.function:
        case Name(name) | Attribute(_, name):
            return name
    return ""


def _identifier(name: str) -> str:
    """A name: one letter is italic, a word upright; ``x_1``, ``result0`` with an index."""
    found = re.fullmatch(r"([a-zA-Z]+)_?(\d+)", name)
    if found is not None:
        return f"<msub>{_identifier(found[1])}<mn>{found[2]}</mn></msub>"
    shown = _SYMBOLS.get(name) or _GREEK.get(name) or name
    return f"<mi>{escape(shown)}</mi>"


def _operator(sign: str) -> str:
    """An operator; words have space around them."""
    if sign[0].isalpha():
        return f"<mspace width='0.3em'/><mtext>{sign}</mtext><mspace width='0.3em'/>"
    return f"<mo>{escape(sign)}</mo>"


def _code(text: str) -> str:
    return f"<mtext class='code'>{escape(text)}</mtext>"


def _row(*pieces: str) -> str:
    return f"<mrow>{''.join(pieces)}</mrow>"


def _one(text: str) -> str:
    """One element, where MathML counts its children."""
    return f"<mrow>{text}</mrow>"
