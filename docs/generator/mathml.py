"""Formulas of declarations as MathML, made from their trees; browsers render it without scripts.

What has a notation of its own is in the tables below. Everything else is a call with an upright name, and
what is no formula at all (a comprehension, a string) stands there as code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape

# How tightly a piece of a formula holds together: it needs parentheses inside of something tighter.
CHOICE, OR, AND, NOT, RELATION, SUM, PRODUCT, POWER, ATOM = range(9)

_BINARY: Mapping[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("+", SUM),
    ast.Sub: ("−", SUM),
    ast.Mult: ("⋅", PRODUCT),
    ast.MatMult: ("@", PRODUCT),
    ast.Mod: ("mod", PRODUCT),
    ast.BitAnd: ("∧", AND),
    ast.BitOr: ("∨", OR),
    ast.BitXor: ("⊕", OR),
    ast.LShift: ("≪", PRODUCT),
    ast.RShift: ("≫", PRODUCT),
}
_RELATIONS: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "=", ast.NotEq: "≠", ast.Lt: "<", ast.LtE: "≤", ast.Gt: ">", ast.GtE: "≥",
    ast.In: "∈", ast.NotIn: "∉", ast.Is: "is", ast.IsNot: "is not",
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

    def formula(self, tree: ast.expr, left: Sequence[str] = ()) -> str:
        """A displayed formula: ``left`` = the tree's value."""
        names = [self._name(n) if not n.startswith("<") else n for n in left]
        shown = "<mo>,</mo>".join(names)
        if len(names) > 1:
            shown = f"<mo>(</mo>{shown}<mo>)</mo>"
        equals = f"{shown}<mo>=</mo>" if names else ""
        return f'<math display="block"><mrow>{equals}{self.write(tree)}</mrow></math>'

    def write(self, tree: ast.expr, within: int = CHOICE) -> str:
        """A piece of a formula, in parentheses if it holds together less tightly than what it is in."""
        text, strength = self._write(tree)
        return f"<mrow><mo>(</mo>{text}<mo>)</mo></mrow>" if strength < within else text

    def _write(self, tree: ast.expr) -> tuple[str, int]:
        match tree:
            case ast.Name(name):
                return self._name(name), ATOM
            case ast.Constant(value):
                return self._constant(value)
            case ast.BinOp():
                return self._binary(tree)
            case ast.UnaryOp(op, operand):
                return self._unary(op, operand)
            case ast.Compare(first, ops, rest):
                pieces = [self.write(first, SUM)]
                for relation, right in zip(ops, rest, strict=True):
                    pieces += [_operator(_RELATIONS[type(relation)]), self.write(right, SUM)]
                return _row(*pieces), RELATION
            case ast.BoolOp(op, values):
                sign, strength = ("∧", AND) if isinstance(op, ast.And) else ("∨", OR)
                return _row(_operator(sign).join(self.write(v, strength + 1) for v in values)), strength
            case ast.IfExp(test, body, orelse):
                return self._cases(test, body, orelse), ATOM
            case ast.Attribute(value, attribute):
                return self._attribute(value, attribute)
            case ast.Call():
                return self._call(tree)
            case ast.Subscript(value, index):
                inner = index.elts if isinstance(index, ast.Tuple) else [index]
                places = _operator(",").join(map(self._index, inner))
                return f"<msub>{self.write(value, ATOM)}{_row(places)}</msub>", ATOM
            case ast.Tuple(elements) | ast.List(elements):
                marks = "()" if isinstance(tree, ast.Tuple) else "[]"
                return _row(_operator(marks[0]), self._list(elements), _operator(marks[1])), ATOM
            case ast.Starred(value):
                return self._write(value)
        return _code(ast.unparse(tree)), ATOM

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

    def _index(self, tree: ast.expr) -> str:
        return _code(ast.unparse(tree)) if isinstance(tree, ast.Slice) else self.write(tree)

    # -- operators

    def _binary(self, tree: ast.BinOp) -> tuple[str, int]:
        left, op, right = tree.left, tree.op, tree.right
        if isinstance(op, ast.Div):
            return f"<mfrac>{_one(self.write(left))}{_one(self.write(right))}</mfrac>", POWER
        if isinstance(op, ast.FloorDiv):
            fraction = f"<mfrac>{_one(self.write(left))}{_one(self.write(right))}</mfrac>"
            return _row(_operator("⌊"), fraction, _operator("⌋")), ATOM
        if isinstance(op, ast.Pow):
            return self._power(left, right)
        sign, strength = _BINARY[type(op)]
        # a - (b - c), but a + b + c and a * b * c
        chained = isinstance(op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr)
        second = self.write(right, strength if chained else strength + 1)
        if _begins_negative(right) and not second.startswith("<mrow><mo>(</mo>"):
            second = _row(_operator("("), second, _operator(")"))
        return _row(self.write(left, strength), _operator(sign), second), strength

    def _power(self, base: ast.expr, exponent: ast.expr) -> tuple[str, int]:
        if isinstance(exponent, ast.Constant) and exponent.value == 0.5:
            return f"<msqrt>{self.write(base)}</msqrt>", ATOM
        # A fraction or another power as the base is in parentheses: they would not be told apart.
        return f"<msup>{_one(self.write(base, ATOM))}{_one(self.write(exponent))}</msup>", POWER

    def _unary(self, op: ast.unaryop, operand: ast.expr) -> tuple[str, int]:
        if isinstance(op, ast.USub):
            return _row(_operator("−"), self.write(operand, PRODUCT)), PRODUCT
        if isinstance(op, ast.UAdd):
            return self._write(operand)
        return _row(_operator("¬"), self.write(operand, POWER)), NOT

    def _cases(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> str:
        rows = [(body, test)]
        while isinstance(orelse, ast.IfExp):
            rows.append((orelse.body, orelse.test))
            orelse = orelse.orelse
        return self._case_table(rows, orelse)

    def _case_table(self, rows: Sequence[tuple[ast.expr, ast.expr]], otherwise: ast.expr) -> str:
        lines = [
            f"<mtr><mtd>{self.write(value)}</mtd><mtd><mtext>if&nbsp;</mtext>{self.write(test)}</mtd></mtr>"
            for value, test in rows
        ]
        lines.append(f"<mtr><mtd>{self.write(otherwise)}</mtd><mtd><mtext>otherwise</mtext></mtd></mtr>")
        # The brace is a border: without a font for mathematics browsers do not stretch one.
        return f"<mtable class='cases' columnalign='left left'>{''.join(lines)}</mtable>"

    # -- attributes and calls

    def _attribute(self, value: ast.expr, name: str) -> tuple[str, int]:
        if isinstance(value, ast.Name) and value.id in ("math", "xp", "np") and name in _SYMBOLS:
            return f"<mi>{_SYMBOLS[name]}</mi>", ATOM
        if name in ("T", "mT", "H", "mH"):
            sign = "⊤" if name.endswith("T") else "H"
            return f"<msup>{_one(self.write(value, ATOM))}<mi>{sign}</mi></msup>", POWER
        if name in ("real", "imag"):
            return self._applied(name, [value], [])
        return _row(self.write(value, ATOM), _operator("."), f"<mtext>{escape(name)}</mtext>"), ATOM

    def _call(self, tree: ast.Call) -> tuple[str, int]:
        arguments = list(tree.args)
        match tree.func:
            case ast.Name(name):
                pass
            case ast.Attribute(ast.Name("xp" | "math" | "F"), name):
                pass
            case ast.Attribute(value, name):
                arguments.insert(0, value)
            case _:
                return _code(ast.unparse(tree)), ATOM
        special = _SPECIAL.get((name, len(arguments)))
        if special is not None and not tree.keywords:
            return special(self, arguments)
        if name in _RELATION_CALLS and len(arguments) == 2 and not tree.keywords:
            sides = [self.write(a, SUM) for a in arguments]
            return _row(_operator(_RELATION_CALLS[name]).join(sides)), RELATION
        if name in _TRANSPARENT and arguments and not tree.keywords:
            return self._write(arguments[0])
        return self._applied(name, arguments, tree.keywords)

    def _applied(
        self, name: str, arguments: Sequence[ast.expr], keywords: Sequence[ast.keyword]
    ) -> tuple[str, int]:
        """``sin(x)``, upright."""
        given = [self._list(arguments)] if arguments else []
        for keyword in keywords:
            word = f"<mtext>{escape(keyword.arg or '**')}</mtext>"
            given.append(_row(word, _operator("="), self.write(keyword.value)))
        inner = _operator(",").join(given)
        shown = escape(_NAMES.get(name, name))
        return (
            f"<mrow><mi mathvariant='normal'>{shown}</mi><mo>&#8289;</mo><mo>(</mo>{inner}<mo>)</mo></mrow>",
            ATOM,
        )

    def _list(self, elements: Sequence[ast.expr]) -> str:
        return _operator(",").join(self.write(e) for e in elements)


Special = Callable[[MathWriter, list[ast.expr]], tuple[str, int]]


def _over(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
    return f"<mrow class='conjugate'>{writer.write(arguments[0])}</mrow>", ATOM


def _root(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
    return f"<msqrt>{writer.write(arguments[0])}</msqrt>", ATOM


def _inverse_root(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
    return f"<mfrac><mn>1</mn><msqrt>{writer.write(arguments[0])}</msqrt></mfrac>", POWER


def _reciprocal(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
    return f"<mfrac><mn>1</mn>{_one(writer.write(arguments[0]))}</mfrac>", POWER


def _squared(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
    return f"<msup>{_one(writer.write(arguments[0], ATOM))}<mn>2</mn></msup>", POWER


def _powered(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
    return writer._power(*arguments)


def _exponential(base: str) -> Special:
    def write(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
        return f"<msup>{base}{_one(writer.write(arguments[0]))}</msup>", POWER

    return write


def _between(left: str, right: str) -> Special:
    def write(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
        return _row(_operator(left), writer.write(arguments[0]), _operator(right)), ATOM

    return write


def _raised(sign: str) -> Special:
    def write(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
        return f"<msup>{_one(writer.write(arguments[0], ATOM))}<mi>{sign}</mi></msup>", POWER

    return write


def _where(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
    test, body, otherwise = arguments
    rows = [(body, test)]
    while isinstance(otherwise, ast.Call) and _called(otherwise) == "where" and len(otherwise.args) == 3:
        rows.append((otherwise.args[1], otherwise.args[0]))
        otherwise = otherwise.args[2]
    return writer._case_table(rows, otherwise), ATOM


def _masked(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
    value, mask, filled = arguments
    return writer._case_table([(filled, mask)], value), ATOM


def _joined(sign: str, strength: int) -> Special:
    def write(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
        return _row(_operator(sign).join(writer.write(a, strength) for a in arguments)), strength

    return write


def _negated(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
    return writer._unary(ast.USub(), arguments[0])


def _not(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
    return writer._unary(ast.Not(), arguments[0])


def _divided(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
    return writer._write(ast.BinOp(arguments[0], ast.Div(), arguments[1]))


def _nothing(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
    return "<mn>0</mn>", ATOM


def _ones(writer: MathWriter, arguments: list[ast.expr]) -> tuple[str, int]:
    return "<mn>1</mn>", ATOM


#: Functions and methods with a notation, by name and number of arguments.
_SPECIAL: Mapping[tuple[str, int], Special] = {
    ("conj", 1): _over,
    ("conj_number", 1): _over,
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


def _begins_negative(tree: ast.expr) -> bool:
    """Whether the text of a piece begins with a sign."""
    while isinstance(tree, ast.BinOp) and not isinstance(tree.op, ast.Div | ast.FloorDiv | ast.Pow):
        tree = tree.left
    return isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub)


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


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
