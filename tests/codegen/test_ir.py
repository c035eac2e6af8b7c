"""The IR of expressions: text to IR and back, equality, names, and what rewrites do."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from tengen.codegen.model.operators import Formula
from tengen.ir import statements
from tengen.ir.expressions import (
    BINARY,
    COMPARISONS,
    Constant,
    Expr,
    Foreign,
    Name,
    Subscript,
    bound_by,
    constant,
    dotted,
    free_names,
    mapped,
    names_in,
    replaced,
    rewritten,
    walk,
)
from tengen.ir.reader import MAX_DEPTH, read_expression, read_value
from tengen.ir.writer import write
from tengen.testing.declared import declarations

TEXTS = [
    "grad * other.conj()",
    "a if b < c else f(x, *y, k=1, **z)",
    "[t.shape for t in ts if t.ndim for u in t]",
    "sum((f(x) for x in xs))",
    "lambda a, b=2, *c, d=3, e, **f: a + b",
    "x[1:2, ::3, ...]",
    "-x ** 2 % ~y // 3 @ z",
    "(-x) ** 2",
    "a - (b - c)",
    "0 <= i < n and (not p or q is not None)",
    "{'a': 1, 'b': (2,)}",
    "(y := x) + y",
    "1e-05 + 2j + True",
]


def written(jvps: Mapping[str, Formula]) -> list[Formula]:
    """The formulas as they are written: of one for several results, each result has a part."""
    joint: dict[int, list[Formula]] = {}
    for formula in jvps.values():
        joint.setdefault(id(formula.source), []).append(formula)
    found = []
    for first, *others in joint.values():
        if not others:
            found.append(first)
            continue
        assert isinstance(first.tree, Subscript)
        whole = first.tree.value
        assert [f.tree for f in (first, *others)] == [
            Subscript(whole, Constant(number)) for number in range(1 + len(others))
        ]
        found.append(Formula(first.source, whole))
    return found


def formulas() -> list[Formula]:
    """All expressions that tengen's declarations write."""
    declared = declarations()
    found = [k.formula for o in declared.operators if o.body is None for k in o.kernels.values()]
    bodies = [(next(iter(o.kernels.values())), o.body) for o in declared.operators if o.body is not None]
    found += [Formula(k.formula.source, expr) for k, body in bodies for _, expr in body.statements]
    found += [f for d in declared.derivatives for f in (*d.gradients.values(), *written(d.jvps))]
    found += [o.reference for o in declared.operators if o.reference is not None]
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_text_reads_back(text: str) -> None:
    expr = read_expression(text)
    assert write(expr) == text
    assert read_expression(write(expr)) == expr


def test_all_declared_expressions_read_back() -> None:
    found = formulas()
    assert len(found) > 1000
    for formula in found:
        assert read_expression(write(formula.tree)) == formula.tree, formula.text


def test_nothing_is_lost() -> None:
    """The IR says what Python's own tree says."""
    for formula in formulas():
        try:
            tree = ast.parse(formula.text, mode="eval").body
        except SyntaxError:  # the name of a function of a library, as scipy.special:erf
            continue
        if write(formula.tree) != formula.text:
            assert ast.dump(ast.parse(write(formula.tree), mode="eval").body) == ast.dump(tree)


#: Each kind of expression, with holes.
WITH_HOLES = [
    *[f"□ {symbol} □" for symbol in (*BINARY, *COMPARISONS, "and", "or")],
    *[
        "-□",
        "+□",
        "~□",
        "not □",
        "□ < □ <= □",
        "□ and □ and □",
        "□ or □ or □",
        "□ if □ else □",
        "□.a",
        "□[□]",
    ],
    *[
        "□[□:□:□]",
        "□[□, :]",
        "□[□,]",
        "□(□, k=□, **□)",
        "(□, □)",
        "(□,)",
        "[□, □]",
        "{□: □}",
        "lambda *a, b=□: □",
    ],
    *[
        "[□ for a in □ if □ if □]",
        "(□ for a in □ for b in □)",
        "lambda a=□, *, b, **c: □",
        "(a := □)",
        "f(*□)",
    ],
]
FILLINGS = [text.replace("□", "x") for text in WITH_HOLES] + [
    "1",
    "2.5",
    "1e400",
    "3j",
    "()",
    "''",
    "...",
    "lambda: x",
]


@pytest.mark.parametrize("outer", WITH_HOLES)
def test_every_expression_in_every_other(outer: str) -> None:
    """What is written is what Python writes: it has parentheses where they are needed, and no others."""
    count = outer.count("□")
    for inner in FILLINGS:
        for hole in range(count):
            texts = iter([f"({inner})" if n == hole else "y" for n in range(count)])
            text = "".join([next(texts) if c == "□" else c for c in outer])
            expr = read_expression(text)
            tree = ast.parse(text, mode="eval").body
            assert ast.dump(ast.parse(write(expr), mode="eval").body) == ast.dump(tree), text
            assert write(expr).count("(") <= ast.unparse(tree).count("(") + text.count(","), text


@pytest.mark.parametrize("text", TEXTS)
def test_spans_are_places_in_the_text(text: str) -> None:
    for part in walk(read_expression(text)):
        start, end = part.span
        assert 0 <= start < end <= len(text)
        if isinstance(part, Name):
            assert text[start:end] == part.id


