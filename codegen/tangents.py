"""Specialise: forward-mode formulas, made cheaper without knowing any operator.

A formula is linear in the tangents of an operator's inputs. So what only a tangent that is None would give
is left out; the conjugate of a conjugate is not computed, nor is that of what is never complex; and a
function that returns the tangents of several results is called once.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from .formula import metadata_use
from .model import Term

# -- conjugates ------------------------------------------------------------------------------


def _conjugate_of(node: ast.AST) -> ast.expr | None:
    """``x`` of ``x.conj()``."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="conj"), args=[], keywords=[]):
            return value
    return None


@dataclass(frozen=True, slots=True)
class Conjugates:
    """Takes conjugates of expressions over Tensors.

    ``numbers`` are the arguments that are numbers, and may be complex; ``reals`` the others that are no
    Tensors; ``functions`` those of operators.
    """

    numbers: frozenset[str]
    reals: frozenset[str]
    functions: Collection[str]

    def of(self, tree: ast.expr) -> ast.expr:
        """The conjugate of an expression, of the parts of sums and products where that is no more work."""
        whole = _conj(tree)
        parts = self._of_parts(tree)
        return whole if parts is None or _count(parts) > _count(whole) else parts

    def _of_parts(self, tree: ast.expr) -> ast.expr | None:
        """The conjugate made of those of the parts; None where what a part is cannot be told."""
        inner = _conjugate_of(tree)
        if inner is not None:
            return inner
        if self._is_real(tree):
            return tree
        match tree:
            case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right):
                a, b = self._of_parts(left), self._of_parts(right)
                return None if a is None or b is None else ast.BinOp(a, op, b)
            case ast.UnaryOp(ast.USub() as op, operand):
                of_operand = self._of_parts(operand)
                return None if of_operand is None else ast.UnaryOp(op, of_operand)
        return _conj(tree) if self._is_tensor(tree) else None

    def _is_real(self, tree: ast.expr) -> bool:
        match tree:
            case ast.Compare() | ast.Constant(value=int() | float()):
                return True
            case ast.Name(id=name):
                return name in self.reals
        return metadata_use(tree) is not None

    def _is_tensor(self, tree: ast.expr) -> bool:
        match tree:
            case ast.Name(id=name):
                return name not in self.numbers and name not in self.reals
            case ast.Call(func=ast.Attribute(value=value)):
                return self._is_tensor(value)
            case ast.Call(func=ast.Name(id=name)):
                return name in self.functions
            case ast.BinOp(left=left, right=right):
                return self._is_tensor(left) or self._is_tensor(right)
            case ast.UnaryOp(operand=operand):
                return self._is_tensor(operand)
        return False


def _conj(tree: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(tree, "conj", ast.Load()), [], [])


def _count(tree: ast.expr) -> int:
    return sum([_conjugate_of(node) is not None for node in ast.walk(tree)])


class _Real(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return _conjugate_of(node) or node


def real(tree: ast.expr) -> ast.expr:
    """The expression where nothing is complex: without conjugates."""
    found = _Real().visit(tree)
    assert isinstance(found, ast.expr)
    return found


# -- calls that several results have in common --------------------------------------------------


def shared_calls(trees: Sequence[ast.expr | None], stem: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Of ``f(...)[0]`` and ``f(...)[1]`` that call, with a name for it, and the texts that use the name.

    The text of a result without a formula is "None".
    """
    calls = Counter(ast.unparse(t.value) for t in trees if isinstance(t, ast.Subscript))
    names = {text: f"{stem}{i}" for i, (text, count) in enumerate(calls.items()) if count > 1}
    texts = []
    for tree in trees:
        call = ast.unparse(tree.value) if isinstance(tree, ast.Subscript) else None
        if isinstance(tree, ast.Subscript) and call in names:
            texts.append(f"{names[call]}[{ast.unparse(tree.slice)}]")
        else:
            texts.append("None" if tree is None else ast.unparse(tree))
    return [(name, text) for text, name in names.items()], texts


# -- sums of what single tangents give ----------------------------------------------------------


def terms(tree: ast.expr, tangents: Collection[str], name: str) -> tuple[tuple[Term, ...], str] | None:
    """The sum that a formula's tangents stand in, by terms with one of them each, and what is made of it.

    In the latter ``name`` stands for the sum. None where the formula is not of that form.
    """
    if len(tangents) < 2:
        return None
    node: ast.AST = tree
    while not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)):
        # Products meet by broadcasting, which a sum of fewer terms may lack: nothing else is sure to.
        product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div)
        if not product and not (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)):
            return None
        inner = [child for child in ast.iter_child_nodes(node) if _tangents_in(child, tangents)]
        if len(inner) != 1:
            return None
        node = inner[0]
    parts = list(_parts(node, False))
    found = [
        Term(next(iter(names)), f"-({text})" if negative else text, f"{'-' if negative else '+'} {text}")
        for part, negative in parts
        if len(names := _tangents_in(part, tangents)) == 1 and (text := _text(part))
    ]
    if len(found) < len(parts) or len({t.tangent for t in found}) < 2:
        return None
    whole = _Replaced(node, name).visit(tree)
    return tuple(found), ast.unparse(whole)


def _text(part: ast.expr) -> str:
    """A term as an operand of + or -."""
    text = ast.unparse(part)
    return text if isinstance(part, ast.BinOp | ast.Call | ast.Name | ast.Attribute) else f"({text})"


def _tangents_in(tree: ast.AST, tangents: Collection[str]) -> set[str]:
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in tangents}


def _parts(tree: ast.expr, negative: bool) -> Iterable[tuple[ast.expr, bool]]:
    """The terms of a sum, and whether each is subtracted."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add | ast.Sub):
        yield from _parts(tree.left, negative)
        yield from _parts(tree.right, negative is not isinstance(tree.op, ast.Sub))
    else:
        yield tree, negative


class _Replaced(ast.NodeTransformer):
    """Puts a name in the place of a node."""

    def __init__(self, node: ast.AST, name: str) -> None:
        self.node, self.name = node, name

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.node:
            return ast.Name(self.name, ast.Load())
        visited: ast.AST = super().visit(node)
        return visited
