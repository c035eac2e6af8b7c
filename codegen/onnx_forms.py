"""Derive: how a pointwise operator is written as ONNX, from its kernel.

Of an expression each primitive is written by its ONNX form, which primitives.yaml has, and each function of
runtime/native that it calls by the function of runtime/onnx/symbolics*.py that has the same name. What comes
out is a Rule as ``symbolic`` gives one.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .expression import SYMBOLS
from .formula import free_names
from .kernels import ABSOLUTE, Function, FunctionIndex
from .model import Formula, Kernel, Primitive, Rule, Schema, walk
from .names import BUILTINS
from .onnx_language import ONNX

#: The function of symbolics that has the steps of a function computed in the dtype that the operator's are.
WIDENED = "widened"
#: The module of symbolics whose functions cast, which is no step.
CASTS = "symbolics"


class NoForm(Exception):
    """The kernel cannot be written as ONNX; the text says why."""


def derived_symbolic(
    schema: Schema,
    kernels: Mapping[str, Kernel],
    opmath: bool,
    primitives: Mapping[str, Primitive],
    index: FunctionIndex,
) -> Rule:
    """The symbolic of a pointwise operator. Raises NoForm where its kernel does not say it."""
    kernel = next((k for k in kernels.values() if k.function is None), None) or next(iter(kernels.values()))
    tree = kernel.formula.tree
    if kernel.function is not None:
        if ":" in kernel.function:
            raise NoForm(f"the function {kernel.function} is none of tengen's")
        names: list[ast.expr] = [ast.Name(a.name, ast.Load()) for a in schema.arguments]
        tree = ast.Call(ast.Name(kernel.formula.text, ast.Load()), names, [])
        kernel = replace(kernel, calls={kernel.formula.text: kernel.function})
    writer = _Writer(schema, kernel, opmath, primitives, index)
    made = ast.fix_missing_locations(writer.chosen(tree))
    arguments = {a.name for a in schema.arguments}
    hidden = next((name for name in sorted({*writer.calls, ONNX}) if name in arguments), None)
    if hidden is not None:
        raise NoForm(f'its argument "{hidden}" hides what symbolics call by that name')
    source = replace(kernel.formula.source, value=ast.unparse(made), starts=())
    return Rule(Formula(source, made), None, writer.calls, derived=True)


class _Writer:
    """Writes expressions over arrays as expressions over values of ONNX."""

    def __init__(
        self,
        schema: Schema,
        kernel: Kernel,
        opmath: bool,
        primitives: Mapping[str, Primitive],
        index: FunctionIndex,
    ) -> None:
        self.kernel, self.opmath, self.primitives, self.index = kernel, opmath, primitives, index
        self.tensors = [a.name for a in schema.arguments if a.is_tensor_like]
        self.by_symbol = {SYMBOLS[p.symbol]: p.name for p in primitives.values() if p.symbol is not None}
        #: The functions of symbolics that are called, with where they are.
        self.calls: dict[str, str] = {}
        #: How many operators of ONNX round what has been written since this was 0.
        self.steps = 0

    def chosen(self, tree: ast.expr) -> ast.expr:
        """A whole kernel, or one that numbers choose."""
        if isinstance(tree, ast.IfExp) and self.plain(tree.test):
            return ast.IfExp(self.value(tree.test), self.chosen(tree.body), self.chosen(tree.orelse))
        self.steps = 0
        made = self.value(tree)
        return self.widened(made) if self.opmath and self.steps > 1 else made

    def widened(self, made: ast.expr) -> ast.expr:
        """The same with float16 and bfloat16 computed in float32, and rounded once."""
        used = {n.id for n in free_names(made)}
        names = [name for name in self.tensors if name in used]
        parameters = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
        function = ast.Call(self.called(WIDENED, None), [ast.Lambda(parameters, made)], [])
        return ast.Call(function, [ast.Name(n, ast.Load()) for n in names], [])

    def plain(self, tree: ast.expr) -> bool:
        """Whether it is about Python's values alone, or whether a tensor is None."""
        match tree:
            case ast.Compare(ast.Name(), [ast.Is() | ast.IsNot()], [ast.Constant(None)]):
                return True
            case ast.BoolOp(_, values):
                return all(self.plain(v) for v in values)
        return not any(name.id in self.tensors for name in free_names(tree))

    def value(self, tree: ast.expr) -> ast.expr:
        """A part of the kernel. Raises NoForm for what cannot be written."""
        if self.plain(tree):
            return self.unchanged(tree)
        match tree:
            case ast.Name():
                return tree
            case ast.BinOp(left, op, right) if type(op) in self.by_symbol:
                return self.primitive(self.by_symbol[type(op)], [left, right])
            case ast.UnaryOp(op, operand) if type(op) in self.by_symbol:
                return self.primitive(self.by_symbol[type(op)], [operand])
            case ast.Compare(left, [op], [right]) if type(op) in self.by_symbol:
                return self.primitive(self.by_symbol[type(op)], [left, right])
            case ast.IfExp(test, body, orelse):
                if not self.plain(test):
                    raise NoForm("it chooses by the values of a tensor")
                return ast.IfExp(self.value(test), self.value(body), self.value(orelse))
            case ast.Call(ast.Attribute(ast.Name("xp"), name), operands, []) if name in self.primitives:
                return self.primitive(name, operands)
            case ast.Call(ast.Name(name), operands, keywords) if name in self.kernel.calls:
                return self.function(name, operands, keywords)
            case ast.Call(ast.Name(name), operands, []) if name in self.primitives:  # Python's own, as abs
                return self.primitive(name, operands)
        raise NoForm(f'"{ast.unparse(tree)}" is no expression of primitives')

    def unchanged(self, tree: ast.expr) -> ast.expr:
        """What Python computes when the model is written."""
        for node in walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id not in BUILTINS
            ):
                raise NoForm(f"{node.func.id} is called without a tensor")
        return tree

    def primitive(self, name: str, operands: Sequence[ast.expr]) -> ast.expr:
        """A primitive of operands, by its ONNX form."""
        form = self.primitives[name].onnx
        if form is None:
            raise NoForm(f"the primitive {name} has no ONNX form")
        values = [self.value(operand) for operand in operands]
        self.calls |= form.calls
        if form.function is not None:
            self.steps += 1
            function = form.function.rpartition(".")[2]
            self.calls[function] = form.function
            return ast.Call(ast.Name(function, ast.Load()), values, [])
        tree = copy.deepcopy(form.formula.tree)
        self.steps += sum(_rounds(node) for node in walk(tree))
        placed: ast.expr = _Placed(dict(zip("xyz", values, strict=False))).visit(tree)
        return placed

    def function(self, name: str, operands: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> ast.expr:
        """A function of kernels, by its namesake of symbolics."""
        function = self.called(name, self.kernel.calls[name])
        found = self._namesakes(name, self.kernel.calls[name])[0]
        arity = found.arity()
        given = tuple(k.arg for k in keywords if k.arg is not None)
        problem = None if arity is None else arity.problem(len(operands), given)
        if problem is not None:
            raise NoForm(f"the function {name} of symbolics {problem}")
        self.steps += found.module != CASTS
        values = [self.value(operand) for operand in operands]
        return ast.Call(function, values, [ast.keyword(k.arg, self.value(k.value)) for k in keywords])

    def called(self, name: str, kernel: str | None) -> ast.expr:
        """A function of symbolics, noted as called."""
        found = self._namesakes(name, kernel)
        if not found:
            raise NoForm(f"no function {name} of runtime/onnx/symbolics writes the kernels' {name}")
        self.calls[name] = found[0].qualified
        return ast.Name(name, ast.Load())

    def _namesakes(self, name: str, kernel: str | None) -> list[Function]:
        """The functions of that name: tengen's for a kernel of tengen, a library's for one of a library."""
        of_library = kernel is not None and kernel.startswith(ABSOLUTE)
        found = self.index.functions.get(name, ())
        return [f for f in found if f.module.startswith(ABSOLUTE) == of_library]


def _rounds(node: ast.AST) -> bool:
    """Whether a node of an ONNX form is an operator of ONNX."""
    called = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == ONNX
    return called or isinstance(node, ast.BinOp | ast.UnaryOp)


class _Placed(ast.NodeTransformer):
    """Puts values in the places of operands."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)