def test_spans_count_characters() -> None:
    assert [n.span for n in walk(read_expression("f('é', x)")) if n == Name("x")] == [(7, 8)]


def test_equal_is_written_alike() -> None:
    assert read_expression("x+f( y )") == read_expression("x + f(y)")
    assert len({read_expression("x+1"), read_expression("x + 1"), read_expression("1 + x")}) == 2


@pytest.mark.parametrize(
    ("a", "b"), [("1", "1.0"), ("1", "True"), ("0.0", "-0.0"), ("'1'", "1"), ("-x", "~x")]
)
def test_other_values_are_not_equal(a: str, b: str) -> None:
    assert read_expression(a) != read_expression(b)


def test_what_the_language_has_not_is_named() -> None:
    assert read_expression("{x for x in y}") == Foreign("SetComp")
    assert read_expression("f'{x}'") == Foreign("JoinedStr")


def test_nesting_has_a_limit() -> None:
    read_expression("-" * (MAX_DEPTH - 2) + "x")
    with pytest.raises(SyntaxError, match="nested too deeply"):
        read_expression("-" * (MAX_DEPTH + 1) + "x")


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("a + b", {"a": "x * y"}, "x * y + b"),
        ("a * b", {"a": "x + y"}, "(x + y) * b"),
        ("f(a, k=a).a", {"a": "x[0]"}, "f(x[0], k=x[0]).a"),
        ("[a for a in b]", {"a": "x", "b": "y"}, "[a for a in y]"),
        ("(lambda a: a + b)(a)", {"a": "x", "b": "y"}, "(lambda a: a + y)(x)"),
        ("a", {"a": "b", "b": "c"}, "b"),  # at once, not one after the other
    ],
)
def test_replaced(text: str, values: dict[str, str], expected: str) -> None:
    given = {name: read_expression(value) for name, value in values.items()}
    assert write(replaced(read_expression(text), given)) == expected


def test_what_does_not_change_stays_the_same_object() -> None:
    expr = read_expression("f(a, [b for b in c]) + d")
    assert replaced(expr, {"x": Name("y")}) is expr
    assert mapped(expr, lambda part: part) is expr


def test_rewritten_from_the_inside_out() -> None:
    seen: list[str] = []

    def note(part: Expr) -> Expr:
        seen.append(write(part))
        return part

    rewritten(read_expression("f(a + b)"), note)
    assert seen == ["f", "a", "b", "a + b", "f(a + b)"]


def test_names() -> None:
    expr = read_expression("[f(a, x) for x in xs] + (lambda y: y * b)(c)")
    assert names_in(expr) == {"f", "a", "x", "xs", "y", "b", "c"}
    assert {n.id for n in free_names(expr)} == {"f", "a", "xs", "b", "c"}
    assert bound_by(read_expression("[x for x, (y, z) in xs]")) == {"x", "y", "z"}


def test_made_expressions_are_those_that_are_read() -> None:
    assert dotted("a.b.c") == read_expression("a.b.c")
    for value in (1, -1.5, "s", None, True, (1, -2), [0.5, ()]):
        assert constant(value) == read_expression(repr(value))


@pytest.mark.parametrize("text", ["-1", "[1, 2.5, [inf]]", "(1, -inf)", "1 - 2j", "'s'", "None", "True"])
def test_values(text: str) -> None:
    assert read_value(text) == eval(text, {"inf": float("inf")})


@pytest.mark.parametrize("text", ["f(1)", "x", "1 + 2", "not True", "-'s'", "1 +"])
def test_what_is_no_value(text: str) -> None:
    with pytest.raises((ValueError, SyntaxError)):
        read_value(text)


@pytest.mark.parametrize(
    "text",
    [
        "a = b = c\nd.slot, e = f(c)\nd.count += 1",
        "if a:\n    return b\nelif c:\n    g(c)\nelse:\n    raise h(c)",
        "for i, o in enumerate(a):\n    o.b = i",
        "try:\n    a = f(b)\nexcept Exception as error:\n    raise g(error) from None",
        "try:\n    a = f(b)\nexcept Exception:\n    pass\nelse:\n    if a:\n        return a",
    ],
)
def test_statements_are_written_as_python_writes_them(text: str) -> None:
    def block(nodes: list[ast.stmt]) -> tuple[statements.Statement, ...]:
        return tuple(map(statement, nodes))

    def read(node: ast.AST) -> Expr:
        return read_expression(ast.unparse(node))

    def statement(node: ast.stmt) -> statements.Statement:
        match node:
            case ast.Assign(targets, value):
                return statements.Assign(tuple(map(read, targets)), read(value))
            case ast.AugAssign(target, _, value):
                return statements.Update(read(target), "+", read(value))
            case ast.Expr(value):
                return statements.Do(read(value))
            case ast.Return(ast.expr() as value):
                return statements.Return(read(value))
            case ast.Raise(ast.expr() as value, cause):
                return statements.Raise(read(value), alone=cause is not None)
            case ast.If(test, body, orelse):
                return statements.If(read(test), block(body), block(orelse))
            case ast.For(target, iterable, body):
                return statements.For(read(target), read(iterable), block(body))
            case ast.Try(body, [handler], orelse):
                failed = () if isinstance(handler.body[0], ast.Pass) else block(handler.body)
                return statements.Try(block(body), failed, block(orelse), handler.name or "")
        raise AssertionError(node)

    assert "\n".join(statements.lines(block(ast.parse(text).body))) == text
